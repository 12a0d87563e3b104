//! The invariants of entities (audit specification, section 5), for every kind that the modules register and every row of a fixture with history: an
//! interceptor of this file reads, removes and stores within a command's transaction, and then rejects the command.

mod columns;
mod unique_keys;

use std::cell::RefCell;
use std::collections::BTreeSet;

use backoffice_core::Module;
use backoffice_core::command::{Depth, Hook, Interceptor, InterceptorContext, Snapshots, Transition, Tx, Verdict};
use backoffice_test_support::TestApp;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::call::Call;
use crate::fixture::{AUTH, Fixture, MODULES, NO_LIMITS, id};
use crate::scenarios::rich;

static INVARIANTS: Module = Module {
    name: "laws",
    title: "Laws",
    register: |registry| {
        registry.interceptor(Interceptor {
            id: "laws.any",
            target: "auth.role.update",
            priority: 100,
            run,
        });
    },
    ..Module::EMPTY
};

#[derive(Clone)]
enum Task {
    /// Loads these resources.
    Load,
    /// Loads, stores the loaded snapshots, and loads again.
    Store(Snapshots),
    /// Loads, removes, loads, stores the first snapshots, and loads again.
    Cycle,
}

/// The outcome of a task.
#[derive(Default, Debug)]
struct Outcome {
    first: Snapshots,
    /// Whether the guard permitted the removal.
    is_removable: bool,
    deleted: Snapshots,
    /// Number of snapshots of children that remained after the removal.
    children: usize,
    last: Snapshots,
    dropped: Vec<String>,
}

thread_local! {
    /// A test and its application share a thread.
    static TASK: RefCell<Option<(Task, &'static str, Vec<Uuid>)>> = const { RefCell::new(None) };
    static OUTCOME: RefCell<Option<Outcome>> = const { RefCell::new(None) };
}

fn run<'a>(tx: &'a mut Tx<'_>, attempt: &'a InterceptorContext<'a>) -> BoxFuture<'a, backoffice_core::Result<Verdict>> {
    let task = TASK.take().filter(|_| attempt.hook == Hook::BeforeExecute);
    Box::pin(async move {
        let Some((task, kind, ids)) = task else {
            return Ok(Verdict::Continue);
        };
        let outcome = perform(tx, task, kind, &ids).await?;
        OUTCOME.set(Some(outcome));
        Ok(Verdict::Reject {
            message: "Seen enough".to_owned(),
            code: None,
            status: None,
            body: None,
        })
    })
}

async fn perform(tx: &mut Tx<'_>, task: Task, kind: &str, ids: &[Uuid]) -> backoffice_core::Result<Outcome> {
    let registry = tx.context().platform().registry();
    let entity = registry.find_entity(kind).cloned().expect("a registered kind");
    let mut outcome = Outcome {
        first: entity.snapshots(tx, ids, Depth::Tree).await?,
        ..Outcome::default()
    };
    let stored = match task {
        Task::Load => return Ok(outcome),
        Task::Store(snapshots) => snapshots,
        Task::Cycle => {
            for (id, snapshot) in &outcome.first {
                let step = Transition {
                    id: *id,
                    from: Some(snapshot),
                    to: None,
                    restoring: true,
                };
                if entity.guard(tx, &step).await.is_err() {
                    return Ok(outcome);
                }
            }
            // Referenced resources can't be removed; the transaction ends here.
            outcome.is_removable = entity.remove(tx, ids).await.is_ok();
            if !outcome.is_removable {
                return Ok(outcome);
            }
            outcome.deleted = entity.snapshots(tx, ids, Depth::Tree).await?;
            for snapshot in outcome.first.values() {
                for (kind, rows) in snapshot
                    .fields()
                    .get("_children")
                    .and_then(Value::as_object)
                    .into_iter()
                    .flatten()
                {
                    let Some(child) = registry.find_entity(kind).cloned() else {
                        continue;
                    };
                    let ids: Vec<Uuid> = rows
                        .as_array()
                        .into_iter()
                        .flatten()
                        .map(|row| id(&row["id"]))
                        .collect();
                    outcome.children += child.snapshots(tx, &ids, Depth::Own).await?.len();
                }
            }
            outcome.first.clone()
        }
    };
    let snapshots: Vec<_> = stored.into_values().collect();
    outcome.dropped = entity.store(tx, &snapshots).await?;
    outcome.last = entity.snapshots(tx, ids, Depth::Tree).await?;
    Ok(outcome)
}

struct Invariants {
    fixture: Fixture,
}

impl Invariants {
    async fn new() -> Self {
        let modules: Vec<&'static Module> = MODULES.iter().copied().chain([&INVARIANTS]).collect();
        let app = TestApp::builder(&modules)
            .config(AUTH)
            .config(NO_LIMITS)
            .through_proxy();
        let fixture = rich(Fixture::of(app).await).await;
        let consent = Call::put(
            "/auth/profile/consents",
            json!({"consentType": "terms", "isGranted": true}),
        );
        for account in [&fixture.a.colleague, &fixture.a.user] {
            assert_eq!(consent.send(&fixture.app, &account.token).await.status, 200);
        }
        Self { fixture }
    }

    /// Returns the kinds that undo and redo restore.
    fn kinds(&self) -> BTreeSet<&'static str> {
        let commands = self.fixture.app.platform().registry().commands();
        commands
            .filter(|command| command.undoable)
            .map(|command| command.kind)
            .collect()
    }

    /// Runs a task in a transaction that is rolled back.
    async fn see(&self, task: Task, kind: &'static str, ids: &[Uuid]) -> Outcome {
        TASK.set(Some((task, kind, ids.to_vec())));
        let body = json!({"id": self.fixture.a.spare_role, "name": "Never"});
        let response = Call::put("/auth/roles", body)
            .send(&self.fixture.app, &self.fixture.root.token)
            .await;
        let seen = OUTCOME.take();
        seen.unwrap_or_else(|| panic!("{kind} {ids:?}: {} {}", response.status, response.text()))
    }

    /// Returns the resources of a kind in the first tenant.
    async fn ids(&self, kind: &str) -> Vec<Uuid> {
        let sql = format!(
            "select distinct {key} as id from {} where tenant_id = '{}' order by 1",
            table(kind),
            self.fixture.a.tenant,
            key = key(kind)
        );
        self.fixture
            .app
            .rows(&sql)
            .await
            .iter()
            .map(|row| id(&row["id"]))
            .collect()
    }
}

/// Returns the table of a kind.
fn table(kind: &str) -> String {
    match kind {
        "calendar.series" => "calendar_series".to_owned(),
        "catalog.category" => "catalog_categories".to_owned(),
        "customers.company" => "customers_companies".to_owned(),
        "customers.person" => "customers_people".to_owned(),
        _ => format!("{}s", kind.replace('.', "_")),
    }
}

/// Returns the column with the ids of a kind.
fn key(kind: &str) -> &'static str {
    match kind {
        // All rows of a user are one resource.
        "notifications.preference" => "user_id",
        _ => "id",
    }
}

/// Removes the times of changes, which differ between snapshots.
fn comparable(snapshots: &Snapshots) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("updatedAt");
                fields.values_mut().for_each(strip);
            }
            Value::Array(values) => values.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut all: Value = snapshots
        .iter()
        .map(|(id, one)| (id.to_string(), one.to_value().clone()))
        .collect();
    strip(&mut all);
    all
}

#[actix_web::test]
async fn aud_3_a_stored_snapshot_is_read_back_and_a_removed_one_is_missing() {
    let invariants = Invariants::new().await;
    let mut removed = BTreeSet::new();

    for kind in invariants.kinds() {
        for id in invariants.ids(kind).await {
            let seen = invariants.see(Task::Cycle, kind, &[id]).await;
            if seen.first.is_empty() || !seen.is_removable {
                continue;
            }
            removed.insert(kind);
            assert!(seen.deleted.is_empty(), "E2: {kind} {id}: {:?}", seen.deleted);
            assert_eq!(seen.children, 0, "E2: children of {kind} {id}");
            assert_eq!(
                comparable(&seen.last),
                comparable(&seen.first),
                "E1: {kind} {id}, {:?}",
                seen.dropped
            );
        }
    }

    let never: Vec<_> = invariants
        .kinds()
        .into_iter()
        .filter(|kind| !removed.contains(kind))
        .collect();
    assert_eq!(never, Vec::<&str>::new(), "each kind has a resource that can go");
}

#[actix_web::test]
async fn aud_3_many_resources_cost_as_many_statements_as_one() {
    let invariants = Invariants::new().await;
    let app = &invariants.fixture.app;

    for kind in invariants.kinds() {
        let ids = invariants.ids(kind).await;
        let mut unknown = ids.clone();
        unknown.extend((0..50).map(|number| Uuid::from_u128(0xffff_0000 + number)));
        let all = invariants.see(Task::Load, kind, &ids).await.first;
        let children: BTreeSet<&String> = all
            .values()
            .filter_map(|snapshot| snapshot.fields().get("_children")?.as_object())
            .flat_map(|children| children.keys())
            .collect();
        // The first round prepares the statements of the connection.
        for round in 0..2 {
            let mut dearest = 0;
            for (id, snapshot) in &all {
                let one = Snapshots::from([(*id, snapshot.clone())]);
                let (_, of_one) = app
                    .count_statements(invariants.see(Task::Store(one), kind, &[*id]))
                    .await;
                dearest = dearest.max(of_one);
            }
            let (_, of_all) = app
                .count_statements(invariants.see(Task::Store(all.clone()), kind, &unknown))
                .await;
            // One resource has children of one kind and another has children of a different kind.
            let most = dearest + u64::try_from(children.len()).expect("few");
            assert!(
                round == 0 || of_all <= most,
                "E4: {kind}: {of_all} statements, {dearest} for one"
            );
        }
    }
}
