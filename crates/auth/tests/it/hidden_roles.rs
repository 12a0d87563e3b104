//! Roles with the super-admin flag: only super administrators see and change their holders.

use actix_web::http::Method;
use backoffice_test_support::TestResponse;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, PASSWORD, account, login};

const USERS: &str = "/auth/users";

/// A user with hidden roles. The user's own ACL replaces the rights of these roles.
struct Holder {
    fixture: Fixture,
    user: Uuid,
    /// Access token of a super administrator of the same tenant.
    super_admin: String,
}

impl Holder {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let (app, root) = (&fixture.app, &fixture.root);
        let chief = fixture.create("/auth/roles", json!({"name": "Chief"})).await;
        let flag = json!({"roleId": chief, "isSuperAdmin": true});
        assert_eq!(app.put(root, "/auth/roles/acl", flag).await.0, 200);
        let body = json!({"email": "ann@alpha.test", "organizationId": fixture.a.organization, "password": PASSWORD,
            "roles": ["superadmin", "Chief", "employee"]});
        let user = app.create(root, USERS, body).await;
        let acl = json!({"userId": user, "features": ["auth.users.list"]});
        assert_eq!(app.put(root, "/auth/users/acl", acl).await.0, 200);
        let (tenant, organization) = (Some(fixture.a.id), Some(fixture.a.organization));
        account(app, tenant, organization, "boss@alpha.test", &[], true).await;
        let super_admin = login(app, "boss@alpha.test").await;
        Self {
            fixture,
            user,
            super_admin,
        }
    }

    /// Lists users of the tenant; a super administrator selects it, and then shares the cache with the other callers of the tenant.
    async fn list(&self, token: &str, query: &str) -> Value {
        let request = self.fixture.app.request(Method::GET, &format!("{USERS}?{query}"));
        let request = request
            .bearer(token)
            .header("X-Tenant-Id", &self.fixture.a.id.to_string());
        let response = request.send().await;
        assert_eq!(response.status, 200, "{query}: {}", response.text());
        response.json()
    }

    /// Returns the names of the roles of the user, as the caller sees them.
    async fn roles(&self, token: &str) -> Value {
        let list = self.list(token, &format!("id={}", self.user)).await;
        let user = &list["items"][0];
        let count = |field: &str| user[field].as_array().map(Vec::len);
        assert_eq!(count("roleIds"), count("roles"), "{user}");
        user["roles"].clone()
    }

    /// Returns how many users the caller finds by this text.
    async fn found(&self, token: &str, search: &str) -> Value {
        self.list(token, &format!("search={search}")).await["total"].clone()
    }

    /// Replaces the roles of the user.
    async fn put(&self, token: &str, roles: Value) -> TestResponse {
        let body = json!({"id": self.user, "roles": roles});
        self.fixture.app.send(token, Method::PUT, USERS, body).await
    }
}

#[actix_web::test]
async fn a_list_of_users_neither_shows_nor_searches_hidden_roles() {
    let holder = Holder::new().await;
    let (admin, super_admin) = (&holder.fixture.a.token, &holder.super_admin);

    // The second round reads what the first one has cached.
    for _ in 0..2 {
        assert_eq!(
            holder.roles(super_admin).await,
            json!(["Chief", "employee", "superadmin"])
        );
        assert_eq!(holder.roles(admin).await, json!(["employee"]));
    }
    for (search, of_super_admin, of_admin) in [
        ("superadmin", 2, 0),
        ("chief", 1, 0),
        ("employee", 1, 1),
        ("su", 2, 0),
        ("hi", 1, 0),
    ] {
        assert_eq!(holder.found(super_admin, search).await, of_super_admin, "{search}");
        assert_eq!(holder.found(admin, search).await, of_admin, "{search}");
    }
}

#[actix_web::test]
async fn a_change_of_roles_keeps_those_that_the_caller_does_not_see() {
    let holder = Holder::new().await;
    let (app, admin, super_admin) = (&holder.fixture.app, &holder.fixture.a.token, &holder.super_admin);
    let before = json!(["Chief", "employee", "superadmin"]);

    let same = holder.put(admin, json!(["employee"])).await;

    assert_eq!((same.status, same.operation()), (200, None), "{}", same.text());
    let named = holder.put(admin, json!(["employee", "superadmin"])).await;
    assert_eq!(
        (named.status, named.json()["error"].clone()),
        (400, json!("Role(s) not found: \"superadmin\""))
    );
    assert_eq!(holder.roles(super_admin).await, before);
    let replaced = holder.put(admin, json!(["admin"])).await;
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    let after = json!(["admin", "Chief", "superadmin"]);
    assert_eq!(holder.roles(super_admin).await, after);
    let undone = app.undo(admin, &replaced).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
    assert_eq!(holder.roles(super_admin).await, before);
    let redone = app.redo(admin, &replaced).await;
    assert_eq!(redone.0, 200, "{}", redone.1);
    assert_eq!(holder.roles(super_admin).await, after);
}

#[actix_web::test]
async fn a_super_administrator_replaces_hidden_roles_too() {
    let holder = Holder::new().await;
    let super_admin = &holder.super_admin;

    let replaced = holder.put(super_admin, json!(["employee"])).await;

    assert_eq!(replaced.status, 200, "{}", replaced.text());
    assert_eq!(holder.roles(super_admin).await, json!(["employee"]));
    let undone = holder.fixture.app.undo(super_admin, &replaced).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
    assert_eq!(
        holder.roles(super_admin).await,
        json!(["Chief", "employee", "superadmin"])
    );
}
