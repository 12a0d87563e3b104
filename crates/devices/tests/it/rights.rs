//! Who sees, changes and registers devices.

use actix_web::http::Method;
use backoffice_test_accounts::{account, login};
use backoffice_test_support::{Duration, details};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{DEVICES, Fixture, OF_USERS, one};

#[actix_web::test]
async fn dev_4_only_the_owner_changes_a_device() {
    let fixture = Fixture::new().await;
    let device = fixture
        .register(&fixture.a.token, json!({"deviceId": "d1", "platform": "ios"}))
        .await;
    let (_, employee) = fixture.user("employee@alpha.test", &["employee"]).await;
    let (_, other_admin) = fixture.user("second@alpha.test", &["admin"]).await;
    let before = fixture.devices(&fixture.a.token).await;

    let random = format!("{DEVICES}/{}", Uuid::from_u128(7));
    let malformed = format!("{DEVICES}/x");
    for (method, token, path, expected) in [
        (Method::PUT, &other_admin, one(&device), 403),
        (Method::DELETE, &other_admin, one(&device), 403),
        (Method::PUT, &employee, one(&device), 403),
        (Method::DELETE, &employee, one(&device), 403),
        (Method::PUT, &fixture.b.token, one(&device), 404),
        (Method::DELETE, &fixture.b.token, one(&device), 404),
        (Method::PUT, &fixture.a.token, random, 404),
        (Method::PUT, &fixture.a.token, malformed, 400),
    ] {
        let response = fixture.app.send(token, method, &path, &json!({"locale": "pl"})).await;
        assert_eq!(response.status, expected, "{path}: {}", response.text());
    }
    assert_eq!(fixture.devices(&fixture.a.token).await, before);
}

#[actix_web::test]
async fn a_device_outside_the_organizations_of_a_caller_is_not_found() {
    let fixture = Fixture::new().await;
    let device = fixture
        .register(&fixture.a.token, json!({"deviceId": "d1", "platform": "ios"}))
        .await;
    let branch = fixture.organization("Branch", Some(fixture.a.organization)).await;
    for (name, organization) in [("inside", fixture.a.organization), ("outside", branch)] {
        fixture.role(name, &["devices.*"], Some(&[organization])).await;
    }
    let (_, inside) = fixture.user("inside@alpha.test", &["inside"]).await;
    let (_, outside) = fixture.user("outside@alpha.test", &["outside"]).await;
    let own = fixture
        .register(&outside, json!({"deviceId": "d1", "platform": "ios"}))
        .await;
    let change = async |token: &str, device: &Value| {
        let body = json!({"locale": "pl"});
        let response = fixture.app.send(token, Method::PUT, &one(device), &body).await;
        (response.status, response.json()["code"].clone())
    };

    assert_eq!(change(&inside, &device).await, (403, json!("not_owner")));
    assert_eq!(change(&outside, &device).await, (404, Value::Null));
    assert_eq!(change(&outside, &own).await, (200, Value::Null));
}

#[actix_web::test]
async fn dev_7_lists_show_only_the_requested_devices() {
    let fixture = Fixture::new().await;
    let (colleague, token) = fixture.user("employee@alpha.test", &["employee"]).await;
    fixture
        .register(&token, json!({"deviceId": "d1", "platform": "ios"}))
        .await;
    fixture
        .register(&fixture.a.token, json!({"deviceId": "d2", "platform": "web"}))
        .await;
    let names = async |path: &str| -> Vec<Value> {
        let items = fixture.list(&fixture.a.token, path).await;
        items.into_iter().map(|item| item["deviceId"].clone()).collect()
    };

    let many: Vec<String> = (0..201).map(|n| Uuid::from_u128(n).to_string()).collect();
    for (query, expected) in [
        (format!("ids={}", many.join(",")), 400),
        ("ids=x".to_owned(), 400),
        ("platform=x".to_owned(), 400),
    ] {
        let (status, body) = fixture.app.get(&fixture.a.token, &format!("{DEVICES}?{query}")).await;
        assert_eq!(status, expected, "{query}: {body}");
    }
    for path in [DEVICES, OF_USERS] {
        let path = format!("{path}?userId=x&platform=x&page=0");
        let (status, body) = fixture.app.get(&fixture.a.token, &path).await;
        let mut paths: Vec<&str> = details(&body).into_iter().map(|(path, _)| path).collect();
        paths.sort_unstable();
        assert_eq!((status, paths), (400, vec!["page", "platform", "userId"]), "{path}");
    }
    assert!(names(&format!("{DEVICES}?ids=")).await.is_empty());
    assert_eq!(names(DEVICES).await, ["d2"]);
    assert!(names(&format!("{DEVICES}?userId={colleague}")).await.is_empty());
    assert_eq!(names(&format!("{OF_USERS}?userId={colleague}")).await, ["d1"]);
    assert_eq!(
        names(&format!("{OF_USERS}?sortField=createdAt&sortDir=asc")).await,
        ["d1", "d2"]
    );
    assert_eq!(names(&format!("{OF_USERS}?platform=web")).await, ["d2"]);
    assert_eq!(fixture.app.get(&token, OF_USERS).await.0, 403);
    let of_beta = fixture
        .list(&fixture.b.token, &format!("{OF_USERS}?userId={colleague}"))
        .await;
    assert!(of_beta.is_empty());
    let recorded = "select 1 from audit_access_logs where resource_kind = 'devices.device'";
    assert!(!fixture.app.rows(recorded).await.is_empty());
}

#[actix_web::test]
async fn dev_8_administrators_register_devices_of_users_of_their_organizations() {
    let fixture = Fixture::new().await;
    let (colleague, token) = fixture.user("employee@alpha.test", &["employee"]).await;
    let body = |user: Uuid| json!({"userId": user, "deviceId": "d1", "platform": "ios"});
    let branch = fixture.organization("Branch", Some(fixture.a.organization)).await;
    fixture.role("local", &["devices.*"], Some(&[branch])).await;
    let (_, local) = fixture.user("local@alpha.test", &["local"]).await;

    let (status, created) = fixture.app.post(&fixture.a.token, OF_USERS, body(colleague)).await;
    assert_eq!((status, &created["revived"]), (201, &json!(false)), "{created}");
    assert_eq!(fixture.devices(&token).await[0]["id"], created["id"]);
    let unknown = fixture
        .app
        .post(&fixture.a.token, OF_USERS, body(fixture.b.admin))
        .await;
    assert_eq!(unknown, (400, json!({"error": "Target user not found"})));
    let (status, body_of_403) = fixture.app.post(&local, OF_USERS, body(colleague)).await;
    assert_eq!(status, 403, "{body_of_403}");
    let (status, _) = fixture.app.post(&token, OF_USERS, body(colleague)).await;
    assert_eq!(status, 403);
    let (status, _) = fixture
        .app
        .post(&fixture.a.token, OF_USERS, json!({"deviceId": "d1", "platform": "ios"}))
        .await;
    assert_eq!(status, 400);
    let other = json!({"userId": fixture.a.admin, "deviceId": "d1", "platform": "ios"});
    assert_eq!(fixture.app.post(&token, DEVICES, other).await.0, 403);
}

/// Moves a user to another organization.
async fn move_user(fixture: &Fixture, user: Uuid, organization: Uuid) {
    let moved = json!({"id": user, "organizationId": organization});
    let (status, body) = fixture.app.put(&fixture.a.token, "/auth/users", moved).await;
    assert_eq!(status, 200, "{body}");
}

#[actix_web::test]
async fn the_lists_of_administrators_follow_the_present_organization_of_users() {
    let fixture = Fixture::new().await;
    let former = fixture.organization("Former", Some(fixture.a.organization)).await;
    let present = fixture.organization("Present", Some(fixture.a.organization)).await;
    for (name, organization) in [("former", former), ("present", present)] {
        fixture.role(name, &["devices.admin"], Some(&[organization])).await;
    }
    let (_, of_former) = fixture.user("former@alpha.test", &["former"]).await;
    let (_, of_present) = fixture.user("present@alpha.test", &["present"]).await;
    let (user, _) = fixture.user("employee@alpha.test", &["employee"]).await;
    let list = async |token: &str, tag: &str| {
        let request = fixture.app.request(Method::GET, OF_USERS).bearer(token);
        request.header("If-None-Match", tag).send().await
    };
    move_user(&fixture, user, former).await;
    let own = login(&fixture.app, "employee@alpha.test").await;
    fixture
        .register(&own, json!({"deviceId": "d1", "platform": "ios"}))
        .await;
    let before = list(&of_former, "W/\"other\"").await;
    let tag = before.header("etag").expect("a tag");

    move_user(&fixture, user, present).await;

    let after = list(&of_former, &tag).await;
    assert_eq!((before.json()["total"].clone(), after.status), (json!(1), 200));
    assert_eq!(after.json()["total"], 0);
    for token in [&of_present, &fixture.a.token] {
        assert_eq!(fixture.list(token, OF_USERS).await[0]["deviceId"], "d1");
    }
}

#[actix_web::test]
async fn a_user_with_more_rights_keeps_their_push_messages_and_devices() {
    let fixture = Fixture::with_config("[rate_limits]\nenabled = false\n[devices]\nmax_per_user = 2\n").await;
    fixture
        .role("local", &["devices.*"], Some(&[fixture.a.organization]))
        .await;
    let (_, local) = fixture.user("local@alpha.test", &["local"]).await;
    let (_, equal) = fixture.user("second@alpha.test", &["admin"]).await;
    let register = async |token: &str, name: &str, more: Value| {
        fixture.app.advance(Duration::MINUTE);
        let mut body = json!({"userId": fixture.a.admin, "deviceId": name, "platform": "ios"});
        for (field, value) in more.as_object().expect("fields") {
            body[field] = value.clone();
        }
        let (status, body) = fixture.app.post(token, OF_USERS, body).await;
        (status, body["code"].clone())
    };
    let names = async || -> Vec<Value> {
        let devices = fixture.devices(&fixture.a.token).await;
        devices.into_iter().map(|device| device["deviceId"].clone()).collect()
    };
    let push = || json!({"pushToken": "a-token-of-the-caller"});
    let (accepted, rejected) = ((201, Value::Null), (403, json!("grant_exceeds_rights")));
    let body = json!({"deviceId": "d1", "platform": "ios", "pushToken": "a-token", "pushProvider": "log"});
    fixture.register(&fixture.a.token, body).await;

    assert_eq!(register(&local, "d1", push()).await, rejected);
    assert_eq!(
        register(&local, "d1", json!({"pushProvider": "webhook"})).await,
        rejected
    );
    assert_eq!(register(&local, "d2", push()).await, rejected);
    assert_eq!(names().await, ["d1"]);
    assert_eq!(register(&local, "d1", json!({"osVersion": "18"})).await, accepted);
    assert_eq!(register(&local, "d2", json!({})).await, accepted);
    assert_eq!(register(&local, "d3", json!({})).await, rejected);
    assert_eq!(names().await, ["d2", "d1"]);
    assert_eq!(register(&equal, "d3", push()).await, accepted);
    assert_eq!(names().await, ["d3", "d2"]);
    let own = json!({"deviceId": "d4", "platform": "ios", "pushToken": "another-token"});
    fixture.register(&fixture.a.token, own).await;
}

#[actix_web::test]
async fn undo_and_redo_are_compared_with_the_rights_of_the_owner() {
    let fixture = Fixture::new().await;
    fixture
        .role("local", &["devices.*", "audit_logs.*"], Some(&[fixture.a.organization]))
        .await;
    let (_, local) = fixture.user("local@alpha.test", &["local"]).await;
    let (_, equal) = fixture.user("second@alpha.test", &["admin"]).await;
    let token = &fixture.a.token;
    let body = json!({"deviceId": "d1", "platform": "ios", "pushToken": "a-token", "pushProvider": "log"});
    let registered = fixture.app.send(token, Method::POST, DEVICES, &body).await;
    let path = one(&registered.json());
    let update = async |body: Value| {
        fixture.app.advance(Duration::MINUTE);
        fixture.app.send(token, Method::PUT, &path, &body).await
    };
    let state = async || {
        let devices = fixture.devices(token).await;
        (devices[0]["pushProvider"].clone(), devices[0]["pushEnabled"].clone())
    };
    let rejected = |(status, body): (u16, Value)| {
        assert_eq!((status, &body["code"]), (403, &json!("grant_exceeds_rights")), "{body}");
    };

    rejected(fixture.app.undo(&local, &registered).await);
    assert_eq!(state().await, (json!("log"), json!(true)));

    let version = update(json!({"osVersion": "18"})).await;
    assert_eq!(fixture.app.undo(&local, &version).await.0, 200);
    let provider = update(json!({"pushProvider": "fcm"})).await;
    rejected(fixture.app.undo(&local, &provider).await);
    assert_eq!(state().await, (json!("fcm"), json!(true)));
    assert_eq!(fixture.app.undo(&equal, &provider).await.0, 200);
    assert_eq!(state().await, (json!("log"), json!(true)));
    rejected(fixture.app.redo(&local, &provider).await);
    assert_eq!(fixture.app.redo(&equal, &provider).await.0, 200);
    assert_eq!(state().await, (json!("fcm"), json!(true)));
}

#[actix_web::test]
async fn a_super_administrator_is_an_unknown_user_to_other_administrators() {
    let fixture = Fixture::new().await;
    fixture
        .role("local", &["devices.*"], Some(&[fixture.a.organization]))
        .await;
    let (_, local) = fixture.user("local@alpha.test", &["local"]).await;
    let (tenant, organization) = (Some(fixture.a.id), Some(fixture.a.organization));
    let hidden = account(&fixture.app, tenant, organization, "hidden@alpha.test", &[], true).await;
    let own = login(&fixture.app, "hidden@alpha.test").await;
    let body = |user: Uuid| json!({"userId": user, "deviceId": "d1", "platform": "ios"});
    let register = async |token: &str, user: Uuid| fixture.app.post(token, OF_USERS, body(user)).await;

    let unknown = register(&fixture.a.token, Uuid::from_u128(7)).await;
    assert_eq!(unknown, (400, json!({"error": "Target user not found"})));
    assert_eq!(register(&fixture.a.token, hidden).await, unknown);
    let of_local = register(&local, hidden).await;
    assert_eq!(
        (of_local.0, &of_local),
        (403, &register(&local, Uuid::from_u128(7)).await)
    );
    assert!(fixture.devices(&own).await.is_empty());
    assert_eq!(register(&own, hidden).await.0, 201);
    let request = fixture.app.request(Method::POST, OF_USERS).bearer(&fixture.root);
    let request = request.header("X-Tenant-Id", &fixture.a.id.to_string());
    let by_root = request.json(&body(hidden)).send().await;
    assert_eq!(by_root.status, 201, "{}", by_root.text());
}

#[actix_web::test]
async fn administrators_register_devices_of_users_who_have_changed_organization() {
    let fixture = Fixture::with_config("[rate_limits]\nenabled = false\n[devices]\nmax_per_user = 2\n").await;
    let former = fixture.organization("Former", Some(fixture.a.organization)).await;
    let present = fixture.organization("Present", Some(fixture.a.organization)).await;
    for (name, organization) in [("former", former), ("present", present)] {
        fixture.role(name, &["devices.*"], Some(&[organization])).await;
    }
    let (_, of_former) = fixture.user("former@alpha.test", &["former"]).await;
    let (_, of_present) = fixture.user("present@alpha.test", &["present"]).await;
    // The user has no role: those of the whole tenant grant more than an administrator of one organization holds.
    let (user, _) = fixture.user("employee@alpha.test", &[]).await;
    let move_to = async |organization: Uuid| move_user(&fixture, user, organization).await;
    let register = async |token: &str, name: &str| {
        fixture.app.advance(Duration::MINUTE);
        let body = json!({"userId": user, "deviceId": name, "platform": "ios"});
        fixture.app.post(token, OF_USERS, body).await
    };
    let listed = async |token: &str| -> Vec<Value> {
        let devices = fixture.list(token, OF_USERS).await;
        devices.into_iter().map(|device| device["deviceId"].clone()).collect()
    };
    move_to(former).await;
    let (status, first) = register(&of_former, "d1").await;
    assert_eq!(status, 201, "{first}");
    assert_eq!(register(&of_former, "d2").await.0, 201);
    assert_eq!(listed(&of_former).await, ["d2", "d1"]);
    move_to(present).await;

    let (status, updated) = register(&of_present, "d1").await;
    assert_eq!((status, &updated), (201, &first), "{updated}");
    assert_eq!(listed(&of_present).await, ["d1", "d2"]);
    assert!(listed(&of_former).await.is_empty());

    // The limit deactivates the device that has the former organization still.
    let (status, created) = register(&of_present, "d3").await;
    assert_eq!(status, 201, "{created}");
    assert_eq!(listed(&of_present).await, ["d3", "d1"]);
    assert!(listed(&of_former).await.is_empty());

    assert_eq!(register(&of_former, "d1").await.0, 403);
    move_to(former).await;
    assert_eq!(register(&of_present, "d1").await.0, 403);
    assert_eq!(register(&of_former, "d1").await.0, 201);
}

#[actix_web::test]
async fn devices_of_users_are_registered_with_one_feature_and_undone_with_it() {
    let fixture = Fixture::new().await;
    let (colleague, token) = fixture.user("employee@alpha.test", &["employee"]).await;
    let role = fixture
        .role("Administrator", &["devices.admin", "audit_logs.undo_self"], None)
        .await;
    let (administrator, admin) = fixture.user("devices@alpha.test", &["Administrator"]).await;
    let register = async |user: Uuid, version: &str| {
        let body = json!({"userId": user, "deviceId": "d1", "platform": "ios", "osVersion": version});
        fixture.app.send(&admin, Method::POST, OF_USERS, &body).await
    };

    let created = register(colleague, "17").await;
    let updated = register(colleague, "18").await;
    let own = register(administrator, "17").await;

    assert_eq!((created.status, updated.status, own.status), (201, 201, 201));
    assert_eq!(fixture.devices(&token).await[0]["osVersion"], "18");
    let body = json!({"deviceId": "d2", "platform": "ios"});
    assert_eq!(fixture.app.post(&admin, DEVICES, body).await.0, 403);
    assert_eq!(fixture.app.undo(&admin, &updated).await.0, 200);
    assert_eq!(fixture.devices(&token).await[0]["osVersion"], "17");
    fixture
        .acl(role, &["devices.manage", "audit_logs.undo_self"], None)
        .await;
    assert_ne!(fixture.app.undo(&admin, &created).await.0, 200);
    assert_eq!(fixture.app.undo(&admin, &own).await.0, 200);
    assert_eq!(fixture.devices(&token).await.len(), 1);
}

#[actix_web::test]
async fn a_registration_is_undone_only_with_the_right_to_register() {
    let fixture = Fixture::new().await;
    let role = fixture
        .role(
            "User",
            &["devices.manage", "devices.view", "audit_logs.undo_self"],
            None,
        )
        .await;
    let (_, token) = fixture.user("user@alpha.test", &["User"]).await;
    let body = json!({"deviceId": "d1", "platform": "ios"});
    let registered = fixture.app.send(&token, Method::POST, DEVICES, &body).await;

    fixture.acl(role, &["devices.view", "audit_logs.undo_self"], None).await;
    let (status, rejected) = fixture.app.undo(&token, &registered).await;

    assert_eq!(
        (status, &rejected["requiredFeatures"]),
        (403, &json!(["devices.manage"])),
        "{rejected}"
    );
    assert_eq!(fixture.devices(&token).await.len(), 1);
}

#[actix_web::test]
async fn dev_8_an_api_key_has_no_devices() {
    let fixture = Fixture::new().await;
    fixture
        .register(&fixture.a.token, json!({"deviceId": "d1", "platform": "ios"}))
        .await;
    let key = json!({"name": "K", "roles": ["admin"]});
    let (status, key) = fixture.app.post(&fixture.a.token, "/api_keys/keys", key).await;
    assert_eq!(status, 201, "{key}");
    let secret = key["secret"].as_str().expect("a key");
    let send = async |method: Method| {
        let request = fixture.app.request(method, DEVICES).header("X-Api-Key", secret);
        request.json(&json!({"deviceId": "d2", "platform": "ios"})).send().await
    };

    assert_eq!(send(Method::GET).await.json()["items"], json!([]));
    let rejected = send(Method::POST).await;
    assert_eq!(
        (rejected.status, rejected.json()["code"].clone()),
        (403, json!("user_required"))
    );
}
