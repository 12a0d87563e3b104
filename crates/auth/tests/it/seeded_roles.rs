//! Default grants of new modules, and the roles that get them.

use actix_web::http::Method;
use backoffice_auth::sync_roles;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, id_of};

async fn sync(fixture: &Fixture) -> usize {
    sync_roles(&fixture.app.system_context(), None)
        .await
        .expect("synchronised")
}

async fn seeded(fixture: &Fixture, name: &str) -> Uuid {
    let query = format!(
        "select id from auth_roles where name = '{name}' and tenant_id = '{}'",
        fixture.a.id
    );
    id_of(&fixture.app.rows(&query).await[0])
}

/// Simulates a new module that grants this to administrators.
async fn forget(fixture: &Fixture, role: Uuid, grant: &str) {
    let fixture = &fixture.app;
    fixture
        .sql(&format!(
            "delete from auth_default_grants where role_id = '{role}' and feature = '{grant}'"
        ))
        .await;
    fixture
        .sql(&format!(
            "update auth_role_acls set features = array_remove(features, '{grant}') where id = '{role}'"
        ))
        .await;
}

async fn features(fixture: &Fixture, role: Uuid) -> Value {
    let path = format!("/auth/roles/acl?roleId={role}");
    fixture.app.get(&fixture.root, &path).await.1["features"].clone()
}

#[actix_web::test]
async fn a_role_that_takes_the_name_of_a_seeded_one_is_given_nothing() {
    let fixture = Fixture::new().await;
    let admin = seeded(&fixture, "admin").await;
    fixture
        .role("Manager", &["auth.roles.manage", "auth.users.edit"], None)
        .await;
    let (manager, token) = fixture.user("manager@alpha.test", &["Manager"]).await;
    let rename = json!({"id": admin, "name": "Chiefs"});
    assert_eq!(fixture.app.put(&fixture.a.token, "/auth/roles", rename).await.0, 200);

    let (created, body) = fixture.app.post(&token, "/auth/roles", json!({"name": "admin"})).await;
    let give = json!({"id": manager, "roles": ["Manager", id_of(&body)]});
    let given = fixture.app.put(&token, "/auth/users", give).await.0;
    let granted = sync(&fixture).await;

    assert_eq!((created, given, granted), (201, 200, 0));
    assert_eq!(features(&fixture, id_of(&body)).await, json!([]));
    assert_eq!(fixture.app.get(&token, "/auth/users").await.0, 403);
}

#[actix_web::test]
async fn a_seeded_role_is_given_what_is_new_under_any_name_and_after_its_return() {
    let fixture = Fixture::new().await;
    let (admin, employee) = (seeded(&fixture, "admin").await, seeded(&fixture, "employee").await);
    let rename = json!({"id": admin, "name": "Chiefs"});
    assert_eq!(fixture.app.put(&fixture.a.token, "/auth/roles", rename).await.0, 200);
    forget(&fixture, admin, "auth.*").await;

    assert_eq!(sync(&fixture).await, 1);
    assert_eq!(sync(&fixture).await, 0);
    assert!(
        features(&fixture, admin)
            .await
            .as_array()
            .is_some_and(|list| list.contains(&json!("auth.*")))
    );

    let marks = "select id, seeded_as from auth_roles order by tenant_id, id";
    let before = fixture.app.rows(marks).await;
    let path = format!("/auth/roles?id={employee}");
    let deleted = fixture
        .app
        .request(Method::DELETE, &path)
        .bearer(&fixture.root)
        .send()
        .await;
    let undo = json!({"undoToken": deleted.operation().expect("undoable")["undoToken"]});
    let (undone, why) = fixture
        .app
        .post(&fixture.root, "/audit_logs/audit-logs/actions/undo", undo)
        .await;
    assert_eq!((deleted.status, undone), (200, 200), "{why}");
    assert_eq!(fixture.app.rows(marks).await, before);
}
