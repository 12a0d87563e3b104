//! The job queue of core, as a module of the test sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use backoffice_core::jobs::{Job, NewJob, Queue, Step, Work, Worker, enqueue, enqueue_due};
use backoffice_core::registry::Registry;
use backoffice_core::{Call, Error, Module, Result, Scope};
use backoffice_test_support::{Duration, TestApp};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::sleep;
use uuid::Uuid;

pub(crate) static MODULE: Module = Module {
    name: "counting",
    register,
    start: |startup| {
        startup.provide(Arc::new(Counts::default()));
        Ok(())
    },
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry.job::<Count>().job::<Fails>().job::<Panics>().job::<Stolen>();
    registry
        .job::<Sends>()
        .job::<Daily>()
        .schedule::<Daily>("counting.daily", Duration::days(1));
}

/// Counts to a number; each step inserts one event stream row as its effect.
#[derive(Debug, Serialize, Deserialize)]
struct Count {
    to: i64,
    /// The step at which the worker dies between its effect and its commit, once.
    dies_at: Option<i64>,
}

/// What the jobs of a platform have counted.
#[derive(Debug, Default)]
struct Counts {
    /// Deaths of workers.
    deaths: AtomicUsize,
    /// Runs of [`Daily`].
    days: AtomicUsize,
}

impl Job for Count {
    const KIND: &'static str = "counting.count";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (cursor, tenant, job) = (work.cursor(), work.tenant(), work.id());
        if cursor == self.to {
            return Ok(Step::Done);
        }
        let id = work.call().platform().ids().at(work.now());
        let counts = work.call().provided::<Counts>()?;
        let mut chunk = work.begin(&Scope::tenant(tenant)).await?;
        let sql = format!(
            "insert into core_event_streams (tenant_id, id, name, last_seq, created_at, updated_at) \
             values ('{tenant}', '{id}', '{job} step {cursor}', 0, now(), now())"
        );
        diesel_async::RunQueryDsl::execute(diesel::sql_query(sql), chunk.connection()).await?;
        if self.dies_at == Some(cursor) && counts.deaths.fetch_add(1, Ordering::SeqCst) == 0 {
            return Err(Error::internal("the worker dies here"));
        }
        chunk.advance(cursor + 1).await?;
        Ok(Step::More)
    }
}

/// Runs once a day.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Daily {}

impl Job for Daily {
    const KIND: &'static str = "counting.daily";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        work.call().provided::<Counts>()?.days.fetch_add(1, Ordering::SeqCst);
        Ok(Step::Done)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Fails {}

impl Job for Fails {
    const KIND: &'static str = "counting.fails";

    async fn run(&self, _work: &mut Work<'_>) -> Result<Step> {
        Err(Error::internal("it never works"))
    }
}

/// Another worker takes the job over while it runs.
#[derive(Debug, Serialize, Deserialize)]
struct Stolen {}

impl Job for Stolen {
    const KIND: &'static str = "counting.stolen";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let mut chunk = work.begin(&Scope::system()).await?;
        let sql = "update core_jobs set lease_owner = gen_random_uuid(), lease_until = '2099-01-01'";
        diesel_async::RunQueryDsl::execute(diesel::sql_query(sql), chunk.connection()).await?;
        chunk.advance(0).await?;
        Count { to: 1, dies_at: None }.run(work).await
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Panics {}

impl Job for Panics {
    const KIND: &'static str = "counting.panics";
    const MAX_ATTEMPTS: i32 = 1;

    async fn run(&self, _work: &mut Work<'_>) -> Result<Step> {
        panic!("on purpose")
    }
}

/// Waits for a remote system, which reports how long to wait.
#[derive(Debug, Serialize, Deserialize)]
struct Sends {}

impl Job for Sends {
    const KIND: &'static str = "counting.sends";
    const QUEUE: Queue = Queue::Network;

    fn backoff(attempt: i32, _error: &Error) -> Duration {
        Duration::hours(i64::from(attempt))
    }

    async fn run(&self, _work: &mut Work<'_>) -> Result<Step> {
        Err(Error::internal("the remote system is busy"))
    }
}

fn tenant(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

async fn order<J: Job>(app: &TestApp, order: NewJob<J>) -> Uuid {
    let call = Call::internal(app.runtime());
    let scope = Scope::tenant(order.tenant);
    let mut connection = app.runtime().database.unlogged(&scope).await.expect("a connection");
    enqueue(&mut connection, &call, &order).await.expect("enqueued")
}

fn count(to: i64) -> Count {
    Count { to, dies_at: None }
}

async fn steps(app: &TestApp, number: u128) -> usize {
    let sql = format!(
        "select 1 as step from core_event_streams where tenant_id = '{}'",
        tenant(number)
    );
    app.rows(&sql).await.len()
}

async fn states(app: &TestApp) -> Vec<Value> {
    app.rows("select state, attempt, cursor from core_jobs order by created_at, id")
        .await
}

#[actix_web::test]
async fn a_job_runs_step_by_step_to_its_end() {
    let app = TestApp::new(&[&MODULE]).await;
    order(&app, NewJob::of_system(tenant(1), count(3))).await;

    let attempts = app.run_jobs().await;

    assert_eq!((attempts, steps(&app, 1).await), (1, 3));
    assert_eq!(
        states(&app).await,
        [json!({"state": "done", "attempt": 0, "cursor": 3})]
    );
}

#[actix_web::test]
async fn a_step_that_was_not_committed_is_repeated_and_the_others_are_not() {
    let app = TestApp::new(&[&MODULE]).await;
    let dies = Count {
        to: 4,
        dies_at: Some(2),
    };
    order(&app, NewJob::of_system(tenant(1), dies)).await;

    app.run_jobs().await;
    assert_eq!(steps(&app, 1).await, 2, "the third step was rolled back");
    app.advance(Duration::seconds(3));
    app.run_jobs().await;

    assert_eq!(steps(&app, 1).await, 4);
}

#[actix_web::test]
async fn a_failing_job_waits_longer_each_time_and_is_given_up_after_eight_attempts() {
    let app = TestApp::new(&[&MODULE]).await;
    order(&app, NewJob::of_system(tenant(1), Fails {})).await;

    let mut waits = Vec::new();
    for _ in 0..8 {
        assert_eq!(app.run_jobs().await, 1);
        let wait = "select extract(epoch from run_at - updated_at)::float8 as wait, state from core_jobs";
        waits.push(app.rows(wait).await.remove(0));
        app.advance(Duration::minutes(20));
    }

    for (attempt, wait) in waits.iter().enumerate().take(7) {
        let base = 2.0 * 2_f64.powi(i32::try_from(attempt).expect("small"));
        let wait = wait["wait"].as_f64().expect("seconds");
        assert!((0.8 * base..=1.2 * base).contains(&wait), "{attempt}: {wait}");
    }
    assert_eq!(waits[7]["state"], "dead");
    assert_eq!(app.run_jobs().await, 0);
    let error = app.rows("select last_error from core_jobs").await;
    assert!(
        error[0]["last_error"]
            .as_str()
            .is_some_and(|text| text.contains("it never works")),
        "{error:?}"
    );
}

#[actix_web::test]
async fn a_panic_of_a_job_is_its_failure_alone() {
    let app = TestApp::new(&[&MODULE]).await;
    order(&app, NewJob::of_system(tenant(1), Panics {})).await;
    order(&app, NewJob::of_system(tenant(2), count(1))).await;

    app.run_jobs().await;

    let states: Vec<Value> = states(&app).await.into_iter().map(|row| row["state"].clone()).collect();
    assert_eq!(states, ["dead", "done"]);
}

#[actix_web::test]
async fn a_job_whose_payload_cannot_be_read_ends_dead_and_others_run() {
    let app = TestApp::new(&[&MODULE]).await;
    for _ in 0..4 {
        order(&app, NewJob::of_system(tenant(1), count(1))).await;
    }
    // Deeper than the parser reads. As many as a tenant may have running at once, and more.
    let deep = "[".repeat(200) + &"]".repeat(200);
    let sql = format!("update core_jobs set payload = '{deep}'");
    assert_eq!(app.sql(&sql).await, 4);
    order(&app, NewJob::of_system(tenant(1), count(1))).await;

    assert_eq!(app.run_jobs().await, 5);
    assert_eq!(steps(&app, 1).await, 1);
    for _ in 0..7 {
        app.advance(Duration::minutes(20));
        assert_eq!(app.run_jobs().await, 4);
    }
    app.advance(Duration::minutes(20));
    assert_eq!(app.run_jobs().await, 0);

    let rows = app.rows("select state, attempt, last_error from core_jobs").await;
    let (dead, others): (Vec<&Value>, Vec<&Value>) = rows.iter().partition(|row| row["state"] == "dead");
    assert_eq!((dead.len(), others.len()), (4, 1), "{rows:?}");
    for job in dead {
        let error = job["last_error"].as_str().unwrap_or_default();
        assert!(
            job["attempt"] == 8 && error.contains("could not read the payload"),
            "{job}"
        );
    }
}

#[actix_web::test]
async fn tenants_take_turns() {
    let app = TestApp::new(&[&MODULE]).await;
    for _ in 0..3 {
        order(&app, NewJob::of_system(tenant(1), count(1))).await;
    }
    app.advance(Duration::seconds(1));
    order(&app, NewJob::of_system(tenant(2), count(1))).await;
    let worker = Worker::new(app.runtime().clone());

    for _ in 0..2 {
        assert!(worker.run_one(None).await.expect("the queue"));
        app.advance(Duration::seconds(1));
    }

    assert_eq!((steps(&app, 1).await, steps(&app, 2).await), (1, 1));
}

#[actix_web::test]
async fn workers_of_a_queue_leave_the_jobs_of_the_other_one() {
    let app = TestApp::new(&[&MODULE]).await;
    let worker = |queue| Worker::new(app.runtime().clone()).of(queue);
    order(&app, NewJob::of_system(tenant(1), Sends {})).await;

    assert!(!worker(Queue::Default).run_one(None).await.expect("the queue"));
    order(&app, NewJob::of_system(tenant(1), count(1))).await;
    assert!(worker(Queue::Network).run_one(None).await.expect("the queue"));
    assert!(!worker(Queue::Network).run_one(None).await.expect("the queue"));
    assert!(worker(Queue::Default).run_one(None).await.expect("the queue"));

    assert_eq!(steps(&app, 1).await, 1);
}

#[actix_web::test]
async fn jobs_of_one_queue_take_neither_room_nor_turns_in_the_other() {
    let app = TestApp::new(&[&MODULE]).await;
    for _ in 0..4 {
        order(&app, NewJob::of_system(tenant(1), Sends {})).await;
    }
    let running = "update core_jobs set state = 'running', attempt = 1, lease_owner = id, lease_until = '2099-01-01'";
    assert_eq!(app.sql(running).await, 4);
    order(&app, NewJob::of_system(tenant(1), Sends {})).await;
    order(&app, NewJob::of_system(tenant(1), count(1))).await;
    let worker = |queue| Worker::new(app.runtime().clone()).of(queue);
    assert!(
        !worker(Queue::Network).run_one(None).await.expect("the queue"),
        "no room"
    );
    assert!(worker(Queue::Default).run_one(None).await.expect("the queue"));

    let turns = "select last_claim_at > to_timestamp(0) as own, last_network_claim_at > to_timestamp(0) as network from core_job_tenants";
    assert_eq!(app.rows(turns).await, [json!({"own": true, "network": false})]);
}

#[actix_web::test]
async fn a_kind_of_job_has_waits_of_its_own() {
    let app = TestApp::new(&[&MODULE]).await;
    order(&app, NewJob::of_system(tenant(1), Sends {})).await;

    for attempt in 1..=3 {
        assert_eq!(app.run_jobs().await, 1);
        let wait = "select extract(epoch from run_at - updated_at)::float8 as wait from core_jobs";
        let wait = app.rows(wait).await[0]["wait"].as_f64().expect("seconds");
        let base = 3600.0 * f64::from(attempt);
        assert!((0.8 * base..=1.2 * base).contains(&wait), "{attempt}: {wait}");
        app.advance(Duration::hours(6));
    }
}

#[actix_web::test]
async fn one_open_job_for_a_dedupe_key() {
    let app = TestApp::new(&[&MODULE]).await;

    let first = order(&app, NewJob::of_system(tenant(1), count(1)).deduplicated("key")).await;
    let second = order(&app, NewJob::of_system(tenant(1), count(1)).deduplicated("key")).await;
    let other = order(&app, NewJob::of_system(tenant(2), count(1)).deduplicated("key")).await;
    app.run_jobs().await;
    let after = order(&app, NewJob::of_system(tenant(1), count(1)).deduplicated("key")).await;

    assert_eq!(first, second);
    assert_ne!(first, other);
    assert_ne!(first, after);
}

#[actix_web::test]
async fn job_4_twenty_open_orders_with_one_key_are_one_job() {
    let app = TestApp::builder(&[&MODULE]).pool_size(24).build().await;
    let keyed = || NewJob::of_system(tenant(1), count(1)).deduplicated("key");
    let database = &app.runtime().database;
    let mut first = database
        .transaction(&Scope::tenant(tenant(1)))
        .await
        .expect("a transaction");
    let call = Call::internal(app.runtime());
    let id = enqueue(first.connection(), &call, &keyed()).await.expect("enqueued");

    let others = join_all((0..20).map(|_| order(&app, keyed())));
    let commit = async {
        let waiting =
            "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        while app.rows(waiting).await.len() < 20 {
            sleep(std::time::Duration::from_millis(5)).await;
        }
        first.commit().await.expect("committed");
    };
    let (ids, ()) = tokio::join!(others, commit);

    assert!(ids.iter().all(|one| *one == id), "{id}: {ids:?}");
    assert_eq!(states(&app).await.len(), 1);
}

#[actix_web::test]
async fn two_workers_never_hold_one_job() {
    let app = TestApp::builder(&[&MODULE]).pool_size(16).build().await;
    for _ in 0..20 {
        order(&app, NewJob::of_system(tenant(1), count(1))).await;
    }

    let workers = (0..8).map(|_| async {
        let worker = Worker::new(app.runtime().clone());
        let mut jobs = 0;
        while jobs < 20 && worker.run_one(None).await.expect("the queue") {
            jobs += 1;
        }
        jobs
    });
    let runs: usize = join_all(workers).await.into_iter().sum();
    let rest = app.run_jobs().await;

    assert_eq!((runs + rest, steps(&app, 1).await), (20, 20));
}

#[actix_web::test]
async fn a_worker_that_lost_its_lease_commits_nothing() {
    let app = TestApp::new(&[&MODULE]).await;
    order(&app, NewJob::of_system(tenant(1), Stolen {})).await;

    app.run_jobs().await;

    assert_eq!(steps(&app, 1).await, 0);
    assert_eq!(
        states(&app).await,
        [json!({"state": "running", "attempt": 1, "cursor": 0})]
    );
}

#[actix_web::test]
async fn a_scheduled_job_is_enqueued_once_by_all_nodes_whenever_it_is_due() {
    let app = TestApp::builder(&[&MODULE]).build().await;
    let counts = app
        .platform()
        .provided()
        .get::<Counts>()
        .expect("the module provides it");
    let look = async || {
        let call = Call::internal(app.runtime());
        let looks = join_all((0..4).map(|_| enqueue_due(&call))).await;
        let due: usize = looks.into_iter().map(|due| due.expect("read")).sum();
        due
    };

    assert_eq!(look().await, 0, "the first time is one interval later");
    app.advance(Duration::days(1) - Duration::SECOND);
    assert_eq!(look().await, 0);
    app.advance(Duration::SECOND * 2);
    assert_eq!(look().await, 1);
    assert_eq!(look().await, 0);
    assert_eq!((app.run_jobs().await, counts.days.load(Ordering::SeqCst)), (1, 1));

    app.advance(Duration::days(3));
    assert_eq!(look().await, 1, "missed times are not made up");
    app.advance(Duration::days(1));
    assert_eq!(look().await, 1);
    assert_eq!(
        app.rows("select 1 as one from core_jobs where state = 'queued'")
            .await
            .len(),
        1,
        "the open one counts"
    );
    assert_eq!((app.run_jobs().await, counts.days.load(Ordering::SeqCst)), (1, 2));
}

#[actix_web::test]
async fn a_clock_that_was_ahead_stops_no_schedule() {
    let app = TestApp::builder(&[&MODULE]).build().await;
    let present = app.now();
    let look = async || enqueue_due(&Call::internal(app.runtime())).await.expect("read");
    assert_eq!(look().await, 0);
    app.advance(Duration::days(400));
    assert_eq!(look().await, 1);

    // As far as the clocks of two nodes may differ, a time is taken for right.
    app.advance(-Duration::minutes(9));
    assert_eq!(look().await, 0);
    app.clock().set(present.after(Duration::SECOND));

    assert_eq!(look().await, 1);
    assert_eq!(look().await, 0, "its next time is one interval later");
}
