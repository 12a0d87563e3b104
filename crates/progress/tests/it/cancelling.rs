//! Stopping jobs, and doing what they left.

use std::pin::pin;

use backoffice_core::Scope;
use backoffice_core::jobs::Worker;
use diesel::sql_query;
use diesel_async::RunQueryDsl;
use serde_json::{Value, json};
use tokio::time::timeout;
use uuid::Uuid;

use crate::people::Mood;
use crate::recovery::MOMENT;
use crate::world::{World, builder, id_of};

const ACTIONS: &str = "/audit_logs/audit-logs/actions";

fn stopped(status: &str) -> (u16, Value) {
    (200, json!({"ok": true, "status": status}))
}

fn refused(text: &str, code: &str) -> (u16, Value) {
    (409, json!({"error": text, "code": code}))
}

#[actix_web::test]
async fn job_9_a_running_job_stops_within_one_chunk_and_a_retry_does_exactly_the_rest() {
    let world = World::new().await;
    let ids = world.things(250, &[(10, "third")]).await;
    let job = world.start(&ids, 7).await;
    world.step().await;
    world.step().await;
    world.people().become_(Mood::Waits);
    let worker = Worker::new(world.app.runtime().clone());
    let mut running = pin!(worker.run_one(None));
    assert!(
        timeout(MOMENT, &mut running).await.is_err(),
        "it is about to begin the next chunk"
    );

    assert_eq!(world.cancel("anna", job).await, stopped("running"));
    assert_eq!(world.cancel("anna", job).await, stopped("running"), "again");
    assert!(world.job("anna", job).await["cancelRequestedAt"].is_string());
    world.people().become_(Mood::Answers);
    assert!(running.await.expect("the queue"));

    assert_eq!(
        world.counts(job).await,
        (json!("cancelled"), json!([250, 100, 99, 0, 1]))
    );
    let items = world.items(job).await;
    assert!(items[100..].iter().all(|item| item["state"] == "pending"));
    let entries = world.entries().await;
    assert_eq!(entries.len(), 99);
    assert!(entries.iter().all(|entry| entry["undo_secret"].is_string()));
    assert_eq!(world.cancel("anna", job).await, stopped("cancelled"), "still no error");

    let undone = entries[0]["resource_id"].clone();
    let log = format!(
        "{ACTIONS}?resourceKind=sample.thing&resourceId={}",
        undone.as_str().expect("an id")
    );
    let (_, log) = world.app.get("anna", &log).await;
    let token = json!({"undoToken": log["items"][0]["undoToken"]});
    let (status, body) = world.app.post("anna", &format!("{ACTIONS}/undo"), token).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(world.numbers(&ids[..2]).await, [0, 7]);
    let again = world
        .app
        .put("anna", "/sample/things", json!({"id": undone, "number": 7}))
        .await;
    assert_eq!(again.0, 200);

    world.app.sql("update sample_things set name = 'thing'").await;
    let (status, answer) = world.retry("anna", job).await;
    assert_eq!((status, &answer["totalCount"]), (201, &json!(151)), "{answer}");
    assert_eq!(answer["message"], "151 things will be numbered");
    world.app.run_jobs().await;

    let again = id_of(&answer["progressJobId"]);
    assert_eq!(
        world.counts(again).await,
        (json!("completed"), json!([151, 151, 151, 0, 0]))
    );
    assert_eq!(world.numbers(&ids).await, vec![7; 250]);
    assert_eq!(world.entries().await.len(), 252, "an undo and an edit in between");
    assert_eq!(world.counts(job).await.0, "cancelled", "the old one stays as it was");
}

#[actix_web::test]
async fn job_9_a_job_that_waits_is_cancelled_at_once() {
    let world = World::new().await;
    let ids = world.things(3, &[]).await;
    let job = world.start(&ids, 7).await;

    assert_eq!(world.cancel("anna", job).await, stopped("cancelled"));

    let shown = world.job("anna", job).await;
    assert_eq!(
        (&shown["status"], &shown["processedCount"]),
        (&json!("cancelled"), &json!(0))
    );
    assert!(shown["finishedAt"].is_string(), "{shown}");
    assert_eq!(world.app.run_jobs().await, 0);
    assert_eq!(world.numbers(&ids).await, [0, 0, 0]);
    let sql = "select name, audience_id from core_outbox_events where name = 'progress.job.cancelled'";
    let told = world.app.rows(sql).await;
    let anna = crate::people::person("anna");
    assert_eq!(told, [json!({"name": "progress.job.cancelled", "audience_id": anna})]);
}

#[actix_web::test]
async fn job_9_a_job_that_a_worker_has_just_taken_is_cancelled_at_once() {
    let world = World::new().await;
    let ids = world.things(3, &[]).await;
    let job = world.start(&ids, 7).await;
    world.people().become_(Mood::Waits);
    let worker = Worker::new(world.app.runtime().clone());
    let mut running = pin!(worker.run_one(None));
    assert!(timeout(MOMENT, &mut running).await.is_err(), "it has the job");

    assert_eq!(world.cancel("anna", job).await, stopped("cancelled"));

    assert!(world.job("anna", job).await["finishedAt"].is_string());
    world.people().become_(Mood::Answers);
    assert!(running.await.expect("the queue"));
    assert_eq!(world.numbers(&ids).await, [0, 0, 0]);
    let left = world.app.rows("select state, lease_owner from core_jobs").await;
    assert_eq!(left, [json!({"state": "cancelled", "lease_owner": null})]);
    assert_eq!(world.counts(job).await, (json!("cancelled"), json!([3, 0, 0, 0, 0])));
}

#[actix_web::test]
async fn job_9_a_pending_job_is_cancelled_at_once_while_somebody_holds_its_row_of_the_queue() {
    let world = World::of(builder().pool_size(8)).await;
    let ids = world.things(3, &[]).await;
    let job = world.start(&ids, 7).await;
    let database = &world.app.runtime().database;
    let mut claiming = database
        .transaction(&Scope::tenant(world.a.0))
        .await
        .expect("a transaction");
    let locked = sql_query("select id from core_jobs for update");
    locked.execute(&mut **claiming.connection()).await.expect("locked");

    assert_eq!(world.cancel("anna", job).await, stopped("cancelled"));

    assert!(world.job("anna", job).await["finishedAt"].is_string());
    drop(claiming);
    world.app.run_jobs().await;
    assert_eq!(world.numbers(&ids).await, [0, 0, 0]);
    assert_eq!(world.counts(job).await, (json!("cancelled"), json!([3, 0, 0, 0, 0])));
    let left = world.app.rows("select state from core_jobs").await;
    assert_eq!(left, [json!({"state": "done"})], "its worker has found nothing to do");
    let told = "select name from core_outbox_events where name like 'progress.job.%' order by seq";
    assert_eq!(
        world.app.rows(told).await.last(),
        Some(&json!({"name": "progress.job.cancelled"}))
    );
}

#[actix_web::test]
async fn job_9_a_worker_that_is_about_to_begin_leaves_a_job_alone_that_is_cancelled_meanwhile() {
    let world = World::of(builder().pool_size(8)).await;
    let ids = world.things(3, &[]).await;
    let job = world.start(&ids, 7).await;
    let database = &world.app.runtime().database;
    let mut cancelling = database
        .transaction(&Scope::tenant(world.a.0))
        .await
        .expect("a transaction");
    let locked = sql_query("select id from progress_jobs for update");
    locked.execute(&mut **cancelling.connection()).await.expect("locked");
    let worker = Worker::new(world.app.runtime().clone());
    let mut running = pin!(worker.run_one(None));
    assert!(timeout(MOMENT, &mut running).await.is_err(), "it waits for the row");

    let cancelled = sql_query("update progress_jobs set status = 'cancelled', finished_at = now()");
    cancelled
        .execute(&mut **cancelling.connection())
        .await
        .expect("cancelled");
    cancelling.commit().await.expect("committed");

    assert!(running.await.expect("the queue"));
    assert_eq!(world.numbers(&ids).await, [0, 0, 0]);
    assert_eq!(world.counts(job).await, (json!("cancelled"), json!([3, 0, 0, 0, 0])));
}

#[actix_web::test]
async fn a_chunk_that_waits_for_somebody_does_not_hold_up_whoever_cancels() {
    let world = World::of(builder().pool_size(8)).await;
    let ids = world.things(150, &[]).await;
    let job = world.start(&ids, 7).await;
    world.step().await;
    let database = &world.app.runtime().database;
    let mut other = database
        .transaction(&Scope::tenant(world.a.0))
        .await
        .expect("a transaction");
    let locked = sql_query("select id from sample_things for update");
    locked.execute(&mut **other.connection()).await.expect("locked");
    let worker = Worker::new(world.app.runtime().clone());
    let mut running = pin!(worker.run_one(None));
    assert!(timeout(MOMENT, &mut running).await.is_err(), "its chunk waits");

    let answer = timeout(4 * MOMENT, world.cancel("anna", job)).await;

    assert_eq!(answer.expect("an answer while the chunk waits"), stopped("running"));
    drop(other);
    assert!(running.await.expect("the queue"));
    assert_eq!(
        world.counts(job).await,
        (json!("cancelled"), json!([150, 100, 100, 0, 0])),
        "after the chunk that was under way"
    );
}

#[actix_web::test]
async fn a_job_that_waits_for_another_attempt_is_cancelled_at_once() {
    let world = World::new().await;
    let ids = world.things(150, &[(120, "bomb")]).await;
    let job = world.start(&ids, 7).await;
    world.app.run_jobs().await;
    assert_eq!(
        world.counts(job).await,
        (json!("running"), json!([150, 100, 100, 0, 0]))
    );

    assert_eq!(world.cancel("anna", job).await, stopped("cancelled"));

    world.run_with_repeats().await;
    assert_eq!(
        world.counts(job).await,
        (json!("cancelled"), json!([150, 100, 100, 0, 0]))
    );
    assert!(world.job("anna", job).await["finishedAt"].is_string());
}

#[actix_web::test]
async fn job_9_a_finished_job_is_not_cancelled() {
    let world = World::new().await;
    let ids = world.things(2, &[]).await;
    let job = world.start(&ids, 7).await;
    world.app.run_jobs().await;

    let answer = world.cancel("anna", job).await;

    assert_eq!(answer, refused("The job has already finished", "already_finished"));
}

#[actix_web::test]
async fn a_job_that_can_not_be_stopped_says_so() {
    let world = World::new().await;
    let ids = world.things(1, &[]).await;
    let job = world.start(&ids, 7).await;
    world.app.sql("update progress_jobs set cancellable = false").await;

    assert_eq!(
        world.cancel("anna", job).await,
        refused("The job cannot be cancelled", "not_cancellable")
    );
}

#[actix_web::test]
async fn others_cancel_with_the_right_to_manage_alone_and_nobody_else_retries() {
    let world = World::new().await;
    let ids = world.things(2, &[]).await;
    let job = world.start(&ids, 7).await;
    world.people().set("adam", world.a.0, &["progress.view_tenant"], None);
    let not_owner = (403, json!({"error": "Only its owner can do this"}));

    assert_eq!(world.cancel("adam", job).await, not_owner);
    assert_eq!(world.cancel("plain", job).await, (404, json!({"error": "Not found"})));
    assert_eq!(world.cancel("boss", job).await, stopped("cancelled"));
    let by = world.app.rows("select cancelled_by from progress_jobs").await;
    assert_eq!(by[0]["cancelled_by"], json!(crate::people::person("boss")));

    assert_eq!(world.retry("boss", job).await, not_owner);
    assert_eq!(world.retry("plain", job).await, (404, json!({"error": "Not found"})));
    assert_eq!(world.retry("", job).await.0, 401);
    assert_eq!(world.cancel("", job).await.0, 401);
}

#[actix_web::test]
async fn a_retry_takes_a_finished_job_that_left_something_and_checks_the_rights_anew() {
    let world = World::new().await;
    let ids = world.things(2, &[(0, "third")]).await;
    let failing = world.start(&ids, 7).await;
    assert_eq!(
        world.retry("anna", failing).await,
        refused("The job has not finished yet", "not_finished")
    );
    world.app.run_jobs().await;
    let fine = world.start(&ids[1..], 8).await;
    world.app.run_jobs().await;

    let nothing = refused("The job has nothing to retry", "nothing_to_retry");
    assert_eq!(world.retry("anna", fine).await, nothing);
    let (status, answer) = world.retry("anna", failing).await;
    assert_eq!((status, &answer["totalCount"]), (201, &json!(1)), "{answer}");
    world.people().set("anna", world.a.0, &[], None);
    let (status, answer) = world.retry("anna", failing).await;
    assert_eq!(
        (status, &answer["requiredFeatures"]),
        (403, &json!(["sample.thing.manage"]))
    );
}

#[actix_web::test]
async fn a_malformed_id_is_no_job() {
    let world = World::new().await;

    for id in ["x".to_owned(), Uuid::from_u128(9).to_string()] {
        let path = |rest: &str| format!("{}/{id}{rest}", crate::world::JOBS);
        let missing = (404, json!({"error": "Not found"}));
        assert_eq!(world.app.get("anna", &path("")).await, missing);
        assert_eq!(world.app.get("anna", &path("/items")).await, missing);
        assert_eq!(world.app.post("anna", &path("/cancel"), Value::Null).await, missing);
        assert_eq!(world.app.post("anna", &path("/retry"), Value::Null).await, missing);
    }
}
