//! The rows of a deleted tenant stay, but count as missing, for super administrators too.

use actix_web::http::Method;
use backoffice_auth::{find_account, list_accounts, sync_roles};
use serde_json::{Value, json};

use crate::fixture::{Fixture, account};

const ROLES: &str = "/auth/roles";
const USERS: &str = "/auth/users";

#[actix_web::test]
async fn users_and_roles_of_a_deleted_tenant_are_not_found() {
    let fixture = Fixture::new().await;
    let (app, root) = (&fixture.app, &fixture.root);
    let role = fixture.role("Dispatcher", &["auth.users.list"], None).await;
    let (user, _) = fixture.user("ann@alpha.test", &["Dispatcher"]).await;
    let total = async |path: &str| app.read(root, path).await["total"].clone();
    let lists = [
        format!("{USERS}?id={user}"),
        format!("{USERS}?search=ann@alpha"),
        format!("{ROLES}?id={role}"),
        format!("{ROLES}?search=Dispatcher"),
        format!("{ROLES}?search=Dispatcher&tenantId={}", fixture.a.id),
    ];
    for path in &lists {
        assert_eq!(total(path).await, 1, "{path}");
    }

    fixture.delete_alpha().await;

    let before = app.snapshot().await;
    let (of_user, of_role) = ("User not found", "Role not found");
    for (method, path, body, status, error) in [
        (
            Method::POST,
            USERS.to_owned(),
            json!({"email": "bea@alpha.test", "organizationId": fixture.a.organization}),
            400,
            "Organization not found",
        ),
        (
            Method::PUT,
            USERS.to_owned(),
            json!({"id": user, "name": "Ann"}),
            404,
            of_user,
        ),
        (Method::DELETE, format!("{USERS}?id={user}"), json!(null), 404, of_user),
        (
            Method::PUT,
            format!("{USERS}/acl"),
            json!({"userId": user, "features": ["auth.users.list"]}),
            404,
            of_user,
        ),
        (
            Method::PUT,
            ROLES.to_owned(),
            json!({"id": role, "name": "Planner"}),
            404,
            of_role,
        ),
        (Method::DELETE, format!("{ROLES}?id={role}"), json!(null), 404, of_role),
        (
            Method::PUT,
            format!("{ROLES}/acl"),
            json!({"roleId": role, "features": []}),
            404,
            of_role,
        ),
    ] {
        let response = app.send(root, method.clone(), &path, &body).await;
        assert_eq!(
            (response.status, response.json()["error"].as_str()),
            (status, Some(error)),
            "{method} {path}"
        );
    }
    assert_eq!(app.snapshot().await, before);
    for path in &lists {
        assert_eq!(total(path).await, 0, "{path}");
    }
}

#[actix_web::test]
async fn a_global_role_that_only_users_of_a_deleted_tenant_hold_can_be_deleted() {
    let fixture = Fixture::new().await;
    let (app, root) = (&fixture.app, &fixture.root);
    let role = app.create(root, ROLES, json!({"name": "Auditor"})).await;
    let path = format!("{ROLES}?id={role}");
    let hold = async |tenant: &backoffice_test_accounts::Tenant, email: &str| {
        let (tenant, organization) = (Some(tenant.id), Some(tenant.organization));
        account(app, tenant, organization, email, &["Auditor"], false).await
    };
    hold(&fixture.a, "ann@alpha.test").await;
    let bob = hold(&fixture.b, "bob@beta.test").await;
    let users = async || app.read(root, &path).await["items"][0]["usersCount"].clone();
    assert_eq!(users().await, 2);

    fixture.delete_alpha().await;

    assert_eq!(users().await, 1);
    let (held, why) = app.delete(root, &path, Value::Null).await;
    assert_eq!((held, why["code"].as_str()), (400, Some("role_in_use")));
    let (taken, why) = app.put(root, USERS, json!({"id": bob, "roles": []})).await;
    assert_eq!(taken, 200, "{why}");
    let deleted = app.send(root, Method::DELETE, &path, json!(null)).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    let undone = app.undo(root, &deleted).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
    assert_eq!(users().await, 0);
    let redone = app.redo(root, &deleted).await;
    assert_eq!(redone.0, 200, "{}", redone.1);
}

#[actix_web::test]
async fn the_command_line_leaves_out_deleted_tenants() {
    let fixture = Fixture::new().await;
    let context = fixture.app.system_context();
    let (tenant, organization) = (Some(fixture.b.id), Some(fixture.b.organization));
    let namesake = account(&fixture.app, tenant, organization, "admin@alpha.test", &[], false).await;
    assert!(find_account(&context, "admin@alpha.test", None).await.is_err(), "two");

    fixture.delete_alpha().await;

    let found = find_account(&context, "admin@alpha.test", None).await.expect("one");
    assert_eq!(found, namesake);
    let accounts = list_accounts(&context).await.expect("accounts");
    assert!(accounts.iter().all(|account| account.tenant_id != fixture.a.id));
    assert_eq!(accounts.len(), 3);
    sync_roles(&context, None).await.expect("roles of live tenants");
}

#[actix_web::test]
async fn users_of_a_deleted_tenant_get_no_mails() {
    let fixture = Fixture::new().await;
    let app = &fixture.app;
    let (user, _) = fixture.user("ann@alpha.test", &[]).await;
    for change in [
        json!({"id": user, "password": "a password of the office"}),
        json!({"id": user, "email": "bea@alpha.test"}),
    ] {
        let (status, body) = app.put(&fixture.a.token, USERS, change).await;
        assert_eq!(status, 200, "{body}");
    }
    fixture.delete_alpha().await;

    app.run_jobs().await;

    assert_eq!(app.mail().take(), []);
    let notices = "core_jobs where kind like 'auth.user.notify%' and state = 'done'";
    assert_eq!(app.count(notices).await, 2);
}
