//! The queue of background jobs on the command line, and the worker process.

use backoffice_test_support::TestDatabase;
use serde_json::{Value, json};

use crate::office::{ADMINISTRATOR, NO_WORKERS, Office, office, order_mail};
use crate::server::Server;
use crate::support::{errors, text};

const UNKNOWN: &str = "00000000-0000-7000-8000-000000000002";

/// An installation whose server runs no jobs, and a pending job.
struct Waiting {
    office: Office,
    _server: Server,
    database: TestDatabase,
    job: String,
}

impl Waiting {
    async fn new() -> Self {
        let (office, database) = office().await;
        let server = office.serve(&[NO_WORKERS]).await;
        order_mail(&server, ADMINISTRATOR);
        let listed = office.json(&["jobs", "list"]);
        let job = listed[0]["id"].as_str().unwrap_or_else(|| panic!("one job: {listed}"));
        Self {
            job: job.to_owned(),
            office,
            _server: server,
            database,
        }
    }

    /// Returns state and kind of the listed jobs.
    fn listed(&self, arguments: &[&str]) -> Vec<(String, String)> {
        let listed = self.office.json(&[&["jobs", "list"], arguments].concat());
        let jobs = listed.as_array().expect("a list").iter();
        let word = |value: &Value| value.as_str().expect("a word").to_owned();
        jobs.map(|job| (word(&job["state"]), word(&job["kind"]))).collect()
    }

    fn state(&self) -> String {
        let listed = self.office.json(&["jobs", "list", "--all"]);
        let mut jobs = listed.as_array().expect("a list").iter();
        let job = jobs.find(|job| job["id"] == self.job.as_str()).expect("it is kept");
        job["state"].as_str().expect("a word").to_owned()
    }
}

fn pair(state: &str, kind: &str) -> (String, String) {
    (state.to_owned(), kind.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_are_listed_cancelled_and_put_back() {
    let waiting = Waiting::new().await;
    let (office, job) = (&waiting.office, waiting.job.as_str());
    let queued = [pair("queued", "auth.user.request_resets")];
    assert_eq!(waiting.listed(&[]), queued);
    let table = text(&office.run(&["jobs", "list"]));
    for part in [job, "auth.user.request_resets", "queued", "cursor 0", "attempt 0"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let listed = office.json(&["jobs", "list"]);
    for hidden in ["payload", "selection", "leaseOwner"] {
        assert_eq!(listed[0].get(hidden), None, "{hidden}");
    }

    assert_eq!(text(&office.run(&["jobs", "cancel", job])), "cancelled\n");
    assert_eq!(waiting.listed(&[]), [], "what was cancelled is not open");
    assert_eq!(waiting.state(), "cancelled");
    let again = office.rejected(&["jobs", "cancel", job]);
    assert!(again.contains("has ended already; this one is cancelled"), "{again}");

    let put_back = office.json(&["jobs", "retry", job]);
    assert_eq!(put_back, json!({"id": job, "state": "queued"}));
    assert_eq!(waiting.listed(&[]), queued);
    let again = office.rejected(&["jobs", "retry", job]);
    assert!(again.contains("can be retried; this one is queued"), "{again}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_job_is_reported() {
    let waiting = Waiting::new().await;

    for command in ["cancel", "retry"] {
        let unknown = waiting.office.run(&["jobs", command, UNKNOWN]);
        let malformed = waiting.office.run(&["jobs", command, "first"]);
        assert_eq!((unknown.status.code(), malformed.status.code()), (Some(1), Some(2)));
        let unknown = errors(&unknown);
        assert!(unknown.contains("no such job"), "{unknown}");
    }

    assert_eq!(waiting.state(), "queued");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_runs_pending_jobs_and_ends_on_a_signal() {
    let waiting = Waiting::new().await;
    assert_eq!(waiting.office.mails_to(ADMINISTRATOR), 0, "no worker runs");

    let mut worker = waiting.office.work(&[]).await;
    waiting.office.wait_for_mail(ADMINISTRATOR, &worker).await;
    worker.check_health();
    let ended = worker.end();

    assert!(ended.success(), "{ended}: {}", worker.log());
    assert_eq!(waiting.listed(&[]), [], "nothing is left open");
    let done = [
        pair("done", "auth.user.request_resets"),
        pair("done", "auth.user.send_reset"),
    ];
    assert_eq!(waiting.listed(&["--all"]), done);
    assert_eq!(waiting.office.mails_to(ADMINISTRATOR), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_was_given_up_waits_for_an_operator() {
    let waiting = Waiting::new().await;
    let give_up =
        "update core_jobs set state = 'dead', attempt = 8, last_error = 'it does not fit', finished_at = now()";
    assert_eq!(waiting.database.sql(give_up).await, 1);
    let worker = waiting.office.work(&[]).await;

    let table = text(&waiting.office.run(&["jobs", "list"]));
    assert!(table.contains("dead") && table.contains("it does not fit"), "{table}");
    let metrics = worker.operators("/metrics").text;
    for gauge in [
        "jobs_dead 1",
        "jobs_due 0",
        "jobs_later 0",
        "jobs_running 0",
        "jobs_oldest_due_seconds 0",
    ] {
        assert!(metrics.lines().any(|line| line == gauge), "{gauge}: {metrics}");
    }
    assert_eq!(text(&waiting.office.run(&["jobs", "retry", &waiting.job])), "queued\n");

    waiting.office.wait_for_mail(ADMINISTRATOR, &worker).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_with_a_progress_record_is_retried_through_it() {
    let waiting = Waiting::new().await;
    let watched = "insert into progress_jobs (tenant_id, id, job_type, name, status, total_count, processed_count, succeeded_count,
            skipped_count, failed_count, cancellable, actor_kind, parameters, created_at, updated_at)
        select tenant_id, id, kind, kind, 'failed', 0, 0, 0, 0, 0, true, 'system', '{}', now(), now() from core_jobs";
    assert_eq!(waiting.database.sql(watched).await, 1);
    let dead = "update core_jobs set state = 'dead', progress_job_id = id";
    assert_eq!(waiting.database.sql(dead).await, 1);

    let rejected = waiting.office.rejected(&["jobs", "retry", &waiting.job]);

    assert!(rejected.contains("/progress/jobs/"), "{rejected}");
    assert_eq!(waiting.state(), "dead");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_jobs_with_one_key_only_one_is_open() {
    let waiting = Waiting::new().await;
    let twins = "update core_jobs set dedupe_key = 'key', state = 'cancelled';
        insert into core_jobs select (jsonb_populate_record(j, '{\"id\": \"00000000-0000-7000-8000-000000000001\", \"state\": \"queued\"}')).*
        from core_jobs j";
    waiting.database.sql(twins).await;

    let rejected = waiting.office.rejected(&["jobs", "retry", &waiting.job]);

    assert!(rejected.contains("is open already"), "{rejected}");
    assert_eq!(waiting.state(), "cancelled");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_without_slots_is_rejected() {
    let (office, _database) = office().await;

    let rejected = office.rejected(&["worker", "--set", "jobs.workers=0"]);

    assert!(rejected.contains("jobs.workers"), "{rejected}");
}
