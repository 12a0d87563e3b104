//! The own profile is there for its user, whatever that user may see or has selected.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{PASSWORD, World, account, id_of, login};

async fn put(world: &World, token: &str, header: Option<(&str, Uuid)>, body: Value) -> (u16, Value) {
    let request = world.app.request(Method::PUT, "/auth/profile").bearer(token);
    let request = match header {
        Some((name, id)) => request.header(name, &id.to_string()),
        None => request,
    };
    let response = request.json(&body).send().await;
    (response.status, response.json())
}

#[actix_web::test]
async fn somebody_without_any_right_changes_its_own_profile() {
    let world = World::new().await;
    let (_, token) = world.user("ann@alpha.test", &[]).await;

    let name = put(&world, &token, None, json!({"name": "Ann"})).await;
    let secret = json!({"password": "a new long password", "email": "Ann@beta.test", "currentPassword": PASSWORD});
    let credentials = put(&world, &token, None, secret).await;

    assert_eq!(name, (200, json!({"ok": true, "email": "ann@alpha.test"})));
    assert_eq!(credentials, (200, json!({"ok": true, "email": "Ann@beta.test"})));
    let (_, profile) = world.app.get(&token, "/auth/profile").await;
    assert_eq!(
        (profile["name"].as_str(), profile["email"].as_str()),
        (Some("Ann"), Some("Ann@beta.test"))
    );
}

#[actix_web::test]
async fn a_selection_elsewhere_does_not_hide_the_own_profile() {
    let world = World::new().await;
    let (_, depot) = world
        .app
        .post(&world.a.token, "/directory/organizations", json!({"name": "Depot"}))
        .await;
    let depot = id_of(&depot);
    world.role("Depot only", &["auth.users.list"], Some(&[depot])).await;
    let home = Some(world.a.organization);
    let limited = account(
        &world.app,
        Some(world.a.id),
        home,
        "ann@alpha.test",
        &["Depot only"],
        false,
    )
    .await;
    let token = login(&world.app, "ann@alpha.test").await;

    let without = put(&world, &token, None, json!({"name": "Ann"})).await.0;
    let selected = put(
        &world,
        &token,
        Some(("X-Organization-Id", depot)),
        json!({"name": "Bea"}),
    )
    .await
    .0;
    let root = put(
        &world,
        &world.root,
        Some(("X-Tenant-Id", world.a.id)),
        json!({"name": "Root"}),
    )
    .await
    .0;

    assert_eq!((without, selected, root), (200, 200, 200));
    let entry = format!(
        "select tenant_id, organization_id from audit_action_logs where command_id = 'auth.profile.update' \
         and resource_id = '{limited}'"
    );
    let whose = json!({"tenant_id": world.a.id, "organization_id": world.a.organization});
    assert_eq!(world.app.rows(&entry).await, [whose.clone(), whose]);
}

#[actix_web::test]
async fn only_the_profile_is_there_for_its_user() {
    let world = World::new().await;
    let (_, depot) = world
        .app
        .post(&world.a.token, "/directory/organizations", json!({"name": "Depot"}))
        .await;
    world
        .role("Depot only", &["auth.users.*"], Some(&[id_of(&depot)]))
        .await;
    let (ann, token) = world.user("ann@alpha.test", &["Depot only"]).await;

    let answer = world
        .app
        .put(&token, "/auth/users", json!({"id": ann, "name": "Ann"}))
        .await;

    assert_eq!(answer, (404, json!({"error": "User not found"})));
}
