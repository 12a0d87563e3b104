//! Default grants of new modules, and the roles that get them.

use actix_web::http::Method;
use backoffice_auth::sync_roles;
use backoffice_core::{DefaultGrant, Module, SeededRole};
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
        .send(&fixture.root, Method::DELETE, &path, json!(null))
        .await;
    let (undone, why) = fixture.app.undo(&fixture.root, &deleted).await;
    assert_eq!((deleted.status, undone), (200, 200), "{why}");
    assert_eq!(fixture.app.rows(marks).await, before);
}

/// A module with a role of its own, which names features of this module and of one that is not enabled.
static TEAMS: Module = Module {
    name: "teams",
    title: "Teams",
    requires: &["auth"],
    roles: &[SeededRole { name: "planner" }],
    default_grants: &[DefaultGrant {
        role: "planner",
        grants: &["auth.users.list", "auth.roles.*", "boards.view"],
    }],
    ..Module::EMPTY
};

async fn planners(fixture: &Fixture) -> Vec<Value> {
    let query = "select r.name, r.seeded_as, a.features from auth_roles r \
         left join auth_role_acls a on a.tenant_id = r.tenant_id and a.role_id = r.id \
         where r.name_norm in ('planner', 'scheduler') order by r.tenant_id, r.name_norm";
    fixture.app.rows(query).await
}

fn seeded_planner() -> Value {
    json!({"name": "planner", "seeded_as": "planner", "features": ["auth.roles.*", "auth.users.list"]})
}

#[actix_web::test]
async fn a_new_tenant_has_the_roles_of_modules_without_the_features_of_modules_that_are_not_enabled() {
    let fixture = Fixture::with_modules(&[&TEAMS]).await;

    assert_eq!(planners(&fixture).await, [seeded_planner(), seeded_planner()]);
    assert_eq!(sync(&fixture).await, 0);
}

/// Returns the seeded roles of a tenant with their grants.
async fn roles_of(fixture: &Fixture, tenant: Uuid) -> Vec<Value> {
    let query = format!(
        "select r.name, r.seeded_as, a.features from auth_roles r \
         left join auth_role_acls a on a.tenant_id = r.tenant_id and a.role_id = r.id \
         where r.tenant_id = '{tenant}' and r.seeded_as is not null order by r.name_norm"
    );
    fixture.app.rows(&query).await
}

/// Simulates that the tenant was created while the module was not enabled.
async fn forget_roles(fixture: &Fixture, tenant: Uuid) {
    for table in ["auth_user_roles", "auth_roles"] {
        let deletion = format!("delete from {table} where tenant_id = '{tenant}'");
        assert_ne!(fixture.app.sql(&deletion).await, 0, "{table}");
    }
}

#[actix_web::test]
async fn a_tenant_from_before_the_module_gets_all_seeded_roles_once() {
    let fixture = Fixture::with_modules(&[&TEAMS]).await;
    forget_roles(&fixture, fixture.b.id).await;

    let granted = sync(&fixture).await;
    let again = sync(&fixture).await;

    let expected = roles_of(&fixture, fixture.a.id).await;
    assert_eq!(roles_of(&fixture, fixture.b.id).await, expected);
    let names: Vec<&Value> = expected.iter().map(|role| &role["name"]).collect();
    assert_eq!(names, ["admin", "employee", "planner"]);
    assert!(granted > 0);
    assert_eq!(again, 0);
}

#[actix_web::test]
async fn a_tenant_from_before_the_module_keeps_a_role_of_that_name() {
    let fixture = Fixture::new().await;
    forget_roles(&fixture, fixture.b.id).await;
    let own = json!({"name": "Admin", "tenantId": fixture.b.id});
    assert_eq!(fixture.app.post(&fixture.root, "/auth/roles", own).await.0, 201);

    sync(&fixture).await;

    let roles = roles_of(&fixture, fixture.b.id).await;
    let names: Vec<&Value> = roles.iter().map(|role| &role["name"]).collect();
    assert_eq!(names, ["employee"]);
}

#[actix_web::test]
async fn a_seeded_role_that_an_administrator_deleted_does_not_return() {
    let fixture = Fixture::new().await;
    let path = format!("/auth/roles?id={}", seeded(&fixture, "employee").await);
    let deleted = fixture.app.delete(&fixture.a.token, &path, json!(null)).await;
    assert_eq!(deleted.0, 200, "{}", deleted.1);

    assert_eq!(sync(&fixture).await, 0);

    let roles = roles_of(&fixture, fixture.a.id).await;
    let names: Vec<&Value> = roles.iter().map(|role| &role["name"]).collect();
    assert_eq!(names, ["admin"]);
}

#[actix_web::test]
async fn an_existing_tenant_gets_the_roles_of_a_module_once() {
    let fixture = Fixture::with_modules(&[&TEAMS]).await;
    let deleted = fixture
        .app
        .sql("delete from auth_roles where seeded_as = 'planner'")
        .await;

    let granted = sync(&fixture).await;
    let again = sync(&fixture).await;

    assert_eq!((deleted, granted, again), (2, 4, 0));
    assert_eq!(planners(&fixture).await, [seeded_planner(), seeded_planner()]);
    let entry = "select command_id, action_type, undo_secret is null as permanent from audit_action_logs \
         where command_id = 'auth.role.seed'";
    let expected = json!({"command_id": "auth.role.seed", "action_type": "create", "permanent": true});
    assert_eq!(fixture.app.rows(entry).await, [expected.clone(), expected]);
}

#[actix_web::test]
async fn a_role_that_a_user_created_and_a_renamed_one_stay_as_they_are() {
    let fixture = Fixture::with_modules(&[&TEAMS]).await;
    fixture
        .app
        .sql(&format!(
            "update auth_roles set name = 'Scheduler', name_norm = 'scheduler' where seeded_as = 'planner' and tenant_id = '{}'",
            fixture.b.id
        ))
        .await;
    let own = format!(
        "delete from auth_roles where seeded_as = 'planner' and tenant_id = '{}'",
        fixture.a.id
    );
    assert_eq!(fixture.app.sql(&own).await, 1);
    fixture.role("Planner", &["auth.users.edit"], None).await;
    let before = planners(&fixture).await;

    assert_eq!(sync(&fixture).await, 0);

    assert_eq!(before.len(), 2);
    assert_eq!(planners(&fixture).await, before);
}

#[actix_web::test]
async fn only_the_named_tenant_gets_the_roles() {
    let fixture = Fixture::with_modules(&[&TEAMS]).await;
    fixture
        .app
        .sql("delete from auth_roles where seeded_as = 'planner'")
        .await;

    let granted = sync_roles(&fixture.app.system_context(), Some(fixture.b.id)).await;

    assert_eq!(granted.expect("synchronised"), 2);
    let tenants = fixture
        .app
        .rows("select tenant_id from auth_roles where seeded_as = 'planner'")
        .await;
    assert_eq!(tenants, [json!({"tenant_id": fixture.b.id})]);
}
