//! Failed attempts of jobs: what counts as one, the delay after it, and the size of chunks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use backoffice_core::jobs::{Job, NewJob, Step, Work, Worker, enqueue, stop_signal};
use backoffice_core::registry::Registry;
use backoffice_core::{Call, Error, Module, Result, Scope};
use backoffice_test_support::{Duration, TestApp};
use diesel::sql_query;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::sample::SAMPLE;

static MODULE: Module = Module {
    name: "attempts",
    register,
    start: |startup| {
        startup.provide(Arc::new(Seen::default()));
        Ok(())
    },
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry
        .job::<Errs>()
        .job::<Stumbles>()
        .job::<Slow>()
        .job::<Holds>()
        .job::<Two>()
        .job::<Busy>();
}

const TENANT: Uuid = Uuid::from_u128(1);

/// What the jobs of a platform have seen.
#[derive(Debug, Default)]
struct Seen {
    /// The messages of [`Errs`], one for each run.
    messages: Mutex<Vec<String>>,
    /// The chunk sizes of [`Slow`] and [`Busy`], one for each run.
    chunks: Mutex<Vec<usize>>,
}

impl Seen {
    fn by(app: &TestApp) -> Arc<Self> {
        app.platform().provided().get().expect("the module provides it")
    }

    fn runs(&self, message: &str) -> usize {
        let messages = self.messages.lock().expect("no panic");
        messages.iter().filter(|one| *one == message).count()
    }
}

/// Its statement fails with this SQLSTATE and message, a number of times.
#[derive(Debug, Serialize, Deserialize)]
struct Errs {
    sqlstate: String,
    message: String,
    times: usize,
}

impl Job for Errs {
    const KIND: &'static str = "attempts.errs";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let tenant = work.tenant();
        let seen = work.call().provided::<Seen>()?;
        let mut chunk = work.begin(&Scope::tenant(tenant)).await?;
        let before = seen.runs(&self.message);
        seen.messages.lock().expect("no panic").push(self.message.clone());
        if before < self.times {
            let Self { sqlstate, message, .. } = self;
            let sql = format!("do $$ begin raise exception '{message}' using errcode = '{sqlstate}'; end $$");
            diesel_async::RunQueryDsl::execute(sql_query(sql), chunk.connection()).await?;
        }
        chunk.finish().await?;
        Ok(Step::Done)
    }
}

/// Completes one step, then fails.
#[derive(Debug, Serialize, Deserialize)]
struct Stumbles {}

impl Job for Stumbles {
    const KIND: &'static str = "attempts.stumbles";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        if work.cursor() == 1 {
            return Err(Error::internal("here it ends"));
        }
        let tenant = work.tenant();
        work.begin(&Scope::tenant(tenant)).await?.advance(1).await?;
        Ok(Step::More)
    }
}

/// Its first chunk takes longer than a chunk may.
#[derive(Debug, Serialize, Deserialize)]
struct Slow {}

impl Job for Slow {
    const KIND: &'static str = "attempts.slow";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (context, cursor) = (work.context().clone(), work.cursor());
        note_chunk(work)?;
        let chunk = work.begin_commands(&context).await?;
        if cursor == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(2050)).await;
        }
        chunk.advance(cursor + 1).await?;
        Ok(Step::More)
    }
}

/// The time for which a job occupies its worker.
const HELD: std::time::Duration = std::time::Duration::from_millis(100);

/// Takes a while.
#[derive(Debug, Serialize, Deserialize)]
struct Holds {}

impl Job for Holds {
    const KIND: &'static str = "attempts.holds";

    async fn run(&self, _work: &mut Work<'_>) -> Result<Step> {
        tokio::time::sleep(HELD).await;
        Ok(Step::Done)
    }
}

/// A job of two steps.
#[derive(Debug, Serialize, Deserialize)]
struct Two {}

impl Job for Two {
    const KIND: &'static str = "attempts.two";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (tenant, cursor) = (work.tenant(), work.cursor());
        if cursor == 2 {
            return Ok(Step::Done);
        }
        work.begin(&Scope::tenant(tenant)).await?.advance(cursor + 1).await?;
        Ok(Step::More)
    }
}

/// Records the chunk size of each run; never ends.
#[derive(Debug, Serialize, Deserialize)]
struct Busy {}

impl Job for Busy {
    const KIND: &'static str = "attempts.busy";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (context, cursor) = (work.context().clone(), work.cursor());
        note_chunk(work)?;
        work.begin_commands(&context).await?.advance(cursor + 1).await?;
        Ok(Step::More)
    }
}

async fn order<J: Job>(app: &TestApp, job: J) -> Uuid {
    let call = Call::internal(app.runtime());
    let database = &app.runtime().database;
    let mut connection = database.unlogged(&Scope::tenant(TENANT)).await.expect("a connection");
    let order = NewJob::of_system(TENANT, job);
    enqueue(&mut connection, &call, &order).await.expect("enqueued")
}

fn errs(sqlstate: &str, message: &str, times: usize) -> Errs {
    Errs {
        sqlstate: sqlstate.to_owned(),
        message: message.to_owned(),
        times,
    }
}

fn note_chunk(work: &Work<'_>) -> Result<()> {
    let seen = work.call().provided::<Seen>()?;
    seen.chunks.lock().expect("no panic").push(work.chunk_items());
    Ok(())
}

async fn run_one(app: &TestApp) {
    let worker = Worker::new(app.runtime().clone());
    assert!(worker.run_one(None).await.expect("the queue"), "a job waits");
}

/// Returns state, attempt, and the delay in seconds.
async fn state(app: &TestApp) -> (Value, Value, f64) {
    let sql = "select state, attempt, extract(epoch from run_at - updated_at)::float8 as wait from core_jobs";
    let row = app.rows(sql).await.remove(0);
    let wait = row["wait"].as_f64().expect("seconds");
    (row["state"].clone(), row["attempt"].clone(), wait)
}

#[actix_web::test]
async fn a_step_that_collides_is_repeated_at_once() {
    for (sqlstate, message) in [("40P01", "deadlock detected"), ("40001", "could not serialize access")] {
        let app = TestApp::new(&[&MODULE]).await;
        order(&app, errs(sqlstate, message, 3)).await;

        run_one(&app).await;

        let (state, attempt, _) = state(&app).await;
        assert_eq!((state, attempt), (json!("done"), json!(1)), "{sqlstate}");
        assert_eq!(Seen::by(&app).runs(message), 4);
    }
}

#[actix_web::test]
async fn a_step_that_collides_four_times_is_one_failed_attempt() {
    let app = TestApp::new(&[&MODULE]).await;
    let message = "could not serialize access due to concurrent update";
    order(&app, errs("40001", message, 9)).await;

    run_one(&app).await;

    assert_eq!(Seen::by(&app).runs(message), 4);
    let (state, attempt, wait) = state(&app).await;
    assert_eq!((state, attempt), (json!("queued"), json!(1)));
    assert!(wait >= 1.6, "{wait}");
}

#[actix_web::test]
async fn a_statement_that_waits_too_long_is_a_failed_attempt() {
    let app = TestApp::new(&[&MODULE]).await;
    order(&app, errs("55P03", "canceling statement due to lock timeout", 99)).await;

    run_one(&app).await;

    let (state, attempt, wait) = state(&app).await;
    assert_eq!((state, attempt), (json!("queued"), json!(1)));
    assert!((1.6..=2.4).contains(&wait), "{wait}");
}

#[actix_web::test]
async fn eight_attempts_behind_a_moved_cursor_are_eight() {
    let app = TestApp::new(&[&MODULE]).await;
    order(&app, Stumbles {}).await;

    let mut waits = Vec::new();
    while state(&app).await.0 == "queued" {
        run_one(&app).await;
        waits.push(state(&app).await.2);
        app.advance(Duration::minutes(20));
    }

    assert_eq!((waits.len(), state(&app).await.0), (8, json!("dead")));
    assert!((1.6..=2.4).contains(&waits[0]), "{waits:?}");
    assert!((3.2..=4.8).contains(&waits[1]), "{waits:?}");
}

#[actix_web::test]
async fn a_slow_job_does_less_at_once_in_its_next_turn_too() {
    let app = TestApp::new(&[&MODULE]).await;
    order(&app, Slow {}).await;
    let (sender, stop) = stop_signal();
    sender.send_replace(true);

    for _ in 0..3 {
        let worker = Worker::new(app.runtime().clone());
        assert!(worker.run_one(Some(&stop)).await.expect("the queue"));
    }

    assert_eq!(
        *Seen::by(&app).chunks.lock().expect("no panic"),
        [100, 50, 100],
        "the second one was quick"
    );
}

#[actix_web::test]
async fn a_job_that_yielded_is_still_the_first_of_its_tenant() {
    let app = TestApp::new(&[&MODULE]).await;
    let first = order(&app, Two {}).await;
    app.advance(Duration::seconds(1));
    order(&app, Two {}).await;
    let (sender, stop) = stop_signal();
    sender.send_replace(true);

    for _ in 0..2 {
        app.advance(Duration::seconds(1));
        let worker = Worker::new(app.runtime().clone());
        assert!(worker.run_one(Some(&stop)).await.expect("the queue"));
    }

    let rows = app
        .rows("select id, cursor, attempt from core_jobs order by created_at")
        .await;
    assert_eq!(rows[0], json!({"id": first, "cursor": 2, "attempt": 0}), "{rows:?}");
}

#[actix_web::test]
async fn workers_that_claim_at_once_run_no_more_jobs_of_a_tenant_than_allowed() {
    const WORKERS: usize = 8;
    let app = TestApp::builder(&[&MODULE]).pool_size(2 * WORKERS).build().await;
    for _ in 0..4 * WORKERS {
        order(&app, Holds {}).await;
    }
    let (database, scope) = (&app.runtime().database, Scope::tenant(TENANT));
    // Connecting takes longer than claiming.
    drop(join_all((0..WORKERS).map(|_| database.unlogged(&scope))).await);
    // So that it is counted while others claim.
    app.sql(
        "insert into core_jobs (tenant_id, id, kind, payload, actor_kind, selection, priority, run_at, state, attempt, max_attempts, cursor,
             created_at, updated_at)
         select tenant_id, gen_random_uuid(), kind, payload, actor_kind, selection, priority, '2099-01-01', state, attempt, max_attempts, cursor,
             created_at, updated_at from core_jobs, generate_series(1, 200)",
    )
    .await;

    let is_over = AtomicBool::new(false);
    let workers = join_all((0..WORKERS).map(|_| async {
        let worker = Worker::new(app.runtime().clone());
        while !is_over.load(Ordering::SeqCst) {
            worker.run_one(None).await.expect("the queue");
        }
    }));
    let watch = async {
        let mut most = 0;
        for _ in 0..20 {
            tokio::time::sleep(HELD / 2).await;
            most = most.max(
                app.rows("select 1 as held from core_jobs where state = 'running'")
                    .await
                    .len(),
            );
        }
        is_over.store(true, Ordering::SeqCst);
        most
    };
    let (_, most) = tokio::join!(workers, watch);

    assert_eq!(most, 2);
}

#[actix_web::test]
async fn jobs_do_less_at_once_while_requests_arrive() {
    let app = TestApp::new(&[&MODULE, &SAMPLE]).await;
    order(&app, Busy {}).await;
    let requests = async |count: usize| {
        for _ in 0..count {
            assert_eq!(app.get("", "/sample/notes").await.0, 200);
        }
    };
    let (sender, stop) = stop_signal();
    sender.send_replace(true);
    let items = async |worker: Worker| {
        assert!(worker.run_one(Some(&stop)).await.expect("the queue"));
        Seen::by(&app).chunks.lock().expect("no panic").pop()
    };
    let worker = || Worker::new(app.runtime().clone());

    requests(4).await;
    assert_eq!(items(worker().throttling()).await, Some(100), "a few requests");
    requests(1).await;
    assert_eq!(items(worker().throttling()).await, Some(10), "five at once");
    assert_eq!(items(worker()).await, Some(100), "this one does not give way");
    app.advance(Duration::milliseconds(200));
    assert_eq!(items(worker().throttling()).await, Some(100), "it is over");
    for _ in 0..20 {
        requests(1).await;
        app.advance(Duration::milliseconds(100));
    }
    assert_eq!(items(worker().throttling()).await, Some(10), "ten a second");
}
