use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, account, login};

/// An actor of tenant A that may manage ACLs, roles and users but holds little else.
pub(crate) async fn manager(fixture: &Fixture, extra: &[&str]) -> String {
    let mut features = vec!["auth.acl.manage", "auth.roles.*", "auth.users.*"];
    features.extend(extra);
    fixture.role("Manager", &features, None).await;
    fixture.user("manager@alpha.test", &["Manager"]).await.1
}

#[actix_web::test]
async fn acc_24_unknown_and_repeated_features_are_dropped() {
    let fixture = Fixture::new().await;
    let role = fixture.role("Dispatcher", &[], None).await;
    let put = |body| fixture.app.put(&fixture.a.token, "/auth/roles/acl", body);

    let features = json!(["auth.users.list", "no.such.feature", "auth.users.list", "nothing.*"]);
    let (status, response) = put(json!({"roleId": role, "features": features})).await;
    let (_, acl) = fixture
        .app
        .get(&fixture.a.token, &format!("/auth/roles/acl?roleId={role}"))
        .await;

    assert_eq!((status, response["sanitized"].as_bool()), (200, Some(true)));
    assert_eq!(acl["features"], json!(["auth.users.list"]));
    assert_eq!(acl["isSuperAdmin"], false);
    assert!(acl["updatedAt"].is_string());
}

#[actix_web::test]
async fn acc_22_callers_cannot_grant_rights_they_do_not_hold() {
    let fixture = Fixture::new().await;
    let token = manager(&fixture, &[]).await;
    let role = fixture.role("Dispatcher", &[], None).await;
    let put = |body| fixture.app.put(&token, "/auth/roles/acl", body);

    for (feature, expected) in [
        ("auth.users.list", 200),
        ("auth.users.*", 200),
        ("auth.*", 403),
        ("*", 403),
        ("audit_logs.view_self", 403),
    ] {
        let (status, response) = put(json!({"roleId": role, "features": [feature]})).await;
        assert_eq!(status, expected, "{feature}");
        if expected == 403 {
            assert_eq!(response["code"], "grant_exceeds_rights");
            assert_eq!(response["features"], json!([feature]));
        }
    }
    let (flag, text) = put(json!({"roleId": role, "isSuperAdmin": true})).await;
    assert_eq!((flag, text["code"].as_str()), (403, Some("super_admin_required")));
    let (_, acl) = fixture.app.get(&token, &format!("/auth/roles/acl?roleId={role}")).await;
    assert_eq!(
        acl["features"],
        json!(["auth.users.*"]),
        "rejected requests store nothing"
    );
}

#[actix_web::test]
async fn acc_22_a_role_with_more_rights_can_not_be_assigned() {
    let fixture = Fixture::new().await;
    let token = manager(&fixture, &[]).await;
    let (user, _) = fixture.user("ann@alpha.test", &[]).await;

    let (status, response) = fixture
        .app
        .put(&token, "/auth/users", json!({"id": user, "roles": ["admin"]}))
        .await;
    let new = json!({"email": "new@alpha.test", "organizationId": fixture.a.organization, "roles": ["admin"]});
    let (created, _) = fixture.app.post(&token, "/auth/users", new).await;

    assert_eq!((status, response["code"].as_str()), (403, Some("grant_exceeds_rights")));
    assert_eq!(created, 403);
    assert_eq!(
        fixture
            .app
            .rows("select id from auth_users where email = 'new@alpha.test'")
            .await
            .len(),
        0
    );
}

#[actix_web::test]
async fn acc_23_credentials_of_a_stronger_user_are_out_of_reach() {
    let fixture = Fixture::new().await;
    let token = manager(&fixture, &[]).await;

    let body = json!({"id": fixture.a.admin, "password": "a new long password"});
    let (password, text) = fixture.app.put(&token, "/auth/users", body).await;
    let (email, _) = fixture
        .app
        .put(
            &token,
            "/auth/users",
            json!({"id": fixture.a.admin, "email": "x@alpha.test"}),
        )
        .await;

    assert_eq!(password, 403);
    assert_eq!(text["error"], "Not authorized to change this user's credentials.");
    assert_eq!(email, 403);
}

#[actix_web::test]
async fn acc_26_super_administrators_are_invisible_to_others() {
    let fixture = Fixture::new().await;
    let hidden = account(
        &fixture.app,
        Some(fixture.a.id),
        Some(fixture.a.organization),
        "boss@alpha.test",
        &["admin"],
        true,
    )
    .await;
    login(&fixture.app, "boss@alpha.test").await;

    let (_, list) = fixture.app.get(&fixture.a.token, "/auth/users").await;
    let (update, body) = fixture
        .app
        .put(&fixture.a.token, "/auth/users", json!({"id": hidden, "name": "X"}))
        .await;
    let (_, roles) = fixture.app.get(&fixture.a.token, "/auth/roles").await;
    let (_, all) = fixture.app.get(&fixture.root, "/auth/users").await;

    let names = |list: &Value, field: &str| -> Vec<String> {
        list["items"]
            .as_array()
            .expect("items")
            .iter()
            .filter_map(|item| item[field].as_str().map(str::to_owned))
            .collect()
    };
    assert!(!names(&list, "email").contains(&"boss@alpha.test".to_owned()));
    assert_eq!((update, body), (404, json!({"error": "User not found"})));
    assert!(!names(&roles, "name").contains(&"superadmin".to_owned()));
    assert!(names(&all, "email").contains(&"boss@alpha.test".to_owned()));
    assert_eq!(all["total"], 4);
}

#[actix_web::test]
async fn acc_26_the_last_super_administrator_stays() {
    let fixture = Fixture::new().await;
    let (_, list) = fixture.app.get(&fixture.root, "/auth/users?search=root@").await;
    let root: Uuid = list["items"][0]["id"].as_str().expect("an id").parse().expect("a UUID");
    let other = account(
        &fixture.app,
        Some(fixture.a.id),
        Some(fixture.a.organization),
        "boss@alpha.test",
        &[],
        true,
    )
    .await;
    let token = login(&fixture.app, "boss@alpha.test").await;

    let (first, _) = fixture
        .app
        .delete(&token, &format!("/auth/users?id={root}"), json!(null))
        .await;
    let (demoted, text) = fixture
        .app
        .put(&token, "/auth/users", json!({"id": other, "roles": []}))
        .await;

    assert_eq!(first, 200);
    assert_eq!((demoted, text["code"].as_str()), (400, Some("last_super_admin")));
}

#[actix_web::test]
async fn a_changed_role_acl_takes_effect_on_the_next_request() {
    let fixture = Fixture::new().await;
    fixture.app.start_background();
    fixture.app.poll_revocations().await;
    let role = fixture.role("Reader", &["auth.users.list"], None).await;
    let (_, token) = fixture.user("ann@alpha.test", &["Reader"]).await;
    assert_eq!(fixture.app.get(&token, "/auth/users").await.0, 200);

    fixture
        .app
        .put(
            &fixture.a.token,
            "/auth/roles/acl",
            json!({"roleId": role, "features": []}),
        )
        .await;

    let (status, body) = fixture.app.get(&token, "/auth/users").await;
    assert_eq!(
        (status, body["requiredFeatures"].clone()),
        (403, json!(["auth.users.list"]))
    );
}

#[actix_web::test]
async fn acc_27_an_organization_limit_limits_the_visible_rows() {
    let fixture = Fixture::new().await;
    let p = fixture.organization("P", None).await;
    let c = fixture.organization("C", Some(p)).await;
    let q = fixture.organization("Q", None).await;
    fixture.role("Limited", &["auth.users.list"], Some(&[p])).await;
    for (email, home) in [("p@alpha.test", p), ("c@alpha.test", c), ("q@alpha.test", q)] {
        account(&fixture.app, Some(fixture.a.id), Some(home), email, &["Limited"], false).await;
    }
    let token = login(&fixture.app, "p@alpha.test").await;
    let emails = |list: &Value| -> Vec<String> {
        list["items"]
            .as_array()
            .expect("items")
            .iter()
            .filter_map(|item| item["email"].as_str().map(str::to_owned))
            .collect()
    };
    let select = |header: &str| {
        let request = fixture.app.request(Method::GET, "/auth/users").bearer(&token);
        request.header("x-organization-id", header).send()
    };

    let (_, all) = fixture.app.get(&token, "/auth/users").await;
    let filtered = select(&c.to_string()).await;
    let outside = select(&q.to_string()).await;

    assert_eq!(emails(&all), ["c@alpha.test", "p@alpha.test"]);
    assert_eq!(emails(&filtered.json()), ["c@alpha.test"]);
    assert_eq!(
        (outside.status, outside.json()),
        (403, json!({"error": "Organization out of scope"}))
    );
}

#[actix_web::test]
async fn acc_24_25_an_own_acl_counts_instead_of_the_roles_until_it_is_removed() {
    let fixture = Fixture::new().await;
    let (user, token) = fixture.user("ann@alpha.test", &["admin"]).await;
    let put = |body: Value| fixture.app.put(&fixture.root, "/auth/users/acl", body);
    let path = format!("/auth/users/acl?userId={user}");

    let (_, none) = fixture.app.get(&fixture.root, &path).await;
    let limited = json!({"userId": user, "features": ["auth.users.list"], "organizations": [fixture.a.organization]});
    let (created, _) = put(limited).await;
    let with_own = (
        fixture.app.get(&token, "/auth/users").await.0,
        fixture.app.get(&token, "/auth/roles").await.0,
    );
    let (unknown, sanitized) = put(json!({"userId": user, "features": ["no.such.feature"]})).await;
    let (_, emptied) = fixture.app.get(&fixture.root, &path).await;
    let (removed, _) = put(json!({"userId": user, "features": []})).await;
    let (_, gone) = fixture.app.get(&fixture.root, &path).await;

    let nothing =
        json!({"hasCustomAcl": false, "isSuperAdmin": false, "features": [], "organizations": null, "updatedAt": null});
    assert_eq!((none, gone), (nothing.clone(), nothing));
    assert_eq!((created, with_own), (200, (200, 403)));
    assert_eq!((unknown, sanitized["sanitized"].as_bool()), (200, Some(true)));
    assert_eq!(
        (emptied["hasCustomAcl"].as_bool(), emptied["features"].clone()),
        (Some(true), json!([]))
    );
    assert_eq!(
        emptied["organizations"],
        json!([fixture.a.organization]),
        "what is not sent stays"
    );
    assert_eq!((removed, fixture.app.get(&token, "/auth/roles").await.0), (200, 200));
}

#[actix_web::test]
async fn acc_23_removing_a_restriction_means_granting_the_roles() {
    let fixture = Fixture::new().await;
    let token = manager(&fixture, &[]).await;
    let (user, _) = fixture.user("ann@alpha.test", &["admin"]).await;
    let limit = json!({"userId": user, "features": ["auth.users.list"], "organizations": null});
    fixture.app.put(&fixture.root, "/auth/users/acl", limit).await;

    let (rejected, text) = fixture
        .app
        .put(&token, "/auth/users/acl", json!({"userId": user, "features": []}))
        .await;
    let (flag, flag_text) = fixture
        .app
        .put(&token, "/auth/users/acl", json!({"userId": user, "isSuperAdmin": true}))
        .await;
    let (missing, _) = fixture.app.get(&token, "/auth/users/acl?userId=x").await;

    assert_eq!((rejected, text["code"].as_str()), (403, Some("grant_exceeds_rights")));
    assert_eq!((flag, flag_text["code"].as_str()), (403, Some("super_admin_required")));
    assert_eq!(missing, 400);
    let (_, acl) = fixture
        .app
        .get(&fixture.root, &format!("/auth/users/acl?userId={user}"))
        .await;
    assert_eq!(acl["features"], json!(["auth.users.list"]));
}

#[actix_web::test]
async fn fields_of_an_acl_are_left_out_and_not_null() {
    let fixture = Fixture::new().await;
    let role = fixture.role("Reader", &["auth.users.list"], None).await;
    let before = fixture.app.snapshot().await;

    for (path, target) in [
        ("/auth/roles/acl", json!({"roleId": role})),
        ("/auth/users/acl", json!({"userId": fixture.a.admin})),
    ] {
        for field in ["features", "isSuperAdmin"] {
            let mut body = target.clone();
            body[field] = json!(null);
            let (status, response) = fixture.app.put(&fixture.root, path, body).await;
            assert_eq!(
                (status, &response["error"]),
                (400, &json!("Invalid input")),
                "{path} {field}"
            );
            assert_eq!(response["details"][0]["path"], field, "{path}");
        }
    }
    assert_eq!(fixture.app.snapshot().await, before);
}

#[actix_web::test]
async fn a_role_that_can_not_be_seen_finds_no_users() {
    let fixture = Fixture::new().await;
    // Holds the role of super administrators, but the user's own ACL takes precedence.
    account(
        &fixture.app,
        Some(fixture.a.id),
        Some(fixture.a.organization),
        "former@alpha.test",
        &[],
        true,
    )
    .await;
    let (_, list) = fixture.app.get(&fixture.root, "/auth/users?search=former@").await;
    let (user, role) = (&list["items"][0]["id"], &list["items"][0]["roleIds"][0]);
    let acl = json!({"userId": user, "features": ["auth.users.list"], "isSuperAdmin": false});
    assert_eq!(fixture.app.put(&fixture.root, "/auth/users/acl", acl).await.0, 200);
    let role = role.as_str().expect("an id");

    let path = format!("/auth/users?roleIds={role}");
    let (_, seen) = fixture.app.get(&fixture.a.token, &path).await;
    let (_, all) = fixture.app.get(&fixture.root, &path).await;

    assert_eq!(
        fixture.app.get(&fixture.a.token, "/auth/users?search=former@").await.1["total"],
        1
    );
    assert_eq!((&seen["total"], &all["total"]), (&json!(0), &json!(2)));
}

#[actix_web::test]
async fn acc_24_what_is_left_out_of_an_acl_stays() {
    let fixture = Fixture::new().await;
    let features = ["auth.users.list", "auth.roles.list"];
    let role = fixture
        .role("Dispatcher", &features, Some(&[fixture.a.organization]))
        .await;
    let put = |body: Value| fixture.app.put(&fixture.a.token, "/auth/roles/acl", body);
    let path = format!("/auth/roles/acl?roleId={role}");
    let stored = async || {
        let (_, acl) = fixture.app.get(&fixture.a.token, &path).await;
        (acl["features"].clone(), acl["organizations"].clone())
    };
    let list = json!([fixture.a.organization]);

    let (_, known) = put(json!({"roleId": role, "features": ["auth.users.list"]})).await;
    assert_eq!(
        (&known["sanitized"], stored().await),
        (&json!(false), (json!(["auth.users.list"]), list.clone()))
    );
    let (_, unknown) = put(json!({"roleId": role, "features": ["no.such.feature"]})).await;
    assert_eq!(
        (&unknown["sanitized"], stored().await),
        (&json!(true), (json!([]), list.clone()))
    );
    let duplicates = json!({"roleId": role, "organizations": [fixture.a.organization, fixture.a.organization]});
    let (_, duplicates) = put(duplicates).await;
    assert_eq!(
        (&duplicates["sanitized"], stored().await),
        (&json!(true), (json!([]), list))
    );
}

#[actix_web::test]
async fn acc_25_roles_count_side_by_side_and_one_without_features_adds_no_organizations() {
    let fixture = Fixture::new().await;
    let second = fixture.organization("Second", None).await;
    fixture
        .role("Users", &["auth.users.list"], Some(&[fixture.a.organization]))
        .await;
    fixture
        .role("Organizations", &["directory.organizations.view"], Some(&[second]))
        .await;
    fixture.role("Empty", &[], None).await;
    let seen = async |token: &str| {
        let (status, body) = fixture.app.get(token, "/directory/organizations").await;
        (status, body["items"].as_array().map_or(0, Vec::len))
    };

    let (_, both) = fixture
        .user("both@alpha.test", &["Users", "Organizations", "Empty"])
        .await;
    let (_, one) = fixture.user("one@alpha.test", &["Organizations", "Empty"]).await;
    let (_, none) = fixture.user("none@alpha.test", &["Empty"]).await;

    assert_eq!(
        seen(&both).await,
        (200, 1),
        "where the feature is granted, and nowhere else"
    );
    assert_eq!(
        fixture.app.get(&both, "/auth/users").await.0,
        200,
        "each role has its features"
    );
    assert_eq!(seen(&one).await, (200, 1), "a role without features opens nothing");
    assert_eq!(fixture.app.get(&one, "/auth/users").await.0, 403);
    assert_eq!(seen(&none).await.0, 403);
}

#[actix_web::test]
async fn acc_25_an_own_acl_hides_the_flag_of_a_role() {
    let fixture = Fixture::new().await;
    // Another super administrator remains.
    let id = account(&fixture.app, None, None, "second@platform.test", &["superadmin"], false).await;
    let token = login(&fixture.app, "second@platform.test").await;
    let is_super = async || fixture.app.get(&token, "/auth/profile").await.1["isSuperAdmin"].clone();
    assert_eq!(is_super().await, json!(true));

    let own = json!({"userId": id, "features": ["auth.users.list"], "isSuperAdmin": false});
    let (status, response) = fixture.app.put(&fixture.root, "/auth/users/acl", own).await;

    assert_eq!(status, 200, "{response}");
    assert_eq!(is_super().await, json!(false));
}

#[actix_web::test]
async fn an_acl_is_not_sent_again_until_it_changes() {
    let fixture = Fixture::new().await;
    let role = fixture.role("Dispatcher", &["auth.users.list"], None).await;
    let (user, _) = fixture.user("ann@alpha.test", &["Dispatcher"]).await;

    for (put, get, owner) in [
        (
            "/auth/roles/acl",
            format!("/auth/roles/acl?roleId={role}"),
            json!({"roleId": role}),
        ),
        (
            "/auth/users/acl",
            format!("/auth/users/acl?userId={user}"),
            json!({"userId": user}),
        ),
    ] {
        let read = async |tag: &str| {
            let request = fixture.app.request(Method::GET, &get).bearer(&fixture.a.token);
            let response = request.header("If-None-Match", tag).send().await;
            (response.status, response.header("etag").expect("a tag"), response)
        };
        let (_, first, _) = read("none").await;
        assert_eq!(read(&first).await.0, 304, "{get}");

        let mut body = owner;
        body["features"] = json!(["auth.roles.list"]);
        let written = fixture.app.send(&fixture.a.token, Method::PUT, put, &body).await;
        let (status, second, response) = read(&first).await;
        assert_eq!((written.status, status), (200, 200), "{get}");
        assert_eq!(response.json()["features"], json!(["auth.roles.list"]));
        assert_eq!(read(&second).await.0, 304, "{get}");

        let (undone, why) = fixture.app.undo(&fixture.a.token, &written).await;
        assert_eq!(undone, 200, "{why}");
        let (status, third, _) = read(&second).await;
        assert_eq!(status, 200, "{get}");
        assert_ne!(third, first, "{get}");
    }
    let get = format!("/auth/users/acl?userId={user}");
    let request = || fixture.app.request(Method::GET, &get).bearer(&fixture.a.token);
    let tag = request().send().await.header("etag").expect("a tag");
    let path = format!("/auth/users?id={user}");
    assert_eq!(fixture.app.delete(&fixture.a.token, &path, Value::Null).await.0, 200);
    assert_eq!(request().header("If-None-Match", &tag).send().await.status, 404);
}
