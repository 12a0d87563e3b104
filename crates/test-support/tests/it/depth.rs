//! The size of the job queue.

use backoffice_core::jobs::{Depth, depth};
use backoffice_core::{Call, Scope};
use backoffice_test_support::TestApp;
use diesel_async::SimpleAsyncConnection;

use crate::jobs::MODULE;

/// A kind of the enabled module.
const KIND: &str = "counting.count";

/// Inserts jobs of a kind and a state that were due so many seconds ago.
async fn insert(app: &TestApp, kind: &str, jobs: u64, state: &str, due_seconds_ago: i32) {
    let finished_at = match state {
        "queued" | "running" => "null",
        _ => "t.at",
    };
    let sql = format!(
        "insert into core_jobs (tenant_id, id, kind, payload, actor_kind, selection, priority, run_at, state, attempt, max_attempts, cursor,
             finished_at, created_at, updated_at)
         select gen_random_uuid(), gen_random_uuid(), '{kind}', '{{}}', 'system', '{{}}', 0, t.at - make_interval(secs => {due_seconds_ago}),
             '{state}', 0, 8, 0, {finished_at}, t.at, t.at
         from generate_series(1, {jobs}), (select timestamptz '{}' as at) t",
        app.now()
    );
    assert_eq!(app.sql(&sql).await, jobs);
}

/// Returns the number of rows that statements have read by scans of the whole table of jobs.
async fn scanned(app: &TestApp) -> i64 {
    let database = &app.runtime().database;
    let mut connection = database.read(&Scope::system()).await.expect("the only connection");
    let flush = connection.batch_execute("select pg_stat_force_next_flush()").await;
    flush.expect("PostgreSQL 15 or newer");
    let sql = "select seq_tup_read from pg_stat_user_tables where relname = 'core_jobs'";
    app.rows(sql).await[0]["seq_tup_read"].as_i64().expect("a number")
}

#[actix_web::test]
async fn the_queue_is_measured_without_reading_finished_jobs() {
    let app = TestApp::builder(&[&MODULE]).pool_size(1).build().await;
    for (jobs, state, due_seconds_ago) in [
        (20_000, "done", 60),
        (5, "cancelled", 60),
        (4, "dead", 60),
        (3, "queued", 90),
        (2, "queued", -30),
        (1, "running", 120),
    ] {
        insert(&app, KIND, jobs, state, due_seconds_ago).await;
    }
    // Of a module that is not enabled: they do not wait for a slot.
    insert(&app, "absent.job", 7, "queued", 500).await;
    app.sql("analyze core_jobs").await;
    let before = scanned(&app).await;

    let measured = depth(&Call::internal(app.runtime())).await.expect("measured");

    let expected = Depth {
        due: 3,
        later: 2,
        running: 1,
        dead: 4,
        oldest_seconds: 90.0,
    };
    assert_eq!(measured, expected);
    assert_eq!(scanned(&app).await, before);
}

#[actix_web::test]
async fn an_empty_queue_has_no_size() {
    let app = TestApp::new(&[]).await;

    let measured = depth(&Call::internal(app.runtime())).await;

    assert_eq!(measured.expect("measured"), Depth::default());
}
