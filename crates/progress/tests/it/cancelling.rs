//! Cancelled jobs, and the retry of their remaining items.

use std::pin::pin;

use backoffice_core::Scope;
use backoffice_core::jobs::Worker;
use backoffice_test_support::UndoableWrite;
use diesel::sql_query;
use diesel_async::RunQueryDsl;
use serde_json::{Value, json};
use tokio::time::timeout;
use uuid::Uuid;

use crate::fixture::{Fixture, builder, id_of};
use crate::people::Mood;
use crate::recovery::MOMENT;

const ACTIONS: &str = "/audit_logs/audit-logs/actions";

fn stopped(status: &str) -> (u16, Value) {
    (200, json!({"ok": true, "status": status}))
}

fn rejected(text: &str, code: &str) -> (u16, Value) {
    (409, json!({"error": text, "code": code}))
}

#[actix_web::test]
async fn job_9_a_running_job_stops_within_one_chunk_and_a_retry_does_exactly_the_rest() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(250, &[(10, "third")]).await;
    let job = fixture.start(&ids, 7).await;
    fixture.step().await;
    fixture.step().await;
    fixture.people().become_(Mood::Waits);
    let worker = Worker::new(fixture.app.runtime().clone());
    let mut running = pin!(worker.run_one(None));
    assert!(
        timeout(MOMENT, &mut running).await.is_err(),
        "it is about to begin the next chunk"
    );

    assert_eq!(fixture.cancel("anna", job).await, stopped("running"));
    assert_eq!(fixture.cancel("anna", job).await, stopped("running"), "again");
    assert!(fixture.job("anna", job).await["cancelRequestedAt"].is_string());
    fixture.people().become_(Mood::Responds);
    assert!(running.await.expect("the queue"));

    assert_eq!(
        fixture.counts(job).await,
        (json!("cancelled"), json!([250, 100, 99, 0, 1]))
    );
    let items = fixture.items(job).await;
    assert!(items[100..].iter().all(|item| item["state"] == "pending"));
    let entries = fixture.entries().await;
    assert_eq!(entries.len(), 99);
    assert!(entries.iter().all(|entry| entry["undo_secret"].is_string()));
    assert_eq!(
        fixture.cancel("anna", job).await,
        stopped("cancelled"),
        "still no error"
    );

    let undone = entries[0]["resource_id"].clone();
    let log = format!(
        "{ACTIONS}?resourceKind=sample.thing&resourceId={}",
        undone.as_str().expect("an id")
    );
    let log = fixture.app.read("anna", &log).await;
    let last = UndoableWrite::from_entry(&log["items"][0]);
    let (status, body) = fixture.app.undo("anna", last).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.numbers(&ids[..2]).await, [0, 7]);
    let again = fixture
        .app
        .put("anna", "/sample/things", json!({"id": undone, "number": 7}))
        .await;
    assert_eq!(again.0, 200);

    fixture.app.sql("update sample_things set name = 'thing'").await;
    let (status, response) = fixture.retry("anna", job).await;
    assert_eq!((status, &response["totalCount"]), (201, &json!(151)), "{response}");
    assert_eq!(response["message"], "151 things will be numbered");
    fixture.app.run_jobs().await;

    let again = id_of(&response["progressJobId"]);
    assert_eq!(
        fixture.counts(again).await,
        (json!("completed"), json!([151, 151, 151, 0, 0]))
    );
    assert_eq!(fixture.numbers(&ids).await, vec![7; 250]);
    assert_eq!(fixture.entries().await.len(), 252, "an undo and an edit in between");
    assert_eq!(fixture.counts(job).await.0, "cancelled", "the old one stays as it was");
}

#[actix_web::test]
async fn job_9_a_job_that_waits_is_cancelled_at_once() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(3, &[]).await;
    let job = fixture.start(&ids, 7).await;

    assert_eq!(fixture.cancel("anna", job).await, stopped("cancelled"));

    let shown = fixture.job("anna", job).await;
    assert_eq!(
        (&shown["status"], &shown["processedCount"]),
        (&json!("cancelled"), &json!(0))
    );
    assert!(shown["finishedAt"].is_string(), "{shown}");
    assert_eq!(fixture.app.run_jobs().await, 0);
    assert_eq!(fixture.numbers(&ids).await, [0, 0, 0]);
    let sql = "select name, audience_id from core_outbox_events where name = 'progress.job.cancelled'";
    let reported = fixture.app.rows(sql).await;
    let anna = crate::people::person("anna");
    assert_eq!(
        reported,
        [json!({"name": "progress.job.cancelled", "audience_id": anna})]
    );
}

#[actix_web::test]
async fn job_9_a_job_that_a_worker_has_just_taken_is_cancelled_at_once() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(3, &[]).await;
    let job = fixture.start(&ids, 7).await;
    fixture.people().become_(Mood::Waits);
    let worker = Worker::new(fixture.app.runtime().clone());
    let mut running = pin!(worker.run_one(None));
    assert!(timeout(MOMENT, &mut running).await.is_err(), "it has the job");

    assert_eq!(fixture.cancel("anna", job).await, stopped("cancelled"));

    assert!(fixture.job("anna", job).await["finishedAt"].is_string());
    fixture.people().become_(Mood::Responds);
    assert!(running.await.expect("the queue"));
    assert_eq!(fixture.numbers(&ids).await, [0, 0, 0]);
    let left = fixture.app.rows("select state, lease_owner from core_jobs").await;
    assert_eq!(left, [json!({"state": "cancelled", "lease_owner": null})]);
    assert_eq!(fixture.counts(job).await, (json!("cancelled"), json!([3, 0, 0, 0, 0])));
}

#[actix_web::test]
async fn job_9_a_pending_job_is_cancelled_at_once_while_its_queue_row_is_locked() {
    let fixture = Fixture::of(builder().pool_size(8)).await;
    let ids = fixture.things(3, &[]).await;
    let job = fixture.start(&ids, 7).await;
    let database = &fixture.app.runtime().database;
    let mut claiming = database
        .transaction(&Scope::tenant(fixture.a.0))
        .await
        .expect("a transaction");
    let locked = sql_query("select id from core_jobs for update");
    locked.execute(&mut **claiming.connection()).await.expect("locked");

    assert_eq!(fixture.cancel("anna", job).await, stopped("cancelled"));

    assert!(fixture.job("anna", job).await["finishedAt"].is_string());
    drop(claiming);
    fixture.app.run_jobs().await;
    assert_eq!(fixture.numbers(&ids).await, [0, 0, 0]);
    assert_eq!(fixture.counts(job).await, (json!("cancelled"), json!([3, 0, 0, 0, 0])));
    let left = fixture.app.rows("select state from core_jobs").await;
    assert_eq!(left, [json!({"state": "done"})], "its worker has found nothing to do");
    let reported = "select name from core_outbox_events where name like 'progress.job.%' order by seq";
    assert_eq!(
        fixture.app.rows(reported).await.last(),
        Some(&json!({"name": "progress.job.cancelled"}))
    );
}

#[actix_web::test]
async fn job_9_a_worker_that_is_about_to_begin_leaves_a_job_alone_that_is_cancelled_meanwhile() {
    let fixture = Fixture::of(builder().pool_size(8)).await;
    let ids = fixture.things(3, &[]).await;
    let job = fixture.start(&ids, 7).await;
    let database = &fixture.app.runtime().database;
    let mut cancelling = database
        .transaction(&Scope::tenant(fixture.a.0))
        .await
        .expect("a transaction");
    let locked = sql_query("select id from progress_jobs for update");
    locked.execute(&mut **cancelling.connection()).await.expect("locked");
    let worker = Worker::new(fixture.app.runtime().clone());
    let mut running = pin!(worker.run_one(None));
    assert!(timeout(MOMENT, &mut running).await.is_err(), "it waits for the row");

    let cancelled = sql_query("update progress_jobs set status = 'cancelled', finished_at = now()");
    cancelled
        .execute(&mut **cancelling.connection())
        .await
        .expect("cancelled");
    cancelling.commit().await.expect("committed");

    assert!(running.await.expect("the queue"));
    assert_eq!(fixture.numbers(&ids).await, [0, 0, 0]);
    assert_eq!(fixture.counts(job).await, (json!("cancelled"), json!([3, 0, 0, 0, 0])));
}

#[actix_web::test]
async fn a_blocked_chunk_does_not_delay_a_cancellation() {
    let fixture = Fixture::of(builder().pool_size(8)).await;
    let ids = fixture.things(150, &[]).await;
    let job = fixture.start(&ids, 7).await;
    fixture.step().await;
    let database = &fixture.app.runtime().database;
    let mut other = database
        .transaction(&Scope::tenant(fixture.a.0))
        .await
        .expect("a transaction");
    let locked = sql_query("select id from sample_things for update");
    locked.execute(&mut **other.connection()).await.expect("locked");
    let worker = Worker::new(fixture.app.runtime().clone());
    let mut running = pin!(worker.run_one(None));
    assert!(timeout(MOMENT, &mut running).await.is_err(), "its chunk waits");

    let response = timeout(4 * MOMENT, fixture.cancel("anna", job)).await;

    assert_eq!(response.expect("a response while the chunk waits"), stopped("running"));
    drop(other);
    assert!(running.await.expect("the queue"));
    assert_eq!(
        fixture.counts(job).await,
        (json!("cancelled"), json!([150, 100, 100, 0, 0])),
        "after the chunk that was under way"
    );
}

#[actix_web::test]
async fn a_job_that_waits_for_another_attempt_is_cancelled_at_once() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(150, &[(120, "bomb")]).await;
    let job = fixture.start(&ids, 7).await;
    fixture.app.run_jobs().await;
    assert_eq!(
        fixture.counts(job).await,
        (json!("running"), json!([150, 100, 100, 0, 0]))
    );

    assert_eq!(fixture.cancel("anna", job).await, stopped("cancelled"));

    fixture.run_with_repeats().await;
    assert_eq!(
        fixture.counts(job).await,
        (json!("cancelled"), json!([150, 100, 100, 0, 0]))
    );
    assert!(fixture.job("anna", job).await["finishedAt"].is_string());
}

#[actix_web::test]
async fn job_9_a_finished_job_is_not_cancelled() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(2, &[]).await;
    let job = fixture.start(&ids, 7).await;
    fixture.app.run_jobs().await;

    let response = fixture.cancel("anna", job).await;

    assert_eq!(response, rejected("The job has already finished", "already_finished"));
}

#[actix_web::test]
async fn a_job_that_can_not_be_stopped_says_so() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(1, &[]).await;
    let job = fixture.start(&ids, 7).await;
    fixture.app.sql("update progress_jobs set cancellable = false").await;

    assert_eq!(
        fixture.cancel("anna", job).await,
        rejected("The job cannot be cancelled", "not_cancellable")
    );
}

#[actix_web::test]
async fn others_cancel_only_with_the_right_to_manage_and_only_the_requester_retries() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(2, &[]).await;
    let job = fixture.start(&ids, 7).await;
    fixture
        .people()
        .set("adam", fixture.a.0, &["progress.view_tenant"], None);
    let missing = json!({"error": "Forbidden", "requiredFeatures": ["progress.manage"]});
    let not_owner = (403, json!({"error": "Only its owner can do this"}));

    assert_eq!(fixture.cancel("adam", job).await, (403, missing));
    assert_eq!(fixture.cancel("plain", job).await, (404, json!({"error": "Not found"})));
    assert_eq!(fixture.cancel("boss", job).await, stopped("cancelled"));
    let by = fixture.app.rows("select cancelled_by from progress_jobs").await;
    assert_eq!(by[0]["cancelled_by"], json!(crate::people::person("boss")));

    assert_eq!(fixture.retry("boss", job).await, not_owner);
    assert_eq!(fixture.retry("plain", job).await, (404, json!({"error": "Not found"})));
    assert_eq!(fixture.retry("", job).await.0, 401);
    assert_eq!(fixture.cancel("", job).await.0, 401);
}

#[actix_web::test]
async fn a_retry_takes_a_finished_job_that_left_something_and_checks_the_rights_anew() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(2, &[(0, "third")]).await;
    let failing = fixture.start(&ids, 7).await;
    assert_eq!(
        fixture.retry("anna", failing).await,
        rejected("The job has not finished yet", "not_finished")
    );
    fixture.app.run_jobs().await;
    let fine = fixture.start(&ids[1..], 8).await;
    fixture.app.run_jobs().await;

    let nothing = rejected("The job has nothing to retry", "nothing_to_retry");
    assert_eq!(fixture.retry("anna", fine).await, nothing);
    let (status, response) = fixture.retry("anna", failing).await;
    assert_eq!((status, &response["totalCount"]), (201, &json!(1)), "{response}");
    fixture.people().set("anna", fixture.a.0, &[], None);
    let (status, response) = fixture.retry("anna", failing).await;
    assert_eq!(
        (status, &response["requiredFeatures"]),
        (403, &json!(["sample.thing.manage"]))
    );
}

#[actix_web::test]
async fn a_malformed_id_is_no_job() {
    let fixture = Fixture::new().await;

    for id in ["x".to_owned(), Uuid::from_u128(9).to_string()] {
        let path = |rest: &str| format!("{}/{id}{rest}", crate::fixture::JOBS);
        let missing = (404, json!({"error": "Not found"}));
        assert_eq!(fixture.app.get("anna", &path("")).await, missing);
        assert_eq!(fixture.app.get("anna", &path("/items")).await, missing);
        assert_eq!(fixture.app.post("anna", &path("/cancel"), Value::Null).await, missing);
        assert_eq!(fixture.app.post("anna", &path("/retry"), Value::Null).await, missing);
    }
}
