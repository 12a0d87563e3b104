use backoffice_test_support::TestApp;
use serde_json::json;

use crate::sign_in::{MODULES, admin, tenant};

#[actix_web::test]
async fn a_live_active_tenant_is_found_by_its_id() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;

    for name in ["tenantId", "tenant"] {
        let (status, body) = app
            .get("", &format!("/directory/tenants/lookup?{name}={}", acme.id))
            .await;

        assert_eq!(status, 200);
        assert_eq!(body, json!({"ok": true, "tenant": {"id": acme.id, "name": "Acme"}}));
    }
}

#[actix_web::test]
async fn a_tenant_that_may_not_be_used_is_not_found() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let path = format!("/directory/tenants/lookup?tenantId={}", acme.id);

    app.sql("update directory_tenants set is_active = false").await;
    let inactive = app.get("", &path).await;
    let organization = app.get("", "/directory/organizations/lookup?slug=acme").await;
    app.sql("update directory_tenants set is_active = true, deleted_at = now()")
        .await;
    let deleted = app.get("", &path).await;

    assert_eq!(inactive, (404, json!({"ok": false, "error": "Tenant not found"})));
    assert_eq!(deleted, inactive);
    assert_eq!(
        organization,
        (404, json!({"ok": false, "error": "Organization not found"}))
    );
}

#[actix_web::test]
async fn malformed_input_of_a_lookup_is_rejected() {
    let app = TestApp::new(&MODULES).await;

    for (path, text) in [
        ("/directory/tenants/lookup", "Invalid tenant id"),
        ("/directory/tenants/lookup?tenantId=x", "Invalid tenant id"),
        ("/directory/organizations/lookup", "Invalid slug"),
        ("/directory/organizations/lookup?slug=No+Slug", "Invalid slug"),
        ("/directory/organizations/lookup?slug=a%00", "Invalid slug"),
    ] {
        let (status, body) = app.get("", path).await;

        assert_eq!(
            (status, &body["ok"], &body["error"]),
            (400, &json!(false), &json!(text)),
            "{path}"
        );
    }
}

#[actix_web::test]
async fn a_slug_of_several_tenants_is_the_oldest_ones() {
    let app = TestApp::new(&MODULES).await;
    let first = tenant(&app, "Acme").await;
    app.advance(backoffice_test_support::Duration::SECOND);
    let second = tenant(&app, "Acme").await;

    let (_, oldest) = app.get("", "/directory/organizations/lookup?slug=acme").await;
    let path = format!("/directory/organizations/lookup?slug=acme&tenantId={}", second.id);
    let (_, named) = app.get("", &path).await;

    assert_eq!(oldest["organization"]["tenantId"], json!(first.id));
    assert_eq!(
        named["organization"],
        json!({"id": second.organization_id, "name": "Acme", "slug": "acme", "tenantId": second.id})
    );
}

#[actix_web::test]
async fn lookups_are_limited_to_sixty_a_minute() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let path = format!("/directory/tenants/lookup?tenantId={}", acme.id);

    for _ in 0..60 {
        assert_eq!(app.get("", &path).await.0, 200);
    }

    assert_eq!(app.get("", &path).await.0, 429);
    assert_eq!(app.get(&admin(&acme), "/directory/organizations").await.0, 200);
}
