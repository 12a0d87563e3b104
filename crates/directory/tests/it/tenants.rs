use actix_web::http::Method;
use backoffice_directory::commands::TenantCreated;
use backoffice_test_support::{Duration, TestApp};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::sign_in::{MODULES, admin, super_admin, tenant};

#[actix_web::test]
async fn a_super_administrator_creates_a_tenant_with_its_organization() {
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Home").await;
    let input = json!({"name": " Łódź ", "locales": ["pl", "en", "pl"]});

    let (status, created) = app.post(&super_admin(&home), "/directory/tenants", input).await;

    assert_eq!(status, 201, "{created}");
    let (_, list) = app
        .get(
            &super_admin(&home),
            &format!("/directory/tenants?id={}", created["id"].as_str().unwrap()),
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
    assert_eq!(organizations[0]["id"], created["organizationId"]);
}

#[actix_web::test]
async fn a_tenant_is_created_also_while_another_one_is_selected() {
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
async fn only_super_administrators_create_tenants() {
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
async fn unknown_locales_and_blank_names_are_rejected() {
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

const PATH: &str = "/directory/tenants";

/// A user with rights over tenants who is not a super administrator.
fn manager(tenant: &TenantCreated) -> String {
    format!("{}///directory.tenants.*", tenant.id)
}

async fn listed(app: &TestApp, home: &TenantCreated, id: Uuid) -> Value {
    let (status, page) = app.get(&super_admin(home), &format!("{PATH}?id={id}")).await;
    assert_eq!(status, 200, "{page}");
    page["items"][0].clone()
}

#[actix_web::test]
async fn an_administrator_of_a_tenant_renames_it_and_chooses_its_locales() {
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Home").await;
    app.advance(Duration::SECOND);

    let request = app.request(Method::PUT, PATH).bearer(&manager(&home));
    let body = json!({"id": home.id, "name": " New ", "locales": ["pl", "en", "pl"]});
    let response = request.json(&body).send().await;
    let changed = listed(&app, &home, home.id).await;
    let all = json!({"id": home.id, "locales": null});
    let (emptied, _) = app.put(&manager(&home), PATH, all).await;

    assert_eq!((response.status, response.json()), (200, json!({"ok": true})));
    assert_eq!(response.header("x-operation"), None, "it can't be undone");
    assert_eq!(
        (&changed["name"], &changed["locales"], &changed["isActive"]),
        (&json!("New"), &json!(["pl", "en"]), &json!(true))
    );
    assert!(changed["updatedAt"].as_str() > changed["createdAt"].as_str());
    assert_eq!(
        (emptied, &listed(&app, &home, home.id).await["locales"]),
        (200, &Value::Null)
    );
    let events = app
        .rows("select name, payload from core_outbox_events order by seq desc")
        .await;
    assert_eq!(events[0]["name"], "directory.tenant.updated");
}

#[actix_web::test]
async fn a_change_without_a_difference_leaves_no_trace() {
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Home").await;
    let before = app.snapshot().await;

    let (status, _) = app
        .put(&manager(&home), PATH, json!({"id": home.id, "name": "Home"}))
        .await;

    assert_eq!(status, 200);
    assert!(app.snapshot().await == before);
}

#[actix_web::test]
async fn only_super_administrators_close_and_delete_tenants() {
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Home").await;
    let before = app.snapshot().await;

    for active in [true, false] {
        let body = json!({"id": home.id, "isActive": active});
        let rejected = app.put(&manager(&home), PATH, body).await;
        assert_eq!(
            rejected,
            (403, json!({"error": "Super administrators only"})),
            "{active}"
        );
    }
    let path = format!("{PATH}?id={}", home.id);
    let deleted = app.delete(&manager(&home), &path, Value::Null).await;
    assert_eq!(deleted, (403, json!({"error": "Super administrators only"})));
    let (lacking, body) = app.delete(&admin(&home), &path, Value::Null).await;
    assert_eq!(
        (lacking, &body["requiredFeatures"]),
        (403, &json!(["directory.tenants.manage"]))
    );
    assert!(app.snapshot().await == before);
}

#[actix_web::test]
async fn the_own_tenant_is_neither_closed_nor_deleted() {
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Home").await;
    let before = app.snapshot().await;

    let body = json!({"id": home.id, "isActive": false});
    let (closed, why) = app.put(&super_admin(&home), PATH, body).await;
    let path = format!("{PATH}?id={}", home.id);
    let (deleted, also) = app.delete(&super_admin(&home), &path, Value::Null).await;

    assert_eq!((closed, &why["code"]), (400, &json!("own_tenant")));
    assert_eq!((deleted, &also["code"]), (400, &json!("own_tenant")));
    for (response, path) in [(&why, "isActive"), (&also, "id")] {
        assert_eq!(
            (&response["error"], &response["details"][0]["path"]),
            (&json!("Invalid input"), &json!(path))
        );
    }
    assert!(app.snapshot().await == before);
}

#[actix_web::test]
async fn a_super_administrator_closes_opens_and_deletes_a_tenant() {
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Home").await;
    let other = tenant(&app, "Other").await;
    let root = super_admin(&home);
    let lookup = format!("{PATH}/lookup?tenantId={}", other.id);

    let (closed, _) = app.put(&root, PATH, json!({"id": other.id, "isActive": false})).await;
    let while_closed = app.get("", &lookup).await.0;
    let (_, inactive) = app.get(&root, &format!("{PATH}?isActive=false")).await;
    let (opened, _) = app.put(&root, PATH, json!({"id": other.id, "isActive": true})).await;
    let while_open = app.get("", &lookup).await.0;
    let path = format!("{PATH}?id={}", other.id);
    let deleted = app.delete(&root, &path, Value::Null).await;

    assert_eq!((closed, while_closed, opened, while_open), (200, 404, 200, 200));
    assert_eq!(
        (&inactive["total"], &inactive["items"][0]["name"]),
        (&json!(1), &json!("Other"))
    );
    assert_eq!(deleted, (200, json!({"ok": true})));
    assert_eq!(listed(&app, &home, other.id).await, Value::Null);
    assert_eq!(app.get("", &lookup).await.0, 404);
    let gone = (404, json!({"error": "Tenant not found"}));
    assert_eq!(app.delete(&root, &path, Value::Null).await, gone);
    assert_eq!(app.put(&root, PATH, json!({"id": other.id, "name": "X"})).await, gone);
    let kept = app
        .rows("select name from directory_organizations where name = 'Other' and deleted_at is null")
        .await;
    assert_eq!(kept.len(), 1, "its data stays");
}

#[actix_web::test]
async fn organizations_of_a_deleted_tenant_are_not_found() {
    let organizations = "/directory/organizations";
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Home").await;
    let other = tenant(&app, "Other").await;
    let root = super_admin(&home);
    let total = async |query: String| {
        let (status, page) = app.get(&root, &format!("{organizations}?{query}")).await;
        assert_eq!(status, 200, "{query}: {page}");
        page["total"].clone()
    };
    let of_other = format!("id={}", other.organization_id);
    assert_eq!(
        (total(String::new()).await, total(of_other.clone()).await),
        (json!(2), json!(1))
    );

    let deleted = app.delete(&root, &format!("{PATH}?id={}", other.id), Value::Null).await;

    assert_eq!(deleted, (200, json!({"ok": true})));
    let before = app.snapshot().await;
    let renamed = json!({"id": other.organization_id, "name": "Renamed"});
    let path = format!("{organizations}?{of_other}");
    let rejected = (404, json!({"error": "Organization not found"}));
    assert_eq!(app.put(&root, organizations, renamed).await, rejected);
    assert_eq!(app.delete(&root, &path, Value::Null).await, rejected);
    assert!(app.snapshot().await == before);
    assert_eq!(
        (total(String::new()).await, total(of_other).await),
        (json!(1), json!(0))
    );
    assert_eq!(total("view=tree".to_owned()).await, 1);
    assert_eq!(total(format!("tenantId={}", other.id)).await, 0, "named");
}

#[actix_web::test]
async fn another_tenant_is_not_found() {
    for app in [
        TestApp::new(&MODULES).await,
        TestApp::builder(&MODULES).without_tenant_predicates().build().await,
    ] {
        let home = tenant(&app, "Home").await;
        let other = tenant(&app, "Other").await;
        let before = app.snapshot().await;
        let rename = |id: Uuid| json!({"id": id, "name": "Mine"});

        let foreign = app.put(&manager(&home), PATH, rename(other.id)).await;
        let unknown = app.put(&manager(&home), PATH, rename(home.organization_id)).await;
        let beside = app
            .request(Method::PUT, PATH)
            .bearer(&super_admin(&home))
            .header("X-Tenant-Id", &home.id.to_string())
            .json(&rename(other.id));
        let beside = beside.send().await;

        assert_eq!(foreign, (404, json!({"error": "Tenant not found"})));
        assert_eq!(foreign, unknown);
        assert_eq!(
            (beside.status, beside.json()),
            foreign,
            "the selected tenant is the only one"
        );
        assert!(app.snapshot().await == before);
    }
}

#[actix_web::test]
async fn a_tenant_changed_concurrently_is_not_overwritten() {
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Home").await;

    let request = app.request(Method::PUT, PATH).bearer(&manager(&home));
    let request = request.header("X-Expected-Updated-At", "2020-01-01T00:00:00.000Z");
    let response = request.json(&json!({"id": home.id, "name": "Late"})).send().await;

    assert_eq!(
        (response.status, &response.json()["code"]),
        (409, &json!("optimistic_lock_conflict"))
    );
}

#[actix_web::test]
async fn malformed_changes_of_a_tenant_are_rejected() {
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Home").await;
    let before = app.snapshot().await;

    for input in [
        json!({"name": "x"}),
        json!({"id": "x", "name": "x"}),
        json!({"id": home.id, "name": "  "}),
        json!({"id": home.id, "name": "x".repeat(201)}),
        json!({"id": home.id, "locales": ["fr"]}),
        json!({"id": home.id, "locales": []}),
        json!({"id": home.id, "locales": "en"}),
    ] {
        let (status, body) = app.put(&manager(&home), PATH, input.clone()).await;
        assert_eq!((status, &body["error"]), (400, &json!("Invalid input")), "{input}");
    }
    assert_eq!(app.delete(&super_admin(&home), PATH, Value::Null).await.0, 400);
    assert!(app.snapshot().await == before);
}

#[actix_web::test]
async fn every_filter_and_order_of_the_list_works() {
    let app = TestApp::new(&MODULES).await;
    let home = tenant(&app, "Beta").await;
    app.advance(Duration::SECOND);
    tenant(&app, "Alpha").await;
    app.advance(Duration::SECOND);
    app.put(&manager(&home), PATH, json!({"id": home.id, "locales": ["en"]}))
        .await;
    let names = async |query: &str| {
        let (status, page) = app.get(&super_admin(&home), &format!("{PATH}?{query}")).await;
        assert_eq!(status, 200, "{query}: {page}");
        let items = page["items"].as_array().expect("items").clone();
        items.iter().map(|item| item["name"].clone()).collect::<Vec<_>>()
    };

    assert_eq!(names("").await, ["Alpha", "Beta"]);
    assert_eq!(names("sortDir=desc").await, ["Beta", "Alpha"]);
    assert_eq!(names("sortField=createdAt").await, ["Beta", "Alpha"]);
    assert_eq!(names("sortField=updatedAt").await, ["Alpha", "Beta"]);
    assert_eq!(names("sortField=updatedAt&sortDir=desc").await, ["Beta", "Alpha"]);
    assert_eq!(names("search=LPH").await, ["Alpha"]);
    assert_eq!(
        names("search=%25").await,
        Vec::<Value>::new(),
        "wildcards mean themselves"
    );
    assert_eq!(names("isActive=true&pageSize=1&page=2").await, ["Beta"]);
    for query in [
        "sortField=size",
        "sortDir=up",
        "isActive=maybe",
        "pageSize=101",
        "page=0",
        "id=x",
    ] {
        let (status, _) = app.get(&super_admin(&home), &format!("{PATH}?{query}")).await;
        assert_eq!(status, 400, "{query}");
    }
}

#[actix_web::test]
async fn the_list_costs_the_same_for_any_number_of_tenants() {
    let app = TestApp::builder(&MODULES).through_proxy().build().await;
    let home = tenant(&app, "Home").await;
    let root = super_admin(&home);
    let list = || app.get(&root, PATH);
    list().await;

    let (_, one) = app.count_statements(list()).await;
    for number in 0..9 {
        tenant(&app, &number.to_string()).await;
    }
    list().await;
    let ((_, page), ten) = app.count_statements(list()).await;

    assert_eq!(page["total"], 10);
    assert_eq!(one, ten);
}
