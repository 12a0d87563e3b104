//! Commands, undos and redos of several users in two organizations, interleaved at random and compared with a model in memory. After every step the
//! database and the log must agree with the model. `BACKOFFICE_MODEL_CASES` sets the number of runs.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_test_support::{REDO, UNDO};
use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::call::Call;
use crate::fixture::{Account, Fixture, id, text};
use crate::random::runs;

const STEPS: usize = 40;
const CASES: u32 = 8;

#[derive(Debug, Clone)]
enum Step {
    Create {
        caller: usize,
        kind: usize,
        organization: usize,
    },
    Rename {
        caller: usize,
        resource: usize,
        name: u8,
    },
    Delete {
        caller: usize,
        resource: usize,
    },
    Undo {
        caller: usize,
        entry: usize,
    },
    Redo {
        caller: usize,
        entry: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let caller = || 0..4_usize;
    prop_oneof![
        3 => (caller(), 0..2_usize, 0..2_usize)
            .prop_map(|(caller, kind, organization)| Step::Create { caller, kind, organization }),
        5 => (caller(), any::<usize>(), 0..3_u8).prop_map(|(caller, resource, name)| Step::Rename { caller, resource, name }),
        2 => (caller(), any::<usize>()).prop_map(|(caller, resource)| Step::Delete { caller, resource }),
        // Later entries are more likely to be the latest of their resource.
        8 => (caller(), 0..6_usize).prop_map(|(caller, entry)| Step::Undo { caller, entry }),
        6 => (caller(), 0..6_usize).prop_map(|(caller, entry)| Step::Redo { caller, entry }),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    User,
    Role,
}

/// A user or a role, with its name while it exists.
#[derive(Debug)]
struct Resource {
    id: Uuid,
    kind: Kind,
    organization: Option<Uuid>,
    email: String,
    name: Option<String>,
    version: i64,
    max_version: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Done,
    Undone,
    Redone,
}

/// An entry that can be undone or could be undone earlier.
#[derive(Debug)]
struct Entry {
    id: Uuid,
    token: String,
    actor: usize,
    resource: usize,
    from: Option<String>,
    to: Option<String>,
    versions: (i64, i64),
    state: State,
    undone: usize,
}

/// A caller: the organizations that they see (`None`: the whole tenant), and whether they may undo other users' entries.
struct Caller {
    account: Account,
    organizations: Option<Vec<Uuid>>,
    others: bool,
}

impl Caller {
    fn reads(&self, resource: &Resource) -> bool {
        match (&self.organizations, resource.organization) {
            (None, _) => true,
            (Some(list), Some(organization)) => list.contains(&organization),
            (Some(_), None) => false,
        }
    }
}

struct Model {
    fixture: Fixture,
    callers: Vec<Caller>,
    organizations: [Uuid; 2],
    resources: Vec<Resource>,
    entries: Vec<Entry>,
    undos: usize,
}

impl Model {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let a = &fixture.a;
        let features = [
            "auth.users.*",
            "auth.roles.*",
            "audit_logs.view_self",
            "audit_logs.undo_self",
            "audit_logs.redo_self",
        ];
        fixture.role(a, "Editor", &features, None).await;
        let editor = fixture.account(a, "editor@alpha.test", &["Editor"]).await;
        let caller = |account: &Account, organizations, others| Caller {
            account: account.clone(),
            organizations,
            others,
        };
        let callers = vec![
            caller(&a.tenant_admin, None, true),
            caller(&a.admin, None, true),
            caller(&editor, None, false),
            caller(&a.local, Some(vec![a.child, a.leaf]), true),
        ];
        let organizations = [a.child, a.other];
        Self {
            callers,
            organizations,
            resources: Vec::new(),
            entries: Vec::new(),
            undos: 0,
            fixture,
        }
    }

    async fn run(&mut self, step: &Step) {
        match *step {
            Step::Create {
                caller,
                kind,
                organization,
            } => {
                let kind = [Kind::User, Kind::Role][kind];
                self.create(caller, kind, self.organizations[organization]).await;
            }
            Step::Rename { caller, resource, name } if !self.resources.is_empty() => {
                let resource = resource % self.resources.len();
                self.rename(caller, resource, format!("model {resource} {name}")).await;
            }
            Step::Delete { caller, resource } if !self.resources.is_empty() => {
                self.delete(caller, resource % self.resources.len()).await;
            }
            Step::Undo { caller, entry } if entry < self.entries.len() => {
                self.undo(caller, self.entries.len() - 1 - entry).await;
            }
            Step::Redo { caller, entry } if entry < self.entries.len() => {
                self.redo(caller, self.entries.len() - 1 - entry).await;
            }
            _ => {}
        }
    }

    /// The model does not cover changes of roles by callers limited to organizations.
    fn skips(&self, caller: usize, kind: Kind) -> bool {
        kind == Kind::Role && self.callers[caller].organizations.is_some()
    }

    async fn create(&mut self, caller: usize, kind: Kind, organization: Uuid) {
        if self.skips(caller, kind) {
            return;
        }
        let number = self.resources.len();
        let name = format!("model {number} new");
        let email = format!("model-{number}@alpha.test");
        let call = match kind {
            Kind::User => Call::post(
                "/auth/users",
                json!({"email": email, "name": name, "organizationId": organization}),
            ),
            Kind::Role => Call::post("/auth/roles", json!({"name": name})),
        };
        let mut resource = Resource {
            id: Uuid::nil(),
            kind,
            organization: (kind == Kind::User).then_some(organization),
            email,
            name: None,
            version: 0,
            max_version: 0,
        };
        let allowed = self.callers[caller].reads(&resource);
        let response = call.send(&self.fixture.app, &self.callers[caller].account.token).await;
        assert_eq!(
            response.status == 201,
            allowed,
            "{call}: {} {}",
            response.status,
            response.text()
        );
        if allowed {
            let done = response.undoable_write();
            resource.id = done.resource;
            self.resources.push(resource);
            self.changed(caller, number, done.log_id, done.token, Some(name));
        }
    }

    async fn rename(&mut self, caller: usize, index: usize, name: String) {
        let resource = &self.resources[index];
        if self.skips(caller, resource.kind) {
            return;
        }
        let path = ["/auth/users", "/auth/roles"][usize::from(resource.kind == Kind::Role)];
        let call = Call::put(path, json!({"id": resource.id, "name": name}));
        let allowed = resource.name.is_some() && self.callers[caller].reads(resource);
        let differs = resource.name.as_ref() != Some(&name);
        let response = call.send(&self.fixture.app, &self.callers[caller].account.token).await;
        assert_eq!(
            response.status == 200,
            allowed,
            "{call}: {} {}",
            response.status,
            response.text()
        );
        if allowed && differs {
            let done = response.undoable_write();
            self.changed(caller, index, done.log_id, done.token, Some(name));
        } else {
            assert_eq!(response.operation(), None, "{call}");
        }
    }

    async fn delete(&mut self, caller: usize, index: usize) {
        let resource = &self.resources[index];
        if self.skips(caller, resource.kind) {
            return;
        }
        let path = ["/auth/users", "/auth/roles"][usize::from(resource.kind == Kind::Role)];
        let call = Call::delete(path, resource.id);
        let allowed = resource.name.is_some() && self.callers[caller].reads(resource);
        let response = call.send(&self.fixture.app, &self.callers[caller].account.token).await;
        assert_eq!(
            response.status == 200,
            allowed,
            "{call}: {} {}",
            response.status,
            response.text()
        );
        if allowed {
            let done = response.undoable_write();
            self.changed(caller, index, done.log_id, done.token, None);
        }
    }

    fn changed(&mut self, actor: usize, index: usize, id: Uuid, token: String, to: Option<String>) {
        let resource = &mut self.resources[index];
        resource.max_version += 1;
        self.entries.push(Entry {
            id,
            token,
            actor,
            resource: index,
            from: resource.name.clone(),
            to: to.clone(),
            versions: (resource.version, resource.max_version),
            state: State::Done,
            undone: 0,
        });
        resource.version = resource.max_version;
        resource.name = to;
    }

    async fn undo(&mut self, caller: usize, index: usize) {
        let (entry, who) = (&self.entries[index], &self.callers[caller]);
        let resource = &self.resources[entry.resource];
        let own = entry.actor == caller;
        let allowed = entry.state == State::Done
            && (own || who.others)
            && (who.reads(resource) || own && resource.organization.is_none())
            && resource.version == entry.versions.1;
        let undo = json!({"undoToken": entry.token});
        let (status, body) = self.fixture.app.post(&who.account.token, UNDO, undo).await;
        assert_eq!(status == 200, allowed, "undo of {entry:?} by {caller}: {status} {body}");
        if allowed {
            self.undos += 1;
            let entry = &mut self.entries[index];
            entry.state = State::Undone;
            entry.undone = self.undos;
            let resource = &mut self.resources[entry.resource];
            resource.version = entry.versions.0;
            resource.name = entry.from.clone();
        }
    }

    fn eligible(&self, entry: &Entry, caller: &Caller) -> bool {
        let resource = &self.resources[entry.resource];
        entry.state == State::Undone && resource.version == entry.versions.0 && caller.reads(resource)
    }

    async fn redo(&mut self, caller: usize, index: usize) {
        let (entry, who) = (&self.entries[index], &self.callers[caller]);
        let stack = self
            .entries
            .iter()
            .filter(|one| one.actor == entry.actor && self.eligible(one, who));
        let top = stack.max_by_key(|one| one.undone).map(|one| one.id);
        let allowed = (entry.actor == caller || who.others) && top == Some(entry.id);
        let redo = json!({"logId": entry.id});
        let (status, body) = self.fixture.app.post(&who.account.token, REDO, redo).await;
        assert_eq!(status == 200, allowed, "redo of {entry:?} by {caller}: {status} {body}");
        if allowed {
            let entry = &mut self.entries[index];
            entry.state = State::Redone;
            let (from, to, versions, of) = (entry.from.clone(), entry.to.clone(), entry.versions, entry.resource);
            self.resources[of].version = versions.1;
            self.resources[of].name = to.clone();
            self.entries.push(Entry {
                id: id(&body["logId"]),
                token: text(&body["undoToken"]),
                actor: caller,
                resource: of,
                from,
                to,
                versions,
                state: State::Done,
                undone: 0,
            });
        }
    }

    /// Checks that the database and the log agree with the model.
    async fn check(&self) {
        let app = &self.fixture.app;
        let live = app
            .rows(
                "select id, name from auth_users where email like 'model-%' and deleted_at is null \
                 union all select id, name from auth_roles where name like 'model %'",
            )
            .await;
        let live: BTreeMap<String, String> = live.iter().map(|row| (text(&row["id"]), text(&row["name"]))).collect();
        let named = |one: &Resource| one.name.clone().map(|name| (one.id.to_string(), name));
        assert_eq!(live, self.resources.iter().filter_map(named).collect());

        let versions = app
            .rows(
                "select v.resource_id, v.version, v.max_version from audit_resource_versions v where exists (
                     select 1 from audit_action_logs l where l.tenant_id = v.tenant_id and l.resource_kind = v.resource_kind
                        and l.resource_id = v.resource_id and coalesce(l.snapshot_after, l.snapshot_before) ->> 'name' like 'model %')",
            )
            .await;
        let versions: BTreeSet<String> = versions
            .iter()
            .map(|row| {
                format!(
                    "{} {} of {}",
                    text(&row["resource_id"]),
                    row["version"],
                    row["max_version"]
                )
            })
            .collect();
        let reported = |one: &Resource| format!("{} {} of {}", one.id, one.version, one.max_version);
        assert_eq!(versions, self.resources.iter().map(reported).collect());

        let log = app
            .rows(
                "select id, execution_state, undo_secret is not null as live, actor_id, snapshot_before ->> 'name' as was,
                    snapshot_after ->> 'name' as became, version_before, version_after, history_action
                 from audit_action_logs
                 where coalesce(snapshot_after, snapshot_before) ->> 'name' like 'model %' order by seq",
            )
            .await;
        let (undos, log): (Vec<&Value>, Vec<&Value>) = log.iter().partition(|row| row["history_action"] == "undo");
        assert_eq!(undos.len(), self.undos);
        assert_eq!(log.len(), self.entries.len());
        for (row, entry) in log.into_iter().zip(&self.entries) {
            let state = format!("{:?}", entry.state).to_lowercase();
            let expected = [
                ("id", json!(entry.id)),
                ("execution_state", json!(state)),
                ("live", json!(entry.state == State::Done)),
                ("actor_id", json!(self.callers[entry.actor].account.id)),
                ("was", json!(entry.from)),
                ("became", json!(entry.to)),
                ("version_before", json!(entry.versions.0)),
                ("version_after", json!(entry.versions.1)),
            ];
            for (column, value) in expected {
                assert_eq!(row[column], value, "{column} of {entry:?}");
            }
        }
        let emails: BTreeSet<&str> = self.resources.iter().map(|one| one.email.as_str()).collect();
        assert_eq!(emails.len(), self.resources.len());
    }
}

#[test]
fn random_interleavings_agree_with_a_model() {
    runs(CASES, &prop::collection::vec(step(), 1..=STEPS), async |steps| {
        let mut model = Model::new().await;
        for step in &steps {
            model.run(step).await;
            model.check().await;
        }
    });
}
