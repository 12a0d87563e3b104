//! Tenants alternate.

use std::pin::pin;

use backoffice_core::jobs::Worker;
use backoffice_test_support::Duration;
use serde_json::json;
use tokio::time::timeout;

use crate::fixture::{Fixture, builder};
use crate::people::Mood;
use crate::recovery::MOMENT;

#[actix_web::test]
async fn job_6_a_tenant_with_twenty_jobs_does_not_hold_up_another() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(200, &[]).await;
    for number in 1..=20 {
        fixture.start(&ids, number).await;
    }
    turn(&fixture).await;
    turn(&fixture).await;
    let few = fixture.things_of(fixture.b, 10, &[]).await;

    let other = fixture.start_as("bert", &few, 7).await;
    turn(&fixture).await;
    assert_eq!(
        fixture.counts(other).await.0,
        json!("running"),
        "the next turn is the other tenant's"
    );
    turn(&fixture).await;
    turn(&fixture).await;

    assert_eq!(
        fixture.counts(other).await,
        (json!("completed"), json!([10, 10, 10, 0, 0])),
        "and every other one after it"
    );
}

#[actix_web::test]
async fn job_6_a_worker_yields_after_two_seconds_while_another_tenant_waits() {
    let fixture = Fixture::of(builder().pool_size(8)).await;
    let (ids, few) = (
        fixture.things(250, &[]).await,
        fixture.things_of(fixture.b, 10, &[]).await,
    );
    let first = fixture.start(&ids, 7).await;

    let other = busy(&fixture, Duration::seconds(2), fixture.start_as("bert", &few, 7)).await;

    assert_eq!(
        fixture.counts(first).await,
        (json!("running"), json!([250, 0, 0, 0, 0])),
        "it stopped after its step"
    );
    let waiting = "select attempt, cursor from core_jobs where state = 'queued' and progress_job_id =";
    let waiting = fixture.app.rows(&format!("{waiting} '{first}'")).await;
    assert_eq!(waiting, [json!({"attempt": 0, "cursor": 0})]);
    run_one(&fixture).await;
    assert_eq!(fixture.counts(other).await.0, "completed", "the other tenant's turn");
    run_one(&fixture).await;
    assert_eq!(fixture.counts(first).await.0, "completed");
}

#[actix_web::test]
async fn job_6_a_worker_goes_on_for_two_seconds() {
    let fixture = Fixture::of(builder().pool_size(8)).await;
    let (ids, few) = (
        fixture.things(250, &[]).await,
        fixture.things_of(fixture.b, 10, &[]).await,
    );
    let first = fixture.start(&ids, 7).await;

    let other = busy(
        &fixture,
        Duration::milliseconds(1900),
        fixture.start_as("bert", &few, 7),
    )
    .await;

    assert_eq!(fixture.counts(first).await.0, "completed");
    assert_eq!(fixture.counts(other).await.0, "pending");
}

#[actix_web::test]
async fn a_worker_does_not_yield_to_a_tenant_that_has_its_share() {
    let fixture = Fixture::of(builder().pool_size(8).config("[jobs]\nper_tenant = 1")).await;
    let (ids, few) = (
        fixture.things(250, &[]).await,
        fixture.things_of(fixture.b, 10, &[]).await,
    );
    let first = fixture.start(&ids, 7).await;

    let others = async {
        let held = fixture.start_as("bert", &few, 7).await;
        let elsewhere = "update core_jobs set state = 'running', lease_until = '2099-01-01' where progress_job_id =";
        fixture.app.sql(&format!("{elsewhere} '{held}'")).await;
        fixture.start_as("bert", &few, 8).await
    };
    let waiting = busy(&fixture, Duration::seconds(2), others).await;

    assert_eq!(fixture.counts(first).await.0, "completed");
    assert_eq!(fixture.counts(waiting).await.0, "pending");
}

#[actix_web::test]
async fn a_worker_yields_to_more_urgent_jobs_of_the_same_tenant() {
    for (priority, states) in [(50, ["running", "completed"]), (100, ["completed", "pending"])] {
        let fixture = Fixture::of(builder().pool_size(8)).await;
        let (ids, few) = (fixture.things(250, &[]).await, fixture.things(10, &[]).await);
        let first = fixture.start(&ids, 7).await;

        let others = async {
            let other = fixture.start(&few, 8).await;
            let change = format!("update core_jobs set priority = {priority} where progress_job_id = '{other}'");
            fixture.app.sql(&change).await;
            other
        };
        let other = busy(&fixture, Duration::seconds(2), others).await;
        if priority < 100 {
            run_one(&fixture).await;
        }

        let found = [fixture.counts(first).await.0, fixture.counts(other).await.0];
        assert_eq!(found, states, "priority {priority}");
        run_one(&fixture).await;
        let found = [fixture.counts(first).await.0, fixture.counts(other).await.0];
        assert_eq!(found, ["completed", "completed"], "priority {priority}");
    }
}

/// Starts the next job and runs `meanwhile` while its first step takes this long.
async fn busy<T>(fixture: &Fixture, time: Duration, meanwhile: impl Future<Output = T>) -> T {
    fixture.people().become_(Mood::Waits);
    let worker = Worker::new(fixture.app.runtime().clone());
    let mut running = pin!(worker.run_one(None));
    assert!(timeout(MOMENT, &mut running).await.is_err(), "it has the job");
    let outcome = meanwhile.await;
    fixture.app.advance(time);
    fixture.people().become_(Mood::Responds);
    assert!(running.await.expect("the queue"));
    outcome
}

async fn run_one(fixture: &Fixture) {
    let worker = Worker::new(fixture.app.runtime().clone());
    assert!(worker.run_one(None).await.expect("the queue"), "a job waits");
}

/// Runs one step of the next job, a moment after the last one.
async fn turn(fixture: &Fixture) {
    fixture.app.advance(Duration::MILLISECOND);
    fixture.step().await;
}
