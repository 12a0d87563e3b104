//! Tenants take turns.

use std::pin::pin;

use backoffice_core::jobs::Worker;
use backoffice_test_support::Duration;
use serde_json::json;
use tokio::time::timeout;

use crate::people::Mood;
use crate::recovery::MOMENT;
use crate::world::{World, builder};

#[actix_web::test]
async fn job_6_a_tenant_with_twenty_jobs_does_not_hold_up_another() {
    let world = World::new().await;
    let ids = world.things(200, &[]).await;
    for number in 1..=20 {
        world.start(&ids, number).await;
    }
    turn(&world).await;
    turn(&world).await;
    let few = world.things_of(world.b, 10, &[]).await;

    let other = world.start_as("bert", &few, 7).await;
    turn(&world).await;
    assert_eq!(
        world.counts(other).await.0,
        json!("running"),
        "the next turn is the other tenant's"
    );
    turn(&world).await;
    turn(&world).await;

    assert_eq!(
        world.counts(other).await,
        (json!("completed"), json!([10, 10, 10, 0, 0])),
        "and every other one after it"
    );
}

#[actix_web::test]
async fn job_6_a_worker_makes_room_after_two_seconds_while_another_tenant_waits() {
    let world = World::of(builder().pool_size(8)).await;
    let (ids, few) = (world.things(250, &[]).await, world.things_of(world.b, 10, &[]).await);
    let first = world.start(&ids, 7).await;

    let other = busy(&world, Duration::seconds(2), world.start_as("bert", &few, 7)).await;

    assert_eq!(
        world.counts(first).await,
        (json!("running"), json!([250, 0, 0, 0, 0])),
        "it stopped after its step"
    );
    let waiting = "select attempt, cursor from core_jobs where state = 'queued' and progress_job_id =";
    let waiting = world.app.rows(&format!("{waiting} '{first}'")).await;
    assert_eq!(waiting, [json!({"attempt": 0, "cursor": 0})]);
    run_one(&world).await;
    assert_eq!(world.counts(other).await.0, "completed", "the other tenant's turn");
    run_one(&world).await;
    assert_eq!(world.counts(first).await.0, "completed");
}

#[actix_web::test]
async fn job_6_a_worker_goes_on_for_two_seconds() {
    let world = World::of(builder().pool_size(8)).await;
    let (ids, few) = (world.things(250, &[]).await, world.things_of(world.b, 10, &[]).await);
    let first = world.start(&ids, 7).await;

    let other = busy(&world, Duration::milliseconds(1900), world.start_as("bert", &few, 7)).await;

    assert_eq!(world.counts(first).await.0, "completed");
    assert_eq!(world.counts(other).await.0, "pending");
}

#[actix_web::test]
async fn a_worker_makes_no_room_for_a_tenant_that_has_its_share() {
    let world = World::of(builder().pool_size(8).config("[jobs]\nper_tenant = 1")).await;
    let (ids, few) = (world.things(250, &[]).await, world.things_of(world.b, 10, &[]).await);
    let first = world.start(&ids, 7).await;

    let others = async {
        let held = world.start_as("bert", &few, 7).await;
        let elsewhere = "update core_jobs set state = 'running', lease_until = '2099-01-01' where progress_job_id =";
        world.app.sql(&format!("{elsewhere} '{held}'")).await;
        world.start_as("bert", &few, 8).await
    };
    let waiting = busy(&world, Duration::seconds(2), others).await;

    assert_eq!(world.counts(first).await.0, "completed");
    assert_eq!(world.counts(waiting).await.0, "pending");
}

/// A worker takes the next job. While its first step takes this long, something else happens.
async fn busy<T>(world: &World, time: Duration, meanwhile: impl Future<Output = T>) -> T {
    world.people().become_(Mood::Waits);
    let worker = Worker::new(world.app.runtime().clone());
    let mut running = pin!(worker.run_one(None));
    assert!(timeout(MOMENT, &mut running).await.is_err(), "it has the job");
    let outcome = meanwhile.await;
    world.app.advance(time);
    world.people().become_(Mood::Answers);
    assert!(running.await.expect("the queue"));
    outcome
}

async fn run_one(world: &World) {
    let worker = Worker::new(world.app.runtime().clone());
    assert!(worker.run_one(None).await.expect("the queue"), "a job waits");
}

/// One step of whoever has its turn, a moment after the last one.
async fn turn(world: &World) {
    world.app.advance(Duration::MILLISECOND);
    world.step().await;
}
