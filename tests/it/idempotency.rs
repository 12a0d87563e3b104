//! `Idempotency-Key` beyond sending the same request twice.

use actix_web::http::Method;
use backoffice_test_support::TestResponse;
use serde_json::json;
use uuid::Uuid;

use crate::customers::Customer;
use crate::endpoints::Setting;
use crate::fixture::{Fixture, TenantFixture};
use crate::progress::Job;

#[actix_web::test]
async fn a_key_holds_in_the_tenant_that_is_selected() {
    let fixture = Fixture::new().await;
    let invite = async |tenant_fixture: &TenantFixture, email: &str| {
        let request = fixture
            .app
            .request(Method::POST, "/auth/users")
            .bearer(&fixture.root.token);
        let request = request
            .header("X-Tenant-Id", &tenant_fixture.tenant.to_string())
            .header("Idempotency-Key", "one");
        let body = json!({"email": email, "organizationId": tenant_fixture.child});
        request.json(&body).send().await
    };
    let replayed = |response: &TestResponse| response.header("idempotency-replayed").is_some();

    let first = invite(&fixture.a, "new@alpha.test").await;
    let again = invite(&fixture.a, "new@alpha.test").await;
    let elsewhere = invite(&fixture.b, "new@beta.test").await;

    assert_eq!((first.status, replayed(&first)), (201, false), "{}", first.text());
    assert_eq!((again.status, replayed(&again)), (201, true), "{}", again.text());
    assert_eq!(again.json(), first.json());
    assert_eq!((elsewhere.status, replayed(&elsewhere)), (201, false));
    assert_ne!(elsewhere.json()["id"], first.json()["id"]);
    assert_eq!(invite(&fixture.a, "other@alpha.test").await.status, 422);
}

#[actix_web::test]
async fn a_key_is_not_for_another_target_of_the_route() {
    let setting = Setting::new(Fixture::new().await).await;
    let fixture = &setting.fixture;
    let cancel = async |job: Job| {
        let path = format!("/progress/jobs/{}/cancel", job.of(&fixture.a));
        let request = fixture
            .app
            .request(Method::POST, &path)
            .bearer(&fixture.a.tenant_admin.token);
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
async fn a_response_is_stored_also_when_nothing_changed() {
    let setting = Setting::new(Fixture::new().await).await;
    let fixture = &setting.fixture;
    let (pipeline, stages) = (
        Customer::FreePipeline.of(&fixture.a),
        [Customer::FreeStage, Customer::SecondFreeStage].map(|stage| stage.of(&fixture.a)),
    );
    let reorder = async |ids: [Uuid; 2]| {
        let request = fixture.app.request(Method::POST, "/customers/pipeline-stages/reorder");
        let request = request
            .bearer(&fixture.a.tenant_admin.token)
            .header("Idempotency-Key", "one");
        request.json(&json!({"pipelineId": pipeline, "ids": ids})).send().await
    };
    let snapshot = async || fixture.app.snapshot_without(&["core_idempotency_keys"], &[]).await;
    let before = snapshot().await;

    let first = reorder(stages).await;
    let other = reorder([stages[1], stages[0]]).await;
    let again = reorder(stages).await;

    assert_eq!((first.status, first.operation()), (200, None), "{}", first.text());
    assert_eq!(snapshot().await, before, "nothing but the response is stored");
    assert_eq!(other.status, 422, "{}", other.text());
    assert_eq!((again.status, again.json()), (200, first.json()));
    assert_eq!(again.header("idempotency-replayed").as_deref(), Some("true"));
}
