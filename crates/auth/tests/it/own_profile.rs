//! Users always reach their own profile, whatever they may see or have selected.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, PASSWORD, account, login};

async fn put(fixture: &Fixture, token: &str, header: Option<(&str, Uuid)>, body: Value) -> (u16, Value) {
    let request = fixture.app.request(Method::PUT, "/auth/profile").bearer(token);
    let request = match header {
        Some((name, id)) => request.header(name, &id.to_string()),
        None => request,
    };
    let response = request.json(&body).send().await;
    (response.status, response.json())
}

#[actix_web::test]
async fn a_user_without_any_right_changes_their_own_profile() {
    let fixture = Fixture::new().await;
    let (_, token) = fixture.user("ann@alpha.test", &[]).await;

    let name = put(&fixture, &token, None, json!({"name": "Ann"})).await;
    let secret = json!({"password": "a new long password", "email": "Ann@beta.test", "currentPassword": PASSWORD});
    let credentials = put(&fixture, &token, None, secret).await;

    assert_eq!(name, (200, json!({"ok": true, "email": "ann@alpha.test"})));
    assert_eq!(credentials, (200, json!({"ok": true, "email": "Ann@beta.test"})));
    let (_, profile) = fixture.app.get(&token, "/auth/profile").await;
    assert_eq!(
        (profile["name"].as_str(), profile["email"].as_str()),
        (Some("Ann"), Some("Ann@beta.test"))
    );
}

#[actix_web::test]
async fn a_selection_elsewhere_does_not_hide_the_own_profile() {
    let fixture = Fixture::new().await;
    let depot = fixture.organization("Depot", None).await;
    fixture.role("Depot only", &["auth.users.list"], Some(&[depot])).await;
    let home = Some(fixture.a.organization);
    let limited = account(
        &fixture.app,
        Some(fixture.a.id),
        home,
        "ann@alpha.test",
        &["Depot only"],
        false,
    )
    .await;
    let token = login(&fixture.app, "ann@alpha.test").await;

    let without = put(&fixture, &token, None, json!({"name": "Ann"})).await.0;
    let selected = put(
        &fixture,
        &token,
        Some(("X-Organization-Id", depot)),
        json!({"name": "Bea"}),
    )
    .await
    .0;
    let root = put(
        &fixture,
        &fixture.root,
        Some(("X-Tenant-Id", fixture.a.id)),
        json!({"name": "Root"}),
    )
    .await
    .0;

    assert_eq!((without, selected, root), (200, 200, 200));
    let entry = format!(
        "select tenant_id, organization_id from audit_action_logs where command_id = 'auth.profile.update' \
         and resource_id = '{limited}'"
    );
    let whose = json!({"tenant_id": fixture.a.id, "organization_id": fixture.a.organization});
    assert_eq!(fixture.app.rows(&entry).await, [whose.clone(), whose]);
}

#[actix_web::test]
async fn only_the_profile_is_there_for_its_user() {
    let fixture = Fixture::new().await;
    let depot = fixture.organization("Depot", None).await;
    fixture.role("Depot only", &["auth.users.*"], Some(&[depot])).await;
    let (ann, token) = fixture.user("ann@alpha.test", &["Depot only"]).await;

    let response = fixture
        .app
        .put(&token, "/auth/users", json!({"id": ann, "name": "Ann"}))
        .await;

    assert_eq!(response, (404, json!({"error": "User not found"})));
}
