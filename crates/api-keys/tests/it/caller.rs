//! A key as a caller: it is not a user, and its rights follow its roles.

use std::time::Duration;

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::fixture::{Fixture, KEYS, PASSWORD, login};

const USERS: &str = "/auth/users";

#[actix_web::test]
async fn acc_17_endpoints_that_need_a_user_reject_keys() {
    let fixture = Fixture::new().await;
    let key = fixture.key(json!({"name": "K", "roles": ["admin"]})).await;
    let send = async |method: Method, path: &str, body: Value| {
        let request = fixture.app.request(method, path).header("X-Api-Key", &key.secret);
        let response = request.json(&body).send().await;
        (response.status, response.json())
    };

    let no_user = json!({"error": "No user context", "code": "user_required"});
    for change in [
        json!({"name": "N"}),
        json!({"password": "a new long password", "currentPassword": PASSWORD}),
        json!({"email": "new@alpha.test", "currentPassword": PASSWORD}),
    ] {
        let rejected = send(Method::PUT, "/auth/profile", change.clone()).await;
        assert_eq!(rejected, (403, no_user.clone()), "{change}");
    }
    // The creator of the key is unchanged.
    let maker = login(&fixture.app, "admin@alpha.test").await;
    assert_eq!(fixture.app.get(&maker, "/auth/profile").await.0, 200);
    assert_eq!(fixture.app.get(&fixture.a.token, "/auth/profile").await.0, 200);
    let settings = json!({"groupOrder": []});
    assert_eq!(
        send(Method::PUT, "/auth/sidebar/preferences", settings).await,
        (403, no_user)
    );
    let profile = fixture.get(&key, "/auth/profile").await;
    assert_eq!(profile, (404, json!({"error": "User not found"})));
    let question = json!({"features": ["auth.users.list", "directory.tenants.view"]});
    let (status, response) = send(Method::POST, "/auth/feature-check", question).await;
    assert_eq!(status, 200);
    assert_eq!(response["granted"], json!(["auth.users.list"]));
    assert_eq!(response["userId"], json!(key.id));
}

#[actix_web::test]
async fn a_key_that_signs_out_ends_nothing() {
    let fixture = Fixture::new().await;
    let key = fixture.key(json!({"name": "K", "roles": ["admin"]})).await;

    let response = fixture.send(&key, Method::POST, "/auth/logout").await;

    assert_eq!(response.status, 302);
    assert_eq!(fixture.get(&key, KEYS).await.0, 200);
    assert_eq!(fixture.app.get(&fixture.a.token, KEYS).await.0, 200);
}

#[actix_web::test]
async fn acc_8_a_key_follows_its_roles_at_once() {
    let fixture = Fixture::new().await;
    fixture.app.start_background();
    fixture.app.poll_revocations().await;
    let role = fixture.role("Reader", &["auth.users.list"], None).await;
    let key = fixture.key(json!({"name": "K", "roles": ["Reader"]})).await;
    assert_eq!(fixture.get(&key, USERS).await.0, 200);

    fixture.acl(role, &["auth.roles.list"], None).await;
    let (status, body) = fixture.get(&key, USERS).await;
    assert_eq!((status, &body["requiredFeatures"]), (403, &json!(["auth.users.list"])));

    fixture.acl(role, &["auth.users.list"], None).await;
    assert_eq!(fixture.get(&key, USERS).await.0, 200);

    let (status, _) = fixture
        .app
        .put(
            &fixture.root,
            "/directory/tenants",
            json!({"id": fixture.a.id, "isActive": false}),
        )
        .await;
    assert_eq!(status, 200);
    assert_eq!(fixture.get(&key, USERS).await.0, 401);
}

#[actix_web::test]
async fn acc_8_another_node_rejects_a_revoked_key_within_a_second() {
    let fixture = Fixture::new().await;
    let other = fixture.app.second_node().await;
    other.start_background();
    other.poll_revocations().await;
    let key = fixture.key(json!({"name": "K", "roles": ["admin"]})).await;
    let status = async || {
        let request = other.request(Method::GET, KEYS).header("X-Api-Key", &key.secret);
        request.send().await.status
    };
    assert_eq!(status().await, 200);

    let path = format!("{KEYS}?id={}", key.id);
    assert_eq!(fixture.app.delete(&fixture.a.token, &path, Value::Null).await.0, 200);

    other.poll_revocations().await;
    assert_eq!(status().await, 401);
}

#[actix_web::test]
async fn the_flag_of_super_administrators_gives_a_key_nothing() {
    let fixture = Fixture::new().await;
    let role = fixture.role("Later", &["auth.users.list"], None).await;
    let key = fixture.key(json!({"name": "K", "roles": ["Later"]})).await;
    let acl = json!({"roleId": role, "isSuperAdmin": true});
    assert_eq!(fixture.app.put(&fixture.root, "/auth/roles/acl", acl).await.0, 200);

    assert_eq!(fixture.get(&key, USERS).await.0, 200);
    assert_eq!(fixture.get(&key, "/auth/roles").await.0, 403);
    let foreign = fixture.app.request(Method::GET, USERS).header("X-Api-Key", &key.secret);
    let foreign = foreign.header("X-Tenant-Id", &fixture.b.id.to_string()).send().await;
    assert_eq!(foreign.status, 403, "{}", foreign.text());
}

#[actix_web::test]
async fn the_last_use_is_noted_once_a_minute_and_is_no_change() {
    let fixture = Fixture::new().await;
    let key = fixture.key(json!({"name": "K", "roles": ["admin"]})).await;
    let created_at = fixture.app.now().to_string();
    let row = async || fixture.app.get(&fixture.a.token, KEYS).await.1["items"][0].clone();
    let noted = async |expected: &str| {
        for _ in 0..100 {
            if row().await["lastUsedAt"] == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("not {expected}: {}", row().await);
    };
    assert_eq!(row().await["lastUsedAt"], Value::Null);

    let first = fixture.app.now().to_string();
    fixture.get(&key, KEYS).await;
    noted(&first).await;

    fixture.app.advance(time::Duration::seconds(59));
    fixture.get(&key, KEYS).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(row().await["lastUsedAt"], json!(first));

    fixture.app.advance(time::Duration::seconds(1));
    let second = fixture.app.now().to_string();
    fixture.get(&key, KEYS).await;
    noted(&second).await;
    assert_eq!(row().await["updatedAt"], json!(created_at));
}
