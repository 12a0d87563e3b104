//! The roles of the team.

use backoffice_auth::sync_roles;
use serde_json::{Value, json};

use crate::fixture::{Fixture, USERS};

async fn acl_of(fixture: &Fixture, role: &str) -> Vec<Value> {
    let query = format!(
        "select r.id, r.name, r.seeded_as, a.features from auth_roles r \
         join auth_role_acls a on a.tenant_id = r.tenant_id and a.role_id = r.id \
         where r.tenant_id = '{}' and r.name_norm = '{role}'",
        fixture.a.id
    );
    fixture.app.rows(&query).await
}

#[actix_web::test]
async fn a_tenant_has_both_roles_with_the_features_of_the_enabled_modules() {
    let fixture = Fixture::new().await;

    let (dispatcher, viewer) = (acl_of(&fixture, "dispatcher").await, acl_of(&fixture, "viewer").await);

    assert_eq!(
        dispatcher[0]["features"],
        json!([
            "access.users.view",
            "audit_logs.redo_self",
            "audit_logs.undo_self",
            "audit_logs.view_self"
        ])
    );
    assert_eq!(viewer[0]["features"], json!([]));
    assert_eq!(
        (&dispatcher[0]["seeded_as"], &viewer[0]["seeded_as"]),
        (&json!("dispatcher"), &json!("viewer"))
    );
}

#[actix_web::test]
async fn dsp_38_a_role_of_this_name_that_the_tenant_created_stays_and_is_used() {
    let fixture = Fixture::new().await;
    let missing = format!(
        "delete from auth_roles where seeded_as = 'dispatcher' and tenant_id = '{}'",
        fixture.a.id
    );
    assert_eq!(fixture.app.sql(&missing).await, 1);
    fixture.role("Dispatcher", &["auth.users.list"], None).await;
    let (id, _) = fixture.user("anna@alpha.test", &["Dispatcher"]).await;
    let before = acl_of(&fixture, "dispatcher").await;

    let granted = sync_roles(&fixture.app.system_context(), None)
        .await
        .expect("synchronised");

    assert_eq!((granted, before.len()), (0, 1));
    assert_eq!(before[0]["features"], json!(["auth.users.list"]));
    assert_eq!(acl_of(&fixture, "dispatcher").await, before);
    let (_, list) = fixture
        .app
        .get(&fixture.a.token, &format!("{USERS}?role=dispatcher"))
        .await;
    assert_eq!((&list["total"], &list["items"][0]["id"]), (&json!(1), &json!(id)));
    assert_eq!(list["items"][0]["role"], "dispatcher");
    let invited = fixture.invited("new@example.com", "dispatcher").await;
    let held = format!("select role_id as id from auth_user_roles where user_id = '{invited}'");
    assert_eq!(fixture.app.rows(&held).await, [json!({"id": before[0]["id"]})]);
}

#[actix_web::test]
async fn dsp_38_an_existing_tenant_gets_the_roles_when_roles_are_synchronised() {
    let fixture = Fixture::new().await;
    assert_eq!(
        fixture
            .app
            .sql("delete from auth_roles where seeded_as in ('dispatcher', 'viewer')")
            .await,
        4
    );

    let granted = sync_roles(&fixture.app.system_context(), Some(fixture.a.id)).await;

    assert_eq!(granted.expect("synchronised"), 4);
    fixture.invited("anna@example.com", "viewer").await;
    fixture.invited("bob@example.com", "dispatcher").await;
}
