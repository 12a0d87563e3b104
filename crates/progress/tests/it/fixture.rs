//! Two tenants with things, and users who number them.

use std::sync::Arc;

use actix_web::http::Method;
use backoffice_core::Module;
use backoffice_core::http::Json;
use backoffice_core::jobs::{Worker, stop_signal};
use backoffice_directory::commands::{CreateTenant, NewTenant};
use backoffice_test_support::{APPLICATION_ROLE, Duration, TestApp, TestAppBuilder, TestResponse};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::people::{People, SIGN_IN};
use crate::sample;

pub(crate) const JOBS: &str = "/progress/jobs";

pub(crate) const MODULES: [&Module; 5] = [
    &backoffice_directory::MODULE,
    &SIGN_IN,
    &backoffice_audit_logs::MODULE,
    &backoffice_progress::MODULE,
    &sample::MODULE,
];

/// Features of a user who numbers things and can undo that.
pub(crate) const NUMBERS: [&str; 3] = ["sample.thing.manage", "audit_logs.view_self", "audit_logs.undo_self"];

pub(crate) struct Fixture {
    pub(crate) app: TestApp,
    /// A tenant and its organization.
    pub(crate) a: (Uuid, Uuid),
    pub(crate) b: (Uuid, Uuid),
}

pub(crate) fn builder() -> TestAppBuilder {
    TestApp::builder(&MODULES)
}

impl Fixture {
    /// Creates tenants A and B with users: `anna` and `adam` of A, `boss` of A who sees and manages all jobs, and `bert` of B.
    pub(crate) async fn new() -> Self {
        Self::of(builder()).await
    }

    pub(crate) async fn of(builder: TestAppBuilder) -> Self {
        let app = builder.build().await;
        app.sql(sample::TABLE).await;
        let grant = "grant select, insert, update, delete on sample_things to";
        app.sql(&format!("{grant} {APPLICATION_ROLE}")).await;
        let (a, b) = (tenant(&app, "Alpha").await, tenant(&app, "Beta").await);
        let fixture = Self { app, a, b };
        let people = fixture.people();
        people.set("anna", a.0, &NUMBERS, None);
        people.set("adam", a.0, &NUMBERS, None);
        people.set("boss", a.0, &["*"], None);
        people.set("plain", a.0, &[], None);
        people.set("bert", b.0, &["*"], None);
        fixture
    }

    pub(crate) fn people(&self) -> Arc<People> {
        People::of(&self.app)
    }

    /// Creates an organization of tenant A below the first one.
    pub(crate) async fn organization(&self, number: u32) -> Uuid {
        let id = Uuid::from_u128(0xc000 + u128::from(number));
        let sql = format!(
            "insert into directory_organizations (tenant_id, id, name, slug, parent_id, is_active, created_at, updated_at)
             values ('{}', '{id}', 'O {number}', 'o-{number}', '{}', true, now(), now())",
            self.a.0, self.a.1
        );
        self.app.sql(&sql).await;
        id
    }

    /// Creates things of tenant A with number 0; names beyond the given ones are `thing`.
    pub(crate) async fn things(&self, count: usize, names: &[(usize, &str)]) -> Vec<Uuid> {
        self.things_of(self.a, count, names).await
    }

    pub(crate) async fn things_of(&self, place: (Uuid, Uuid), count: usize, names: &[(usize, &str)]) -> Vec<Uuid> {
        let name = |index: usize| {
            let given = names.iter().find(|(at, _)| *at == index);
            given.map_or("thing", |(_, name)| name)
        };
        let ids: Vec<Uuid> = (0..count).map(|_| self.app.system_context().new_id()).collect();
        let rows: Vec<String> = (0..count)
            .map(|index| {
                let (id, name) = (ids[index], name(index));
                format!(
                    "('{}', '{id}', '{}', '{name}', 0, null, '2026-01-01')",
                    place.0, place.1
                )
            })
            .collect();
        if !rows.is_empty() {
            self.app
                .sql(&format!("insert into sample_things values {}", rows.join(",")))
                .await;
        }
        ids
    }

    /// Requests to number things and returns the response.
    pub(crate) async fn ask(&self, token: &str, ids: &[Uuid], number: i32) -> (u16, Value) {
        let body = json!({"ids": ids, "number": number});
        self.app.post(token, sample::BULK, body).await
    }

    /// Starts a job of `anna` and returns its id.
    pub(crate) async fn start(&self, ids: &[Uuid], number: i32) -> Uuid {
        self.start_as("anna", ids, number).await
    }

    pub(crate) async fn start_as(&self, token: &str, ids: &[Uuid], number: i32) -> Uuid {
        let (status, body) = self.ask(token, ids, number).await;
        assert_eq!(status, 201, "{body}");
        id_of(&body["progressJobId"])
    }

    /// Runs one step of the next job: the first step begins it, every other step is a chunk.
    pub(crate) async fn step(&self) {
        let (sender, stop) = stop_signal();
        sender.send_replace(true);
        let worker = Worker::new(self.app.runtime().clone());
        assert!(worker.run_one(Some(&stop)).await.expect("the queue"), "a job waits");
    }

    /// Runs jobs until no attempt is left, and returns the number of attempts.
    pub(crate) async fn run_with_repeats(&self) -> usize {
        let mut attempts = 0;
        loop {
            let more = self.app.run_jobs().await;
            if more == 0 {
                return attempts;
            }
            attempts += more;
            self.app.advance(Duration::minutes(20));
        }
    }

    /// Returns the job, as the caller sees it.
    pub(crate) async fn job(&self, token: &str, id: Uuid) -> Value {
        self.app.read(token, &format!("{JOBS}/{id}")).await
    }

    /// Returns the status and the counts: total, processed, succeeded, skipped and failed.
    pub(crate) async fn counts(&self, id: Uuid) -> (Value, Value) {
        let sql = format!(
            "select status, array[total_count, processed_count, succeeded_count, skipped_count, failed_count] as counts
             from progress_jobs where id = '{id}'"
        );
        let row = self.app.rows(&sql).await.remove(0);
        (row["status"].clone(), row["counts"].clone())
    }

    /// Returns the items of a job by position: state, status and code of the error.
    pub(crate) async fn items(&self, id: Uuid) -> Vec<Value> {
        let sql = format!(
            "select state, error_status as status, error_code as code from progress_job_items
             where job_id = '{id}' order by position"
        );
        self.app.rows(&sql).await
    }

    /// Returns the log entries of numbered things.
    pub(crate) async fn entries(&self) -> Vec<Value> {
        let sql = "select * from audit_action_logs where command_id = 'sample.thing.set_number' order by seq";
        self.app.rows(sql).await
    }

    /// Returns the numbers of things, in this order.
    pub(crate) async fn numbers(&self, ids: &[Uuid]) -> Vec<i64> {
        let rows = self.app.rows("select id, number from sample_things").await;
        let number = |id: &Uuid| {
            let row = rows.iter().find(|row| row["id"] == json!(id));
            row.and_then(|row| row["number"].as_i64()).expect("the thing is there")
        };
        ids.iter().map(number).collect()
    }

    pub(crate) async fn cancel(&self, token: &str, id: Uuid) -> (u16, Value) {
        self.app.post(token, &format!("{JOBS}/{id}/cancel"), Value::Null).await
    }

    pub(crate) async fn retry(&self, token: &str, id: Uuid) -> (u16, Value) {
        self.app.post(token, &format!("{JOBS}/{id}/retry"), Value::Null).await
    }

    pub(crate) async fn post_with(&self, token: &str, path: &str, header: (&str, &str), body: &Value) -> TestResponse {
        let request = self.app.request(Method::POST, path).bearer(token);
        request.header(header.0, header.1).json(body).send().await
    }
}

pub(crate) fn id_of(value: &Value) -> Uuid {
    value.as_str().expect("an id").parse().expect("a UUID")
}

async fn tenant(app: &TestApp, name: &str) -> (Uuid, Uuid) {
    let ctx = app.system_context();
    let input = NewTenant {
        name: name.to_owned(),
        ..NewTenant::default()
    };
    let command = CreateTenant::new(&ctx, input).expect("a valid tenant");
    let created = ctx
        .execute(&command, |created| Json(json!([created.id, created.organization_id])))
        .await
        .expect("a created tenant");
    (id_of(&created.0[0]), id_of(&created.0[1]))
}
