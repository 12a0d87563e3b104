use actix_web::http::Method;
use backoffice_test_support::TestApp;
use serde_json::json;

use crate::sign_in::{MODULES, admin, super_admin, tenant};

#[actix_web::test]
async fn a_super_administrator_makes_a_tenant_with_its_organization() {
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Home").await;
    let input = json!({"name": " Łódź ", "locales": ["pl", "en", "pl"]});

    let (status, made) = app.post(&super_admin(&home), "/directory/tenants", input).await;

    assert_eq!(status, 201, "{made}");
    let (_, list) = app
        .get(
            &super_admin(&home),
            &format!("/directory/tenants?id={}", made["id"].as_str().unwrap()),
        )
        .await;
    assert_eq!(list["total"], 1);
    assert_eq!(list["items"][0]["name"], "Łódź");
    assert_eq!(list["items"][0]["locales"], json!(["pl", "en"]));
    assert_eq!(list["items"][0]["organizationsCount"], 1);
    assert_eq!(list["items"][0]["usersCount"], 0);
    let organizations = app
        .rows("select id, slug from directory_organizations where slug = 'lodz'")
        .await;
    assert_eq!(organizations[0]["id"], made["organizationId"]);
}

#[actix_web::test]
async fn a_tenant_is_made_also_while_another_one_is_selected() {
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Home").await;

    let request = || {
        app.request(Method::POST, "/directory/tenants")
            .bearer(&super_admin(&home))
            .header("X-Tenant-Id", &home.id.to_string())
            .header("Idempotency-Key", "once")
            .json(&json!({"name": "Other"}))
    };
    let first = request().send().await;
    let second = request().send().await;

    assert_eq!(first.status, 201, "{}", first.text());
    assert_eq!(first.header("x-operation"), None);
    assert_eq!(first.json(), second.json());
    assert_eq!(second.header("idempotency-replayed").as_deref(), Some("true"));
}

#[actix_web::test]
async fn only_super_administrators_make_tenants() {
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Home").await;
    let manager = format!("{}///directory.tenants.*", home.id);

    let manages = app.post(&manager, "/directory/tenants", json!({"name": "Other"})).await;
    let lacks = app
        .post(&admin(&home), "/directory/tenants", json!({"name": "Other"}))
        .await;

    assert_eq!(manages, (403, json!({"error": "Super administrators only"})));
    assert_eq!(lacks.1["requiredFeatures"], json!(["directory.tenants.manage"]));
}

#[actix_web::test]
async fn others_than_super_administrators_see_their_own_tenant_only() {
    for app in [
        TestApp::new(&MODULES).await,
        TestApp::builder(&MODULES).without_tenant_predicates().build().await,
    ] {
        let home = tenant(&app, "Home").await;
        let other = tenant(&app, "Other").await;
        let viewer = format!("{}///directory.tenants.view", home.id);

        let (_, own) = app.get(&viewer, "/directory/tenants").await;
        let (_, foreign) = app.get(&viewer, &format!("/directory/tenants?id={}", other.id)).await;
        let (_, all) = app
            .get(
                &super_admin(&home),
                "/directory/tenants?sortField=createdAt&sortDir=desc",
            )
            .await;

        assert_eq!((&own["total"], &own["items"][0]["name"]), (&json!(1), &json!("Home")));
        assert_eq!(foreign["total"], 0);
        assert_eq!(all["total"], 2);
    }
}

#[actix_web::test]
async fn a_page_past_the_end_still_knows_the_total() {
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Home").await;

    let (status, page) = app
        .get(&super_admin(&home), "/directory/tenants?page=7&search=hom")
        .await;

    assert_eq!(
        (status, page),
        (
            200,
            json!({"items": [], "total": 1, "page": 7, "pageSize": 50, "totalPages": 1})
        )
    );
}

#[actix_web::test]
async fn unknown_locales_and_blank_names_are_refused() {
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Home").await;

    for input in [
        json!({"name": " "}),
        json!({}),
        json!({"name": "x", "locales": ["fr"]}),
        json!({"name": 5}),
    ] {
        let (status, body) = app.post(&super_admin(&home), "/directory/tenants", input.clone()).await;

        assert_eq!((status, &body["error"]), (400, &json!("Invalid input")), "{input}");
    }
}
