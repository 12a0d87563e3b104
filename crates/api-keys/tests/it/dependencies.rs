//! What keys depend on is not removed from under them.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::world::{KEYS, World, id_of};

async fn delete(world: &World, path: &str) -> (u16, Value) {
    world.app.delete(&world.a.token, path, Value::Null).await
}

#[actix_web::test]
async fn a_role_that_a_key_holds_stays() {
    let world = World::new().await;
    let role = world.role("Reader", &["auth.users.list"], None).await;
    let key = world.key(json!({"name": "K", "roles": ["Reader"]})).await;
    let path = format!("/auth/roles?id={role}");

    let refused = delete(&world, &path).await;

    let expected = json!({"error": "Role has assigned users", "code": "role_in_use"});
    assert_eq!(refused, (400, expected));
    assert_eq!(delete(&world, &format!("{KEYS}?id={}", key.id)).await.0, 200);
    assert_eq!(delete(&world, &path).await.0, 200);
}

#[actix_web::test]
async fn a_global_role_that_a_key_of_a_tenant_holds_stays() {
    let world = World::new().await;
    let (_, made) = world
        .app
        .post(&world.root, "/auth/roles", json!({"name": "Everywhere"}))
        .await;
    world.key(json!({"name": "K", "roles": ["Everywhere"]})).await;

    let path = format!("/auth/roles?id={}", id_of(&made));
    let (status, body) = world.app.delete(&world.root, &path, Value::Null).await;

    assert_eq!((status, &body["code"]), (400, &json!("role_in_use")));
}

#[actix_web::test]
async fn an_organization_with_keys_stays() {
    let world = World::new().await;
    let office = world.organization("Office", None).await;
    let key = world.key(json!({"name": "K", "organizationId": office})).await;
    let path = format!("/directory/organizations?id={office}");

    let refused = delete(&world, &path).await;

    let expected = json!({"error": "Organization is in use", "code": "organization_in_use"});
    assert_eq!(refused, (409, expected));
    assert_eq!(delete(&world, &format!("{KEYS}?id={}", key.id)).await.0, 200);
    assert_eq!(delete(&world, &path).await.0, 200);
}

#[actix_web::test]
async fn undoing_what_made_a_role_or_organization_with_keys_is_refused() {
    let world = World::new().await;
    let make = async |path: &str, body: Value| {
        let request = world.app.request(Method::POST, path).bearer(&world.a.token).json(&body);
        let response = request.send().await;
        let token = response.operation().expect("undoable")["undoToken"].clone();
        (id_of(&response.json()), token)
    };
    let (role, role_token) = make("/auth/roles", json!({"name": "Fresh"})).await;
    let (office, office_token) = make("/directory/organizations", json!({"name": "Fresh"})).await;
    world
        .key(json!({"name": "K", "organizationId": office, "roles": [role]}))
        .await;

    for token in [role_token, office_token] {
        let body = json!({"undoToken": token});
        let undone = world
            .app
            .post(&world.a.token, "/audit_logs/audit-logs/actions/undo", body)
            .await;
        assert_eq!(
            (undone.0, &undone.1["code"]),
            (400, &json!("undo_conflict")),
            "{}",
            undone.1
        );
        assert_eq!(undone.1["fields"], json!(["api_keys.key"]));
    }
}

#[actix_web::test]
async fn no_key_lands_in_an_organization_that_is_being_removed() {
    let world = World::new().await;
    let office = world.organization("Office", None).await;
    let sql = format!("update directory_organizations set deleted_at = now() where id = '{office}'");

    let make = world
        .app
        .post(&world.a.token, KEYS, json!({"name": "K", "organizationId": office}));
    let answer = world.app.database().while_changing(&sql, make).await;

    assert_eq!(answer, (403, json!({"error": "Organization out of scope"})));
    assert!(world.app.rows("select id from api_keys_keys").await.is_empty());
}

#[actix_web::test]
async fn whoever_may_not_write_a_role_is_not_told_that_a_key_holds_it() {
    let world = World::new().await;
    let office = world.organization("Office", None).await;
    let wide = world.role("Wide", &["auth.users.list"], Some(&[office])).await;
    world.key(json!({"name": "K", "roles": ["Wide"]})).await;
    let features = ["auth.roles.manage", "auth.users.list"];
    world.role("Limited", &features, Some(&[world.a.organization])).await;
    let limited = world.user("limited@alpha.test", &["Limited"]).await;

    let path = format!("/auth/roles?id={wide}");
    let (status, body) = world.app.delete(&limited, &path, Value::Null).await;

    assert_eq!((status, &body["code"]), (403, &json!("grant_exceeds_rights")));
}
