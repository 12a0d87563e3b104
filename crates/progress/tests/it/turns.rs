//! Tenants take turns.

use backoffice_test_support::Duration;
use serde_json::json;

use crate::world::World;

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

/// One step of whoever has its turn, a moment after the last one.
async fn turn(world: &World) {
    world.app.advance(Duration::MILLISECOND);
    world.step().await;
}
