use actix_web::http::Method;
use backoffice_test_support::TestApp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::sign_in::{MODULES, admin, super_admin, tenant, user, worker};
use crate::{ACTIONS, each, list, organization};

#[actix_web::test]
async fn a_viewer_sees_itself_and_an_administrator_everybody() {
    for app in [
        TestApp::new(&MODULES).await,
        TestApp::builder(&MODULES).without_tenant_predicates().build().await,
    ] {
        let acme = tenant(&app, "Acme").await;
        let other = tenant(&app, "Other").await;
        organization(&app, &worker(&acme, 1), "One", Value::Null).await;
        organization(&app, &worker(&acme, 2), "Two", Value::Null).await;
        organization(&app, &worker(&other, 1), "Elsewhere", Value::Null).await;

        assert_eq!(each(&app, &worker(&acme, 1), "", "organizationName").await, ["One"]);
        // Includes the entry of the tenant itself, which has no organization.
        assert_eq!(
            each(&app, &admin(&acme, ""), "", "organizationName").await,
            [json!("Two"), json!("One"), Value::Null]
        );
        assert_eq!(
            each(&app, &admin(&other, ""), "actionType=create", "tenantName").await,
            ["Other", "Other"]
        );
    }
}

#[actix_web::test]
async fn organizations_limit_the_visible_entries() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let north = organization(&app, &worker(&acme, 1), "North", Value::Null).await.json()["id"].clone();
    organization(&app, &worker(&acme, 1), "Far North", north.clone()).await;
    organization(&app, &worker(&acme, 1), "South", Value::Null).await;
    let limit = north.as_str().expect("an id");

    assert_eq!(
        each(&app, &admin(&acme, limit), "", "organizationName").await,
        ["Far North", "North"]
    );
    let selected = app
        .request(Method::GET, ACTIONS)
        .bearer(&admin(&acme, ""))
        .header("X-Organization-Id", limit)
        .send()
        .await
        .json();
    assert_eq!(selected["total"], 2);
    assert_eq!(
        list(&app, &admin(&acme, limit), &format!("organizationId={limit}")).await["total"],
        1
    );
}

#[actix_web::test]
async fn an_organization_outside_the_scope_is_forbidden_known_or_not() {
    for app in [
        TestApp::new(&MODULES).await,
        TestApp::builder(&MODULES).without_tenant_predicates().build().await,
    ] {
        let acme = tenant(&app, "Acme").await;
        let other = tenant(&app, "Other").await;
        let query = |id: &str| format!("{ACTIONS}?organizationId={id}");

        let foreign = app
            .get(&admin(&acme, ""), &query(&other.organization_id.to_string()))
            .await;
        let unknown = app.get(&admin(&acme, ""), &query(&user("77").to_string())).await;
        let (own, _) = app
            .get(&admin(&acme, ""), &query(&acme.organization_id.to_string()))
            .await;

        assert_eq!(foreign, (403, json!({"error": "Organization scope violation"})));
        assert_eq!(foreign, unknown);
        assert_eq!(own, 200);
    }
}

#[actix_web::test]
async fn only_a_wide_viewer_asks_for_others() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    organization(&app, &worker(&acme, 1), "One", Value::Null).await;
    let query = |number: &str| format!("{ACTIONS}?actorUserId={}", user(number));

    let (own, page) = app.get(&worker(&acme, 1), &query("1")).await;
    let rejected = app.get(&worker(&acme, 2), &query("1")).await;
    let (_, wide) = app.get(&admin(&acme, ""), &query("1")).await;

    assert_eq!((own, &page["total"], &wide["total"]), (200, &json!(1), &json!(1)));
    assert_eq!(
        rejected,
        (
            403,
            json!({"error": "Forbidden", "requiredFeatures": ["audit_logs.view_tenant"]})
        )
    );
}

#[actix_web::test]
async fn a_super_administrator_reads_the_selected_tenant_or_all() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let other = tenant(&app, "Other").await;
    let read = async |selected: &str| {
        let request = app
            .request(Method::GET, ACTIONS)
            .bearer(&super_admin(&acme))
            .header("X-Tenant-Id", selected);
        request.send().await.json()["items"].as_array().expect("items").len()
    };

    assert_eq!(list(&app, &super_admin(&acme), "").await["total"], 1);
    assert_eq!(read(&other.id.to_string()).await, 1);
    assert_eq!(read("all").await, 2);
}

#[actix_web::test]
async fn aud_27_who_has_no_tenant_and_is_no_super_administrator_reads_no_log() {
    let app = TestApp::new(&MODULES).await;
    let token = format!("{}/1//audit_logs.*", Uuid::nil());

    for path in [
        ACTIONS,
        "/audit_logs/audit-logs/actions/export",
        "/audit_logs/audit-logs/access",
    ] {
        let response = app.get(&token, path).await;
        assert_eq!(response, (403, json!({"error": "Forbidden"})), "{path}");
    }
}
