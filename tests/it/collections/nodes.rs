//! A random history on two nodes: after every step, every total and every response that a client keeps for its tag is what the database has.
//! `BACKOFFICE_MODEL_CASES` sets the number of runs.

use actix_web::http::Method;
use backoffice_test_support::{TestApp, UndoableWrite};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{Account, Fixture, text};
use crate::random::runs;

const STEPS: usize = 25;
const CASES: u32 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Role,
    Company,
}

impl Kind {
    fn path(self) -> &'static str {
        match self {
            Self::Role => "/auth/roles",
            Self::Company => "/customers/companies",
        }
    }

    fn body(self, name: &str) -> Value {
        match self {
            Self::Role => json!({"name": name}),
            Self::Company => json!({"displayName": name}),
        }
    }

    /// Returns the statement for ids and names of the tenant's rows that the searches find, in the order of the list.
    fn rows(self, fixture: &Fixture) -> String {
        let (table, name, order) = match self {
            Self::Role => ("auth_roles", "name", "name_norm, id"),
            Self::Company => ("customers_companies", "display_name", "created_at desc, id desc"),
        };
        let tenant = fixture.a.tenant;
        format!(
            "select id::text, {name} as name from {table} where tenant_id = '{tenant}' and {name} ilike '%zzz%' order by {order}"
        )
    }

    fn name_in(self, item: &Value) -> &Value {
        match self {
            Self::Role => &item["name"],
            Self::Company => &item["displayName"],
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Change {
    Create(Kind),
    Rename(usize),
    Delete(usize),
    Undo(usize),
    Redo(usize),
    /// As a migration does it: with SQL, and the change of all kinds.
    Insert,
}

fn change() -> impl Strategy<Value = Change> {
    let kind = prop_oneof![Just(Kind::Role), Just(Kind::Company)];
    prop_oneof![
        4 => kind.prop_map(Change::Create),
        3 => any::<usize>().prop_map(Change::Rename),
        2 => any::<usize>().prop_map(Change::Delete),
        3 => (0..3_usize).prop_map(Change::Undo),
        2 => (0..3_usize).prop_map(Change::Redo),
        1 => Just(Change::Insert),
    ]
}

/// A list as a client of one node knows it.
struct Known {
    kind: Kind,
    path: String,
    tag: String,
    body: Value,
}

struct History {
    fixture: Fixture,
    second: TestApp,
    known: [Vec<Known>; 2],
    /// Rows that may still exist.
    rows: Vec<(Kind, String)>,
    /// Operations with their tokens.
    operations: Vec<UndoableWrite>,
    number: usize,
}

impl History {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let second = fixture.app.second_node().await;
        let known = [Kind::Role, Kind::Company].map(|kind| {
            let lists = [
                "search=zzz&pageSize=100",
                "search=zzz&pageSize=1",
                "search=zz&pageSize=100",
                "search=zzz&pageSize=2&page=2",
                "search=zzz&pageSize=2&page=3",
            ];
            lists.map(|query| (kind, format!("{}?{query}", kind.path())))
        });
        let all = || {
            let lists = known.iter().flatten().cloned();
            let unknown = |(kind, path)| Known {
                kind,
                path,
                tag: String::new(),
                body: Value::Null,
            };
            lists.map(unknown).collect::<Vec<_>>()
        };
        let known = [all(), all()];
        Self {
            fixture,
            second,
            known,
            rows: Vec::new(),
            operations: Vec::new(),
            number: 0,
        }
    }

    fn app(&self, node: usize) -> &TestApp {
        [&self.fixture.app, &self.second][node]
    }

    fn caller(&self) -> &Account {
        &self.fixture.a.tenant_admin
    }

    fn pick(&self, index: usize) -> Option<(Kind, String)> {
        (!self.rows.is_empty()).then(|| self.rows[index % self.rows.len()].clone())
    }

    async fn run(&mut self, node: usize, change: Change) {
        self.number += 1;
        let name = format!("Zzz {}", self.number);
        let app = self.app(node);
        let send = |method: Method, path: String| app.request(method, &path).bearer(&self.caller().token);
        let response = match change {
            Change::Create(kind) => {
                let request = send(Method::POST, kind.path().to_owned()).json(&kind.body(&name));
                let response = request.send().await;
                assert_eq!(response.status, 201, "{}", response.text());
                let id = text(&response.json()["id"]);
                self.rows.push((kind, id));
                response
            }
            Change::Rename(index) => {
                let Some((kind, id)) = self.pick(index) else { return };
                let mut body = kind.body(&name);
                body["id"] = json!(id);
                send(Method::PUT, kind.path().to_owned()).json(&body).send().await
            }
            Change::Delete(index) => {
                let Some((kind, id)) = self.pick(index) else { return };
                send(Method::DELETE, format!("{}?id={id}", kind.path())).send().await
            }
            Change::Undo(last) => {
                if let Some(done) = self.operations.iter().rev().nth(last) {
                    app.undo(&self.caller().token, done).await;
                }
                return;
            }
            Change::Redo(last) => {
                if let Some(done) = self.operations.iter().rev().nth(last) {
                    app.redo(&self.caller().token, done).await;
                }
                return;
            }
            Change::Insert => {
                self.insert(&name).await;
                return;
            }
        };
        // Rows that are gone are not found; what was changed can be undone.
        if response.status < 300 && response.operation().is_some() {
            self.operations.push(response.undoable_write());
        }
    }

    async fn insert(&self, name: &str) {
        let app = &self.fixture.app;
        let sql = format!(
            "insert into customers_companies (tenant_id, id, organization_id, display_name, is_active, created_at, updated_at) \
             values ('{}', gen_random_uuid(), '{}', '{name}', true, '2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z')",
            self.fixture.a.tenant, self.fixture.a.other
        );
        assert_eq!(app.sql(&sql).await, 1);
        self.fixture.change_all_collections().await;
    }

    /// Reads every list on both nodes with the tag that is known there.
    async fn check(&mut self, what: &str) {
        for node in 0..2 {
            for index in 0..self.known[node].len() {
                let known = &self.known[node][index];
                let (kind, path) = (known.kind, known.path.clone());
                let request = self.app(node).request(Method::GET, &path).bearer(&self.caller().token);
                let response = request.header("If-None-Match", &known.tag).send().await;
                if response.status == 200 {
                    let tag = response.header("etag").expect("a tag");
                    let body = response.json();
                    self.known[node][index] = Known { kind, path, tag, body };
                } else {
                    assert_eq!(response.status, 304, "{what}: {path}: {}", response.text());
                }
                self.compare(&self.known[node][index], &format!("{what}, node {node}"))
                    .await;
                // Without a tag the page is read again; one after the first begins at the row that the last reading found.
                let request = self.app(node).request(Method::GET, &self.known[node][index].path);
                let again = request.bearer(&self.caller().token).send().await;
                assert_eq!(again.json(), self.known[node][index].body, "{what}, node {node}");
            }
        }
    }

    async fn compare(&self, known: &Known, what: &str) {
        let rows = self.fixture.app.rows(&known.kind.rows(&self.fixture)).await;
        let path = &known.path;
        assert_eq!(known.body["total"], rows.len(), "{what}: {path}");
        let number = |name: &str| {
            let number = known.body[name].as_u64().expect("a number");
            usize::try_from(number).expect("small")
        };
        let (page, size) = (number("page"), number("pageSize"));
        let items = known.body["items"].as_array().expect("items");
        let pair = |id: &Value, name: &Value| (text(id), text(name));
        let listed = items.iter().map(|item| pair(&item["id"], known.kind.name_in(item)));
        let shown = rows.iter().skip((page - 1) * size).take(size);
        let shown = shown.map(|row| pair(&row["id"], &row["name"]));
        assert_eq!(listed.collect::<Vec<_>>(), shown.collect::<Vec<_>>(), "{what}: {path}");
    }
}

#[test]
fn no_node_hides_a_change_of_the_other_one() {
    let steps = prop::collection::vec((0..2_usize, change()), 1..=STEPS);
    runs(CASES, &steps, async |steps| {
        let mut history = History::new().await;
        history.check("at the start").await;
        for (node, change) in steps {
            history.run(node, change).await;
            history.check(&format!("{change:?} on node {node}")).await;
        }
    });
}
