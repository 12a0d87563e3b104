//! A key as a caller: no user, with rights that follow its roles.

use std::time::Duration;

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::world::{KEYS, PASSWORD, World, login};

const USERS: &str = "/auth/users";

#[actix_web::test]
async fn acc_17_endpoints_that_need_a_user_refuse_keys() {
    let world = World::new().await;
    let key = world.key(json!({"name": "K", "roles": ["admin"]})).await;
    let send = async |method: Method, path: &str, body: Value| {
        let request = world.app.request(method, path).header("X-Api-Key", &key.secret);
        let response = request.json(&body).send().await;
        (response.status, response.json())
    };

    let no_user = json!({"error": "No user context", "code": "user_required"});
    for change in [
        json!({"name": "N"}),
        json!({"password": "a new long password", "currentPassword": PASSWORD}),
        json!({"email": "new@alpha.test", "currentPassword": PASSWORD}),
    ] {
        let refused = send(Method::PUT, "/auth/profile", change.clone()).await;
        assert_eq!(refused, (403, no_user.clone()), "{change}");
    }
    // Whoever made the key is as before.
    let maker = login(&world.app, "admin@alpha.test").await;
    assert_eq!(world.app.get(&maker, "/auth/profile").await.0, 200);
    assert_eq!(world.app.get(&world.a.token, "/auth/profile").await.0, 200);
    let settings = json!({"groupOrder": []});
    assert_eq!(
        send(Method::PUT, "/auth/sidebar/preferences", settings).await,
        (403, no_user)
    );
    let profile = world.get(&key, "/auth/profile").await;
    assert_eq!(profile, (404, json!({"error": "User not found"})));
    let question = json!({"features": ["auth.users.list", "directory.tenants.view"]});
    let (status, answer) = send(Method::POST, "/auth/feature-check", question).await;
    assert_eq!(status, 200);
    assert_eq!(answer["granted"], json!(["auth.users.list"]));
    assert_eq!(answer["userId"], json!(key.id));
}

#[actix_web::test]
async fn a_key_that_signs_out_ends_nothing() {
    let world = World::new().await;
    let key = world.key(json!({"name": "K", "roles": ["admin"]})).await;

    let response = world.send(&key, Method::POST, "/auth/logout").await;

    assert_eq!(response.status, 302);
    assert_eq!(world.get(&key, KEYS).await.0, 200);
    assert_eq!(world.app.get(&world.a.token, KEYS).await.0, 200);
}

#[actix_web::test]
async fn acc_8_a_key_follows_its_roles_at_once() {
    let world = World::new().await;
    world.app.start_background();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let role = world.role("Reader", &["auth.users.list"], None).await;
    let key = world.key(json!({"name": "K", "roles": ["Reader"]})).await;
    assert_eq!(world.get(&key, USERS).await.0, 200);

    world.acl(role, &["auth.roles.list"], None).await;
    let (status, body) = world.get(&key, USERS).await;
    assert_eq!((status, &body["requiredFeatures"]), (403, &json!(["auth.users.list"])));

    world.acl(role, &["auth.users.list"], None).await;
    assert_eq!(world.get(&key, USERS).await.0, 200);

    let (status, _) = world
        .app
        .put(
            &world.root,
            "/directory/tenants",
            json!({"id": world.a.id, "isActive": false}),
        )
        .await;
    assert_eq!(status, 200);
    assert_eq!(world.get(&key, USERS).await.0, 401);
}

#[actix_web::test]
async fn acc_8_another_node_refuses_a_revoked_key_within_a_second() {
    let world = World::new().await;
    let other = world.app.second_node().await;
    other.start_background();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let key = world.key(json!({"name": "K", "roles": ["admin"]})).await;
    let status = async || {
        let request = other.request(Method::GET, KEYS).header("X-Api-Key", &key.secret);
        request.send().await.status
    };
    assert_eq!(status().await, 200);

    let path = format!("{KEYS}?id={}", key.id);
    assert_eq!(world.app.delete(&world.a.token, &path, Value::Null).await.0, 200);

    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(status().await, 401);
}

#[actix_web::test]
async fn the_flag_of_super_administrators_gives_a_key_nothing() {
    let world = World::new().await;
    let role = world.role("Later", &["auth.users.list"], None).await;
    let key = world.key(json!({"name": "K", "roles": ["Later"]})).await;
    let acl = json!({"roleId": role, "isSuperAdmin": true});
    assert_eq!(world.app.put(&world.root, "/auth/roles/acl", acl).await.0, 200);

    assert_eq!(world.get(&key, USERS).await.0, 200);
    assert_eq!(world.get(&key, "/auth/roles").await.0, 403);
    let foreign = world.app.request(Method::GET, USERS).header("X-Api-Key", &key.secret);
    let foreign = foreign.header("X-Tenant-Id", &world.b.id.to_string()).send().await;
    assert_eq!(foreign.status, 403, "{}", foreign.text());
}

#[actix_web::test]
async fn the_last_use_is_noted_once_a_minute_and_is_no_change() {
    let world = World::new().await;
    let key = world.key(json!({"name": "K", "roles": ["admin"]})).await;
    let made_at = world.app.now().to_string();
    let row = async || world.app.get(&world.a.token, KEYS).await.1["items"][0].clone();
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

    let first = world.app.now().to_string();
    world.get(&key, KEYS).await;
    noted(&first).await;

    world.app.advance(time::Duration::seconds(59));
    world.get(&key, KEYS).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(row().await["lastUsedAt"], json!(first));

    world.app.advance(time::Duration::seconds(1));
    let second = world.app.now().to_string();
    world.get(&key, KEYS).await;
    noted(&second).await;
    assert_eq!(row().await["updatedAt"], json!(made_at));
}
