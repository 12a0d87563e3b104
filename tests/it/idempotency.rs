//! `Idempotency-Key` beyond sending the same request twice.

use actix_web::http::Method;
use backoffice_core::http::{Created, CreatedId, Multipart, requires};
use backoffice_core::{Module, RequestContext, Result, crud};
use backoffice_customers::acl::PIPELINES_MANAGE;
use backoffice_customers::commands::PipelineFields;
use backoffice_customers::model::Pipeline;
use backoffice_test_support::{TestApp, TestResponse};
use serde_json::json;
use uuid::Uuid;

use crate::customers::Customer;
use crate::endpoints::Setting;
use crate::fixture::{AUTH, Fixture, MODULES, NO_LIMITS, TenantFixture};
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

/// An endpoint whose body is read while it arrives.
static UPLOADS: Module = Module {
    name: "uploads",
    title: "Uploads",
    requires: &["customers"],
    routes: |routes| {
        routes
            .post("/uploads", requires(&[PIPELINES_MANAGE]), upload)
            .streaming()
            .rejects(&[404]);
    },
    ..Module::EMPTY
};

/// Creates a pipeline with the name of the part `name`.
async fn upload(ctx: RequestContext, mut body: Multipart<PipelineFields>) -> Result<Created<CreatedId>> {
    let mut name = String::new();
    while let Some(mut part) = body.next().await? {
        if part.name == "name" {
            name = part.text().await?;
            continue;
        }
        while part.chunk().await?.is_some() {}
    }
    let fields: PipelineFields = serde_json::from_value(json!({"name": name}))?;
    crud::create::<Pipeline>(&ctx, fields).await
}

#[actix_web::test]
async fn att_27_a_key_stands_for_the_parts_of_an_upload_whatever_their_boundary() {
    let mut modules = MODULES.to_vec();
    modules.push(&UPLOADS);
    let fixture = Fixture::of(TestApp::builder(&modules).config(AUTH).config(NO_LIMITS)).await;
    let send = async |boundary: &str, name: &str, file_name: &str, content: &str| {
        let body = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\n{name}\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{file_name}\"\r\n\r\n{content}\r\n\
             --{boundary}--\r\n"
        );
        let request = fixture.app.request(Method::POST, "/uploads");
        let request = request
            .bearer(&fixture.a.tenant_admin.token)
            .header("Idempotency-Key", "one");
        let kind = format!("multipart/form-data; boundary={boundary}");
        request.body(body, &kind).send().await
    };

    let first = send("x1", "Upload", "a.txt", "abc").await;
    let again = send("another", "Upload", "a.txt", "abc").await;

    assert_eq!(first.status, 201, "{}", first.text());
    assert_eq!((again.status, again.json()), (201, first.json()), "{}", again.text());
    assert_eq!(again.header("idempotency-replayed").as_deref(), Some("true"));
    for (name, file_name, content) in [
        ("Other", "a.txt", "abc"),
        ("Upload", "b.txt", "abc"),
        ("Upload", "a.txt", "abd"),
        ("Upload", "a.txt", ""),
    ] {
        let other = send("x1", name, file_name, content).await;
        assert_eq!(other.status, 422, "{name} {file_name} {content}: {}", other.text());
    }
    let (_, list) = fixture
        .app
        .get(&fixture.a.tenant_admin.token, "/customers/pipelines?search=Upload")
        .await;
    assert_eq!(list["total"], 1);
}
