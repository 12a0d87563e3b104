//! `Idempotency-Key` beyond sending the same request twice.

use actix_web::http::Method;
use backoffice_test_support::TestResponse;
use serde_json::json;
use uuid::Uuid;

use crate::customers::Customer;
use crate::endpoints::Setting;
use crate::progress::Job;
use crate::world::{House, World};

#[actix_web::test]
async fn a_key_holds_in_the_tenant_that_is_selected() {
    let world = World::new().await;
    let invite = async |house: &House, email: &str| {
        let request = world.app.request(Method::POST, "/auth/users").bearer(&world.root.token);
        let request = request
            .header("X-Tenant-Id", &house.tenant.to_string())
            .header("Idempotency-Key", "one");
        let body = json!({"email": email, "organizationId": house.child});
        request.json(&body).send().await
    };
    let replayed = |response: &TestResponse| response.header("idempotency-replayed").is_some();

    let first = invite(&world.a, "new@alpha.test").await;
    let again = invite(&world.a, "new@alpha.test").await;
    let elsewhere = invite(&world.b, "new@beta.test").await;

    assert_eq!((first.status, replayed(&first)), (201, false), "{}", first.text());
    assert_eq!((again.status, replayed(&again)), (201, true), "{}", again.text());
    assert_eq!(again.json(), first.json());
    assert_eq!((elsewhere.status, replayed(&elsewhere)), (201, false));
    assert_ne!(elsewhere.json()["id"], first.json()["id"]);
    assert_eq!(invite(&world.a, "other@alpha.test").await.status, 422);
}

#[actix_web::test]
async fn a_key_is_not_for_another_target_of_the_route() {
    let setting = Setting::new(World::new().await).await;
    let world = &setting.world;
    let cancel = async |job: Job| {
        let path = format!("/progress/jobs/{}/cancel", job.of(&world.a));
        let request = world.app.request(Method::POST, &path).bearer(&world.a.keeper.token);
        request.header("Idempotency-Key", "one").send().await
    };

    let running = cancel(Job::Running).await;
    let failed = cancel(Job::Failed).await;
    let again = cancel(Job::Running).await;

    assert!(running.status < 300, "{}", running.text());
    assert_eq!(failed.status, 422, "{}", failed.text());
    assert_eq!((again.status, again.json()), (running.status, running.json()));
}

#[actix_web::test]
async fn an_answer_is_kept_also_when_nothing_differed() {
    let setting = Setting::new(World::new().await).await;
    let world = &setting.world;
    let (pipeline, stages) = (
        Customer::FreePipeline.of(&world.a),
        [Customer::FreeStage, Customer::SecondFreeStage].map(|stage| stage.of(&world.a)),
    );
    let reorder = async |ids: [Uuid; 2]| {
        let request = world.app.request(Method::POST, "/customers/pipeline-stages/reorder");
        let request = request.bearer(&world.a.keeper.token).header("Idempotency-Key", "one");
        request.json(&json!({"pipelineId": pipeline, "ids": ids})).send().await
    };
    let image = async || world.app.image_without(&["core_idempotency_keys"], &[]).await;
    let before = image().await;

    let first = reorder(stages).await;
    let other = reorder([stages[1], stages[0]]).await;
    let again = reorder(stages).await;

    assert_eq!((first.status, first.operation()), (200, None), "{}", first.text());
    assert_eq!(image().await, before, "nothing but the answer is kept");
    assert_eq!(other.status, 422, "{}", other.text());
    assert_eq!((again.status, again.json()), (200, first.json()));
    assert_eq!(again.header("idempotency-replayed").as_deref(), Some("true"));
}
