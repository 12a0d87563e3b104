//! The requester's rights while the job runs.

use serde_json::json;
use uuid::Uuid;

use crate::world::{NUMBERS, World};

/// A job of 250 items of which 100 are done.
async fn under_way(world: &World) -> (Uuid, Vec<Uuid>) {
    let ids = world.things(250, &[]).await;
    let job = world.start(&ids, 7).await;
    world.step().await;
    world.step().await;
    (job, ids)
}

async fn assert_rest_is_forbidden(world: &World, job: Uuid) {
    assert_eq!(world.app.run_jobs().await, 1);
    assert_eq!(
        world.counts(job).await,
        (json!("completed_with_errors"), json!([250, 250, 100, 0, 150]))
    );
    let forbidden = json!({"state": "failed", "status": 403, "code": "forbidden"});
    assert!(world.items(job).await[100..].iter().all(|item| *item == forbidden));
    assert_eq!(world.entries().await.len(), 100);
}

#[actix_web::test]
async fn crm_8_a_withdrawn_feature_fails_the_rest() {
    let world = World::new().await;
    let (job, _) = under_way(&world).await;

    world.people().set("anna", world.a.0, &["audit_logs.view_self"], None);

    assert_rest_is_forbidden(&world, job).await;
    let shown = world.job("anna", job).await;
    assert_eq!(
        shown["resultSummary"]["failedItems"].as_array().map(Vec::len),
        Some(100),
        "the first hundred"
    );
}

#[actix_web::test]
async fn crm_8_a_user_that_is_gone_fails_the_rest() {
    let world = World::new().await;
    let (job, _) = under_way(&world).await;

    world.people().remove("anna");

    assert_rest_is_forbidden(&world, job).await;
}

#[actix_web::test]
async fn crm_8_signing_out_changes_nothing() {
    let world = World::new().await;
    let (job, ids) = under_way(&world).await;

    world.people().sign_out("anna");
    assert_eq!(world.ask("anna", &ids, 8).await.0, 401);
    world.app.run_jobs().await;

    assert_eq!(
        world.counts(job).await,
        (json!("completed"), json!([250, 250, 250, 0, 0]))
    );
}

#[actix_web::test]
async fn a_scope_that_shrinks_leaves_out_what_is_outside_of_it() {
    let world = World::new().await;
    let (kept, lost) = (world.organization(1).await, world.organization(2).await);
    world.people().set("anna", world.a.0, &NUMBERS, Some(&[kept, lost]));
    let here = world.things_of((world.a.0, kept), 1, &[]).await;
    let there = world.things_of((world.a.0, lost), 1, &[]).await;
    let job = world.start(&[here[0], there[0]], 7).await;

    world.people().set("anna", world.a.0, &NUMBERS, Some(&[kept]));
    world.app.run_jobs().await;

    assert_eq!(world.numbers(&[here[0], there[0]]).await, [7, 0]);
    assert_eq!(world.items(job).await[1]["code"], "not_found");
}

#[actix_web::test]
async fn a_selected_organization_that_may_no_longer_be_selected_forbids_the_rest() {
    let world = World::new().await;
    let selected = world.organization(1).await;
    let here = world.things_of((world.a.0, selected), 1, &[]).await;
    let elsewhere = world.things(1, &[]).await;
    let body = json!({"ids": [here[0], elsewhere[0]], "number": 7});
    let selects = ("X-Organization-Id", selected.to_string());
    let ask = async || {
        let answer = world
            .post_with("anna", crate::sample::BULK, (selects.0, &selects.1), &body)
            .await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        crate::world::id_of(&answer.json()["progressJobId"])
    };

    let first = ask().await;
    world.app.run_jobs().await;
    assert_eq!(world.job("anna", first).await["organizationId"], json!(selected));
    assert_eq!(
        world.numbers(&[here[0], elsewhere[0]]).await,
        [7, 0],
        "the selection narrows"
    );
    let second = ask().await;
    world
        .people()
        .set("anna", world.a.0, &NUMBERS, Some(&[Uuid::from_u128(1)]));
    world.app.run_jobs().await;

    assert_eq!(world.counts(second).await, (json!("failed"), json!([2, 2, 0, 0, 2])));
    assert_eq!(world.items(second).await[0]["code"], "forbidden");
}
