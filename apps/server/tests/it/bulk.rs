//! Bulk jobs over many rows, as their requester reads them, and the entries of their items in the log.

use std::time::Duration;

use backoffice_test_support::TestDatabase;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::cluster::Cluster;
use crate::office::{Office, sign_in};
use crate::server::Server;

/// A short lease, so that the next worker does not have to wait for a minute.
pub(crate) const SHORT_LEASE: (&str, &str) = ("BACKOFFICE__JOBS__LEASE_SECONDS", "5");
const REQUESTER: &str = "requester@example.com";

/// Creates the administrator who owns the rows and requests the jobs.
pub(crate) fn create_requester(office: &Office) {
    office.create_user(REQUESTER, "admin");
}

/// A database that runs statements.
pub(crate) trait Sql {
    /// Runs a statement and returns the number of rows that it affected or returned.
    async fn rows_of(&self, sql: &str) -> usize;
}

impl Sql for TestDatabase {
    async fn rows_of(&self, sql: &str) -> usize {
        usize::try_from(self.sql(sql).await).expect("a count")
    }
}

impl Sql for Cluster {
    async fn rows_of(&self, sql: &str) -> usize {
        usize::try_from(self.sql(sql).await).expect("a count")
    }
}

/// The rows that bulk jobs process.
pub(crate) struct Rows {
    count: usize,
}

impl Rows {
    /// Inserts `count` rows with SQL, so that the log has no entries for them.
    pub(crate) async fn fill(database: &impl Sql, count: usize, table: &str, columns: &str, values: &str) -> Self {
        let created = format!(
            "insert into {table} (tenant_id, id, organization_id, title, created_at, updated_at, {columns}) \
             select o.tenant_id, lpad(to_hex(n), 32, '0')::uuid, o.id, 'Item ' || n, now(), now(), {values} \
             from generate_series(1, {count}) n, \
                (select tenant_id, id from directory_organizations where tenant_id = \
                    (select tenant_id from auth_users where email_norm = '{REQUESTER}') limit 1) o"
        );
        assert_eq!(database.rows_of(&created).await, count);
        Self { count }
    }

    /// Inserts deals without a stage.
    pub(crate) async fn deals(database: &impl Sql, count: usize) -> Self {
        Self::fill(database, count, "customers_deals", "status", "'open'").await
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        (1..=self.count)
            .map(|number| uuid::Uuid::from_u128(number as u128).to_string())
            .collect()
    }

    /// Checks that each row has exactly one entry.
    pub(crate) async fn check_entries(&self, database: &impl Sql, command: &str) {
        let entries = format!("from audit_action_logs where command_id = '{command}' and execution_state = 'done'");
        for select in [
            format!("select {entries} and source = 'job'"),
            format!("select {entries}"),
            format!("select distinct resource_id {entries}"),
            "select from progress_job_items where state = 'succeeded' and log_id is not null".to_owned(),
            "select from progress_job_items".to_owned(),
        ] {
            assert_eq!(database.rows_of(&select).await, self.count, "{select}");
        }
    }
}

/// A started job.
pub(crate) struct Job<'a> {
    server: &'a Server,
    token: String,
    path: String,
    items: usize,
}

impl<'a> Job<'a> {
    /// Requests a job.
    pub(crate) fn start(server: &'a Server, path: &str, body: &Value, rows: &Rows) -> Self {
        let token = sign_in(server, REQUESTER);
        let response = server.post(path, &token, body);
        assert_eq!(response.status, 201, "{}", response.text);
        let id = response.body["progressJobId"].as_str().expect("an id");
        Self {
            server,
            token,
            path: format!("/api/progress/jobs/{id}"),
            items: rows.count,
        }
    }

    /// Requests a job that moves deals to a new stage. Also returns the stage.
    pub(crate) fn move_deals(server: &'a Server, deals: &Rows) -> (Self, String) {
        let token = sign_in(server, REQUESTER);
        let create = |path: &str, body: Value| {
            let response = server.post(path, &token, &body);
            assert_eq!(response.status, 201, "{}", response.text);
            response.body["id"].as_str().expect("an id").to_owned()
        };
        let listed = server.get("/api/customers/deals?pageSize=1", &token).body;
        let organization = &listed["items"][0]["organizationId"];
        let pipeline = create(
            "/api/customers/pipelines",
            json!({"name": "Sales", "organizationId": organization}),
        );
        let stage = create(
            "/api/customers/pipeline-stages",
            json!({"pipelineId": pipeline, "label": "Won"}),
        );
        let body = json!({"ids": deals.ids(), "pipelineStageId": stage});
        (
            Self::start(server, "/api/customers/deals/bulk-update-stage", &body, deals),
            stage,
        )
    }

    /// Returns the number of processed items and the time at which the job ended.
    pub(crate) fn processed(&self) -> (usize, Value) {
        let body = self.reported();
        let count = |name: &str| usize::try_from(body[name].as_u64().expect("a count")).expect("a count");
        let parts = count("succeededCount") + count("skippedCount") + count("failedCount");
        assert_eq!(count("processedCount"), parts, "{body}");
        (parts, body["finishedAt"].clone())
    }

    /// Waits until `requested` items are processed or the job has ended. Checks that the count never decreases.
    pub(crate) async fn wait_for(&self, mut seen: usize, requested: usize, patience: Duration) -> usize {
        let started = Instant::now();
        loop {
            let (now, finished) = self.processed();
            assert!(now >= seen, "{now} after {seen}");
            seen = now;
            if seen >= requested && (requested < self.items || !finished.is_null()) {
                return seen;
            }
            assert!(started.elapsed() < patience, "{seen} of {requested} in {patience:?}");
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Returns the job as its requester sees it.
    pub(crate) fn reported(&self) -> Value {
        self.server.get(&self.path, &self.token).body
    }

    /// Checks that the job has ended and that `failed` of its items have failed.
    pub(crate) fn check_end(&self, failed: usize) {
        let job = self.reported();
        let names = [
            "status",
            "totalCount",
            "processedCount",
            "succeededCount",
            "failedCount",
            "progressPercent",
        ];
        let reported: Vec<&Value> = names.iter().map(|name| &job[name]).collect();
        let status = if failed == 0 {
            "completed"
        } else {
            "completed_with_errors"
        };
        let (all, done) = (self.items, self.items - failed);
        assert_eq!(json!(reported), json!([status, all, all, done, failed, 100]), "{job}");
    }
}
