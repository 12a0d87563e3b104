use actix_web::http::Method;
use backoffice_directory::commands::TenantCreated;
use backoffice_test_support::{TestApp, details};
use serde_json::{Value, json};

use crate::sign_in::{MODULES, admin, limited, super_admin, tenant};

const PATH: &str = "/directory/organizations";

async fn organization(app: &TestApp, tenant: &TenantCreated, name: &str, parent: Option<&str>) -> String {
    let (status, body) = app
        .post(&admin(tenant), PATH, json!({"name": name, "parentId": parent}))
        .await;
    assert_eq!(status, 201, "{body}");
    body["id"].as_str().expect("an id").to_owned()
}

async fn names(app: &TestApp, token: &str, query: &str) -> Vec<Value> {
    let (status, page) = app.get(token, &format!("{PATH}?{query}")).await;
    assert_eq!(status, 200, "{page}");
    page["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| item["name"].clone())
        .collect()
}

#[actix_web::test]
async fn the_list_shows_the_depth_and_path_of_an_organization() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let root = acme.organization_id.to_string();
    let north = organization(&app, &acme, "North", Some(&root)).await;
    organization(&app, &acme, "Far North", Some(&north)).await;

    let (_, page) = app.get(&admin(&acme), &format!("{PATH}?id={north}")).await;

    let item = &page["items"][0];
    assert_eq!(item["pathLabel"], "Acme / North");
    assert_eq!(
        (&item["depth"], &item["childrenCount"], &item["parentId"]),
        (&json!(1), &json!(1), &json!(root))
    );
    assert_eq!(
        (&item["slug"], &item["isActive"], &item["logoUrl"]),
        (&json!("north"), &json!(true), &Value::Null)
    );
    assert_eq!(names(&app, &admin(&acme), "").await, ["Acme", "Far North", "North"]);
    assert_eq!(names(&app, &admin(&acme), &format!("parentId={root}")).await, ["North"]);
    assert_eq!(
        names(&app, &admin(&acme), "search=NORTH&pageSize=1&page=2").await,
        ["North"]
    );
    assert_eq!(names(&app, &admin(&acme), "status=inactive").await, Vec::<Value>::new());
    assert_eq!(names(&app, &admin(&acme), "ids=").await, Vec::<Value>::new());
}

#[actix_web::test]
async fn a_limited_caller_sees_its_part_of_the_tree_from_the_top() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let root = acme.organization_id.to_string();
    let north = organization(&app, &acme, "North", Some(&root)).await;
    let far = organization(&app, &acme, "Far North", Some(&north)).await;
    organization(&app, &acme, "South", Some(&root)).await;

    let (_, page) = app.get(&limited(&acme, &north), &format!("{PATH}?view=tree")).await;

    assert_eq!((&page["total"], &page["totalPages"]), (&json!(2), &json!(1)));
    let top = &page["items"][0];
    assert_eq!(
        (&top["name"], &top["parentId"], &top["depth"]),
        (&json!("North"), &Value::Null, &json!(0))
    );
    assert_eq!(top["children"][0]["id"], json!(far));
    assert_eq!(top["children"][0]["pathLabel"], "North / Far North");
    assert_eq!(
        names(&app, &limited(&acme, &north), &format!("parentId={root}")).await,
        Vec::<Value>::new()
    );
}

#[actix_web::test]
async fn a_taken_slug_is_numbered_by_default_and_a_conflict_when_given() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    organization(&app, &acme, "Acme", None).await;
    let third = organization(&app, &acme, "Acme", None).await;

    let (_, page) = app.get(&admin(&acme), &format!("{PATH}?id={third}")).await;
    let given = app
        .post(&admin(&acme), PATH, json!({"name": "X", "slug": "acme-2"}))
        .await;
    let changed = app
        .put(&admin(&acme), PATH, json!({"id": third, "slug": "acme-2"}))
        .await;

    assert_eq!(page["items"][0]["slug"], "acme-3");
    let conflict = json!({"error": "Slug already in use", "code": "duplicate_slug"});
    assert_eq!((given, changed), ((409, conflict.clone()), (409, conflict)));
}

#[actix_web::test]
async fn an_organization_never_gets_below_itself() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let root = acme.organization_id.to_string();
    let north = organization(&app, &acme, "North", Some(&root)).await;
    let far = organization(&app, &acme, "Far North", Some(&north)).await;

    for (id, parent) in [(&north, &far), (&north, &north), (&root, &far)] {
        let (status, body) = app
            .put(&admin(&acme), PATH, json!({"id": id, "parentId": parent}))
            .await;

        assert_eq!((status, &body["code"]), (400, &json!("organization_cycle")));
    }
    let (status, _) = app.put(&admin(&acme), PATH, json!({"id": far, "parentId": root})).await;
    assert_eq!(status, 200);
}

#[actix_web::test]
async fn the_tree_has_its_depth_and_number() {
    let app = TestApp::builder(&MODULES)
        .config("[directory]\nmax_depth = 1\nmax_organizations = 3")
        .build()
        .await;
    let acme = tenant(&app, "Acme").await;
    let north = organization(&app, &acme, "North", Some(&acme.organization_id.to_string())).await;

    let (deep, why) = app
        .post(&admin(&acme), PATH, json!({"name": "Deep", "parentId": north}))
        .await;
    assert_eq!((deep, &why["code"]), (400, &json!("organization_depth")));
    assert_eq!(
        (&why["error"], &why["details"][0]["path"], &why["details"][0]["code"]),
        (&json!("Invalid input"), &json!("parentId"), &json!("invalid_value"))
    );
    let other = organization(&app, &acme, "Other", None).await;
    let (many, why) = app.post(&admin(&acme), PATH, json!({"name": "Many"})).await;
    assert_eq!((many, &why["code"]), (400, &json!("organization_limit")));
    assert_eq!(
        (&why["error"], &why["details"][0]["path"], &why["details"][0]["code"]),
        (&json!("Invalid input"), &json!(""), &json!("invalid_value"))
    );
    let root = acme.organization_id.to_string();
    let (high, why) = app
        .put(&admin(&acme), PATH, json!({"id": root, "parentId": other}))
        .await;
    assert_eq!((high, &why["code"]), (400, &json!("organization_depth")));
}

#[actix_web::test]
async fn an_organization_in_use_and_the_last_one_stay() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let root = acme.organization_id.to_string();
    let north = organization(&app, &acme, "North", Some(&root)).await;
    let delete = |id: &str| format!("{PATH}?id={id}");

    let used = app.delete(&admin(&acme), &delete(&root), Value::Null).await;
    let free = app.delete(&admin(&acme), &delete(&north), Value::Null).await;
    let gone = app.delete(&admin(&acme), &delete(&north), Value::Null).await;
    let (last, why) = app.delete(&admin(&acme), &delete(&root), Value::Null).await;

    assert_eq!(
        used,
        (
            409,
            json!({"error": "Organization is in use", "code": "organization_in_use"})
        )
    );
    assert_eq!(free, (200, json!({"ok": true})));
    assert_eq!(gone, (404, json!({"error": "Organization not found"})));
    assert_eq!((last, &why["code"]), (400, &json!("last_organization")));
    assert_eq!(
        (&why["error"], &why["details"][0]["path"], &why["details"][0]["code"]),
        (&json!("Invalid input"), &json!("id"), &json!("invalid_value"))
    );
}

#[actix_web::test]
async fn a_limited_caller_changes_only_what_lies_below_it() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let root = acme.organization_id.to_string();
    let north = organization(&app, &acme, "North", Some(&root)).await;
    let south = organization(&app, &acme, "South", Some(&root)).await;
    let token = limited(&acme, &north);

    let top = app.post(&token, PATH, json!({"name": "Top"})).await;
    let outside = app
        .post(&token, PATH, json!({"name": "Outside", "parentId": south}))
        .await;
    let raised = app.put(&token, PATH, json!({"id": north, "parentId": null})).await;
    let hidden = app.put(&token, PATH, json!({"id": south, "name": "Mine"})).await;
    let unknown = app.put(&token, PATH, json!({"id": acme.id, "name": "Mine"})).await;
    let (inside, _) = app
        .post(&token, PATH, json!({"name": "Inside", "parentId": north}))
        .await;

    assert_eq!(top, (403, json!({"error": "Organization out of scope"})));
    assert_eq!(
        (outside.0, &outside.1["error"]),
        (400, &json!("Parent organization not found"))
    );
    assert_eq!(raised, top);
    assert_eq!(hidden, (404, json!({"error": "Organization not found"})));
    assert_eq!(hidden, unknown);
    assert_eq!(inside, 201);
}

#[actix_web::test]
async fn another_tenant_is_neither_seen_nor_changed() {
    for app in [
        TestApp::new(&MODULES).await,
        TestApp::builder(&MODULES).without_tenant_predicates().build().await,
    ] {
        let acme = tenant(&app, "Acme").await;
        let other = tenant(&app, "Other").await;
        let foreign = other.organization_id;
        let before = app.snapshot().await;

        let listed = names(&app, &admin(&acme), &format!("id={foreign}")).await;
        let changed = app
            .put(&admin(&acme), PATH, json!({"id": foreign, "name": "Mine"}))
            .await;
        let deleted = app
            .delete(&admin(&acme), &format!("{PATH}?id={foreign}"), Value::Null)
            .await;
        let below = app
            .post(&admin(&acme), PATH, json!({"name": "X", "parentId": foreign}))
            .await;
        let named = app
            .post(&admin(&acme), PATH, json!({"name": "X", "tenantId": other.id}))
            .await;

        assert_eq!(listed, Vec::<Value>::new());
        assert_eq!((changed.0, deleted.0, below.0, named.0), (404, 404, 400, 403));
        assert!(before == app.snapshot().await);
    }
}

#[actix_web::test]
async fn a_super_administrator_creates_organizations_in_any_tenant() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let other = tenant(&app, "Other").await;

    let input = json!({"name": "Branch", "tenantId": other.id, "parentId": other.organization_id});
    let (status, body) = app.post(&super_admin(&acme), PATH, input).await;
    let (unknown, _) = app
        .post(
            &super_admin(&acme),
            PATH,
            json!({"name": "X", "tenantId": acme.organization_id}),
        )
        .await;

    assert_eq!((status, unknown), (201, 400), "{body}");
    assert_eq!(names(&app, &admin(&other), "").await, ["Branch", "Other"]);
}

#[actix_web::test]
async fn a_list_costs_three_statements_and_two_while_nothing_changes() {
    let app = TestApp::builder(&MODULES).through_proxy().build().await;
    let acme = tenant(&app, "Acme").await;
    names(&app, &admin(&acme), "").await;
    let cost = async |query: &str| app.count_statements(names(&app, &admin(&acme), query)).await.1;

    // The version of the organizations and the page; after a change, also the facts about its rows.
    assert_eq!(cost("").await, 2);
    let (status, body) = app.post(&admin(&acme), PATH, json!({"name": "North"})).await;
    assert_eq!(status, 201, "{body}");
    assert_eq!((cost("").await, cost("").await), (3, 2));
}

#[actix_web::test]
async fn malformed_input_is_rejected() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;

    for query in [
        "id=x",
        "ids=x",
        "page=0",
        "pageSize=101",
        "view=graph",
        "status=gone",
        "parentId=",
    ] {
        assert_eq!(
            app.get(&admin(&acme), &format!("{PATH}?{query}")).await.0,
            400,
            "{query}"
        );
    }
    let long = "x".repeat(201);
    let path = format!("{PATH}?status=gone&parentId=zz&search={long}&page=0");
    let (status, body) = app.get(&admin(&acme), &path).await;
    let mut paths: Vec<&str> = details(&body).into_iter().map(|(path, _)| path).collect();
    paths.sort_unstable();
    assert_eq!((status, paths), (400, vec!["page", "parentId", "search", "status"]));
    for input in [
        json!({"name": "x", "slug": "X"}),
        json!({"name": "x", "logoUrl": "http://x"}),
        json!({"name": "x", "logoUrl": "https://user@x"}),
        json!({"name": "x", "logoUrl": "https://:password@x"}),
        json!({"name": ""}),
    ] {
        assert_eq!(app.post(&admin(&acme), PATH, input.clone()).await.0, 400, "{input}");
    }
    assert_eq!(app.delete(&admin(&acme), PATH, Value::Null).await.0, 400);
}

#[actix_web::test]
async fn acc_19_ids_of_another_tenant_are_like_ids_of_nothing() {
    for app in [
        TestApp::new(&MODULES).await,
        TestApp::builder(&MODULES).without_tenant_predicates().build().await,
    ] {
        let acme = tenant(&app, "Acme").await;
        let other = tenant(&app, "Other").await;
        let (own, nothing) = (acme.organization_id, uuid::Uuid::from_u128(7));
        let manager = format!("{}/{own}//directory.*", acme.id);
        let before = app.snapshot().await;
        let responses = async |organization: uuid::Uuid, tenant: uuid::Uuid| {
            let get = async |path: String| app.get(&manager, &path).await;
            vec![
                get(format!("{PATH}?ids={own},{organization}")).await,
                get(format!("{PATH}?id={organization}")).await,
                get(format!("{PATH}?parentId={organization}&view=tree")).await,
                get(format!("/directory/tenants?id={tenant}")).await,
                app.put(&manager, PATH, json!({"id": organization, "name": "X"})).await,
                app.put(&manager, PATH, json!({"id": own, "parentId": organization}))
                    .await,
                app.post(&manager, PATH, json!({"name": "X", "parentId": organization}))
                    .await,
                app.delete(&manager, &format!("{PATH}?id={organization}"), Value::Null)
                    .await,
                app.put(&manager, "/directory/tenants", json!({"id": tenant, "name": "X"}))
                    .await,
            ]
        };

        let foreign = responses(other.organization_id, other.id).await;

        assert_eq!(foreign, responses(nothing, nothing).await);
        assert_eq!(foreign[0].1["total"], 1);
        for query in [
            format!("tenantId={}", other.id),
            format!("tenantId={}&tenantId={}", acme.id, other.id),
        ] {
            let rejected = (403, json!({"error": "Not authorized to target this tenant."}));
            for path in [PATH, "/directory/tenants", "/directory/organization-switcher"] {
                assert_eq!(app.get(&manager, &format!("{path}?{query}")).await, rejected);
            }
        }
        assert!(app.snapshot().await == before);
    }
}

#[actix_web::test]
async fn a_selected_organization_is_the_top_of_what_is_seen_and_changed() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let root = acme.organization_id.to_string();
    let north = organization(&app, &acme, "North", Some(&root)).await;
    let far = organization(&app, &acme, "Far North", Some(&north)).await;
    let south = organization(&app, &acme, "South", Some(&root)).await;
    let send = async |method: Method, path: &str, body: Value| {
        let request = app.request(method, path).bearer(&admin(&acme));
        let response = request.header("X-Organization-Id", &north).json(&body).send().await;
        (response.status, response.json())
    };

    let (_, page) = send(Method::GET, &format!("{PATH}?view=tree"), json!({})).await;
    let hidden = send(Method::PUT, PATH, json!({"id": south, "name": "X"})).await;
    let outside = send(Method::POST, PATH, json!({"name": "X", "parentId": south})).await;
    let moved = send(Method::PUT, PATH, json!({"id": far, "parentId": south})).await;
    let (inside, _) = send(Method::POST, PATH, json!({"name": "X", "parentId": far})).await;

    let top = &page["items"][0];
    assert_eq!((&page["total"], &top["name"]), (&json!(2), &json!("North")));
    assert_eq!(
        (&top["parentId"], &top["depth"], &top["pathLabel"]),
        (&Value::Null, &json!(0), &json!("North"))
    );
    assert_eq!(top["children"][0]["pathLabel"], "North / Far North");
    assert_eq!(hidden, (404, json!({"error": "Organization not found"})));
    assert_eq!((outside.0, &outside.1["code"]), (400, &json!("parent_not_found")));
    assert_eq!(moved, outside);
    assert_eq!(inside, 201);
}

#[actix_web::test]
async fn a_change_of_one_organization_leaves_the_others_alone() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let root = acme.organization_id.to_string();
    let north = organization(&app, &acme, "North", Some(&root)).await;
    organization(&app, &acme, "Far North", Some(&north)).await;
    app.advance(backoffice_test_support::Duration::SECOND);
    let times = "select name, updated_at from directory_organizations where name <> 'Moved' order by name";
    let before = app.rows(times).await;

    let change = json!({"id": north, "name": "Moved", "parentId": null, "isActive": false,
        "logoUrl": "/api/attachments/image/1"});
    assert_eq!(app.put(&admin(&acme), PATH, change).await.0, 200);

    let after = app.rows(times).await;
    assert!(
        before.len() == 3 && after.iter().all(|row| before.contains(row)),
        "{before:?} {after:?}"
    );
    let (_, page) = app.get(&admin(&acme), &format!("{PATH}?status=inactive")).await;
    let item = &page["items"][0];
    assert_eq!((&page["total"], &item["id"]), (&json!(1), &json!(north)));
    assert_eq!(
        (&item["slug"], &item["depth"]),
        (&json!("north"), &json!(0)),
        "a new name keeps the slug"
    );
    assert_eq!(item["logoUrl"], "/api/attachments/image/1");
    let (_, same) = app
        .put(&admin(&acme), PATH, json!({"id": north, "logoUrl": null}))
        .await;
    assert_eq!(same, json!({"ok": true}));
    let (_, page) = app.get(&admin(&acme), &format!("{PATH}?id={north}")).await;
    assert_eq!(
        (&page["items"][0]["logoUrl"], &page["items"][0]["parentId"]),
        (&Value::Null, &Value::Null)
    );
}

#[actix_web::test]
async fn an_absent_parent_keeps_the_place_and_a_deleted_slug_is_free_again() {
    let app = TestApp::new(&MODULES).await;
    let acme = tenant(&app, "Acme").await;
    let root = acme.organization_id.to_string();
    let north = organization(&app, &acme, "North", Some(&root)).await;

    app.put(&admin(&acme), PATH, json!({"id": north, "name": "Still below"}))
        .await;
    let (_, page) = app.get(&admin(&acme), &format!("{PATH}?id={north}")).await;
    app.delete(&admin(&acme), &format!("{PATH}?id={north}"), Value::Null)
        .await;
    let (again, _) = app
        .post(&admin(&acme), PATH, json!({"name": "X", "slug": "north"}))
        .await;

    assert_eq!(page["items"][0]["parentId"], json!(root));
    assert_eq!(again, 201);
}
