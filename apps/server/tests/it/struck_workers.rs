//! Workers that freeze in the middle of a bulk job, or that die from one of its items.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::bulk::{Job, Rows, SHORT_LEASE, Sql, create_requester};
use crate::office::{NO_LIMITS, NO_WORKERS, office};

const ITEMS: usize = 1000;
/// The database rolls back the open transaction of a frozen worker after a minute.
const PATIENCE: Duration = Duration::from_secs(150);
/// Time in which a worker could write what it must not.
const WHILE_AWAKE: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_5_a_worker_frozen_by_a_signal_writes_nothing_once_another_has_its_job() {
    let (office, database) = office().await;
    create_requester(&office);
    let server = office.serve(&[NO_WORKERS, NO_LIMITS]).await;
    let deals = Rows::deals(&database, ITEMS).await;
    let (job, _) = Job::move_deals(&server, &deals);
    let mut frozen = office.work(&[SHORT_LEASE]).await;
    let seen = job.wait_for(0, ITEMS / 5, PATIENCE).await;
    frozen.freeze();
    assert!(job.processed().0 < ITEMS, "there is something left to do");

    let mut other = office.work(&[SHORT_LEASE]).await;
    job.wait_for(seen, ITEMS, PATIENCE).await;
    let finished = job.reported();
    frozen.wake();
    sleep(WHILE_AWAKE).await;

    assert_eq!(job.reported(), finished);
    job.check_end(0);
    deals.check_entries(&database, "customers.deal.change_stage").await;
    for worker in [&mut frozen, &mut other] {
        worker.check_health();
        assert!(worker.end().success(), "{}", worker.log());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_8_an_item_that_takes_the_process_down_fails_alone() {
    let (office, database) = office().await;
    create_requester(&office);
    let server = office.serve(&[NO_WORKERS, NO_LIMITS]).await;
    let deals = Rows::deals(&database, ITEMS / 5).await;
    // A statement that changes this deal never returns; at that moment the worker's process is killed.
    let abyss = "create function abyss() returns trigger language plpgsql as \
            $$ begin perform pg_sleep(600); return new; end $$; \
        create trigger abyss before update on customers_deals for each row when (new.title = 'Item 77') execute function abyss()";
    database.sql(abyss).await;
    let (job, stage) = Job::move_deals(&server, &deals);

    let (mut deaths, started) = (0, Instant::now());
    let asleep = "from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
    while job.processed().1.is_null() {
        let mut worker = office.work(&[SHORT_LEASE]).await;
        while database.rows_of(&format!("select {asleep}")).await == 0 && job.processed().1.is_null() {
            assert!(started.elapsed() < PATIENCE, "{}", job.reported());
            sleep(Duration::from_millis(20)).await;
        }
        worker.kill();
        // PostgreSQL would notice only after ten minutes that the client has disconnected.
        let ended = database
            .rows_of(&format!("select pg_terminate_backend(pid) {asleep}"))
            .await;
        deaths += ended;
    }

    assert!((2..=6).contains(&deaths), "{deaths} workers went down");
    job.check_end(1);
    let failed = &job.reported()["resultSummary"]["failedItems"][0];
    assert_eq!(
        (&failed["id"], &failed["code"]),
        (&json!(deals.ids()[76]), &json!("internal_error")),
        "{failed}"
    );
    let moved = format!("select from customers_deals where pipeline_stage_id = '{stage}'");
    assert_eq!(database.rows_of(&moved).await, ITEMS / 5 - 1);
}
