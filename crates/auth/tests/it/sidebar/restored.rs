//! Sidebar rows are deleted and restored with their user or role.

use actix_web::http::Method;
use serde_json::json;

use super::{PREFERENCES, VARIANTS, ordered};
use crate::fixture::{Fixture, login};

#[actix_web::test]
async fn acc_32_what_a_user_arranged_comes_back_with_it() {
    let fixture = Fixture::new().await;
    let app = &fixture.app;
    let (user, token) = fixture.user("ann@alpha.test", &["admin"]).await;
    app.send(&token, Method::PUT, PREFERENCES, json!({"settings": ordered("own")}))
        .await;
    let kept = json!({"name": "Kept", "isActive": true, "settings": ordered("variant")});
    let (_, kept) = app.post(&token, VARIANTS, kept).await;
    let (_, gone) = app.post(&token, VARIANTS, json!({"name": "Gone"})).await;
    let gone = format!("{VARIANTS}/{}", gone["variant"]["id"].as_str().expect("an id"));
    app.delete(&token, &gone, json!(null)).await;

    let path = format!("/auth/users?id={user}");
    let done = app.request(Method::DELETE, &path).bearer(&fixture.a.token).send().await;
    let live = "select id from auth_sidebar_variants where deleted_at is null";
    assert_eq!(done.status, 200);
    assert!(app.rows(live).await.is_empty());
    assert!(app.rows("select id from auth_sidebar_preferences").await.is_empty());
    let (undone, body) = app.undo(&fixture.a.token, &done).await;

    assert_eq!(undone, 200, "{body}");
    let token = login(app, "ann@alpha.test").await;
    let (_, own) = app.get(&token, PREFERENCES).await;
    let (_, variants) = app.get(&token, VARIANTS).await;
    assert_eq!(own["settings"], ordered("own"));
    assert_eq!(
        variants["variants"].as_array().map(Vec::len),
        Some(1),
        "what was deleted before stays so"
    );
    let found = &variants["variants"][0];
    for field in ["id", "name", "isActive", "settings", "createdAt"] {
        assert_eq!(found[field], kept["variant"][field], "{field}");
    }
}

#[actix_web::test]
async fn the_settings_of_a_role_come_back_with_it() {
    let fixture = Fixture::new().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let role = fixture.role("Dispatcher", &[], None).await;
    let body = json!({"settings": ordered("x"), "scope": {"type": "role", "roleId": role}});
    app.send(token, Method::PUT, PREFERENCES, body).await;

    let path = format!("/auth/roles?id={role}");
    let done = app.request(Method::DELETE, &path).bearer(token).send().await;
    assert_eq!(done.status, 200);
    assert!(
        app.rows("select id from auth_role_sidebar_preferences")
            .await
            .is_empty()
    );
    let (undone, body) = app.undo(token, &done).await;

    assert_eq!(undone, 200, "{body}");
    let (_, read) = app.get(token, &format!("{PREFERENCES}?roleId={role}")).await;
    assert_eq!(read["settings"], ordered("x"));
}

#[actix_web::test]
async fn a_global_role_takes_the_settings_of_all_tenants_with_it_and_brings_them_back() {
    let fixture = Fixture::new().await;
    let app = &fixture.app;
    let (_, body) = app.post(&fixture.root, "/auth/roles", json!({"name": "Auditor"})).await;
    let role = crate::fixture::id_of(&body);
    for (token, group) in [(&fixture.a.token, "alpha"), (&fixture.b.token, "beta")] {
        let body = json!({"settings": ordered(group), "applyToRoles": [role]});
        assert_eq!(app.put(token, PREFERENCES, body).await.0, 200);
    }
    let rows = "select tenant_id, id, settings, created_at from auth_role_sidebar_preferences order by tenant_id";
    let before = app.rows(rows).await;

    let path = format!("/auth/roles?id={role}");
    let done = app.request(Method::DELETE, &path).bearer(&fixture.root).send().await;
    assert_eq!((done.status, app.rows(rows).await.len()), (200, 0));
    let (undone, body) = app.undo(&fixture.root, &done).await;

    assert_eq!(undone, 200, "{body}");
    assert_eq!(app.rows(rows).await, before);
}

#[actix_web::test]
async fn making_a_role_is_not_undone_once_it_has_settings() {
    let fixture = Fixture::new().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let created = app
        .send(token, Method::POST, "/auth/roles", json!({"name": "New"}))
        .await;
    let role = crate::fixture::id_of(&created.json());
    let body = json!({"settings": ordered("x"), "scope": {"type": "role", "roleId": role}});
    app.send(token, Method::PUT, PREFERENCES, body).await;

    let (status, body) = app.undo(token, &created).await;

    assert_eq!((status, body["code"].as_str()), (400, Some("undo_conflict")));
    assert_eq!(body["fields"], json!(["auth.role_sidebar_preference"]));
}
