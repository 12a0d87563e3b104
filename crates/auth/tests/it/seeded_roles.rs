//! Default grants that come with new modules, and who gets them.

use actix_web::http::Method;
use backoffice_auth::sync_roles;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{World, id_of};

async fn sync(world: &World) -> usize {
    sync_roles(&world.app.system_context(), None)
        .await
        .expect("synchronised")
}

async fn seeded(world: &World, name: &str) -> Uuid {
    let query = format!(
        "select id from auth_roles where name = '{name}' and tenant_id = '{}'",
        world.a.id
    );
    id_of(&world.app.rows(&query).await[0])
}

/// As if a module had come that grants this to administrators.
async fn forget(world: &World, role: Uuid, grant: &str) {
    let world = &world.app;
    world
        .sql(&format!(
            "delete from auth_default_grants where role_id = '{role}' and feature = '{grant}'"
        ))
        .await;
    world
        .sql(&format!(
            "update auth_role_acls set features = array_remove(features, '{grant}') where id = '{role}'"
        ))
        .await;
}

async fn features(world: &World, role: Uuid) -> Value {
    let path = format!("/auth/roles/acl?roleId={role}");
    world.app.get(&world.root, &path).await.1["features"].clone()
}

#[actix_web::test]
async fn a_role_that_takes_the_name_of_a_seeded_one_is_given_nothing() {
    let world = World::new().await;
    let admin = seeded(&world, "admin").await;
    world
        .role("Manager", &["auth.roles.manage", "auth.users.edit"], None)
        .await;
    let (manager, token) = world.user("manager@alpha.test", &["Manager"]).await;
    let rename = json!({"id": admin, "name": "Chiefs"});
    assert_eq!(world.app.put(&world.a.token, "/auth/roles", rename).await.0, 200);

    let (made, body) = world.app.post(&token, "/auth/roles", json!({"name": "admin"})).await;
    let give = json!({"id": manager, "roles": ["Manager", id_of(&body)]});
    let given = world.app.put(&token, "/auth/users", give).await.0;
    let granted = sync(&world).await;

    assert_eq!((made, given, granted), (201, 200, 0));
    assert_eq!(features(&world, id_of(&body)).await, json!([]));
    assert_eq!(world.app.get(&token, "/auth/users").await.0, 403);
}

#[actix_web::test]
async fn a_seeded_role_is_given_what_is_new_under_any_name_and_after_its_return() {
    let world = World::new().await;
    let (admin, employee) = (seeded(&world, "admin").await, seeded(&world, "employee").await);
    let rename = json!({"id": admin, "name": "Chiefs"});
    assert_eq!(world.app.put(&world.a.token, "/auth/roles", rename).await.0, 200);
    forget(&world, admin, "auth.*").await;

    assert_eq!(sync(&world).await, 1);
    assert_eq!(sync(&world).await, 0);
    assert!(
        features(&world, admin)
            .await
            .as_array()
            .is_some_and(|list| list.contains(&json!("auth.*")))
    );

    let marks = "select id, seeded_as from auth_roles order by tenant_id, id";
    let before = world.app.rows(marks).await;
    let path = format!("/auth/roles?id={employee}");
    let deleted = world
        .app
        .request(Method::DELETE, &path)
        .bearer(&world.root)
        .send()
        .await;
    let undo = json!({"undoToken": deleted.operation().expect("undoable")["undoToken"]});
    let (undone, why) = world
        .app
        .post(&world.root, "/audit_logs/audit-logs/actions/undo", undo)
        .await;
    assert_eq!((deleted.status, undone), (200, 200), "{why}");
    assert_eq!(world.app.rows(marks).await, before);
}
