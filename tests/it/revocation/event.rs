//! Events that revoke rights of a user, and the observed API key.

use actix_web::http::Method;
use backoffice_auth::set_password;
use backoffice_test_support::TestApp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::call::Call;
use crate::fixture::{Account, Fixture, PASSWORD, id, text};

/// An event that revokes rights of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Logout,
    LogoutOfAll,
    OwnPassword,
    OwnAddress,
    PasswordByAdministrator,
    Deactivated,
    Deleted,
    RoleAcl,
    UserAcl,
    RolesTaken,
    OrganizationClosed,
    TenantClosed,
    TenantDeleted,
    Reset,
    KeyDeleted,
    PasswordByCommandLine,
    OrganizationChanged,
    OrganizationCreated,
    OrganizationMoved,
}

/// An API key and its secret.
pub(super) struct Key {
    pub(super) id: Uuid,
    secret: String,
}

impl Key {
    pub(super) async fn new(fixture: &Fixture) -> Self {
        let body = json!({"name": "Watching", "roles": [fixture.a.role], "organizationId": fixture.a.other});
        let (status, body) = fixture
            .app
            .post(&fixture.a.tenant_admin.token, "/api_keys/keys", body)
            .await;
        assert_eq!(status, 201, "{body}");
        Self {
            id: id(&body["id"]),
            secret: text(&body["secret"]),
        }
    }

    /// The status of a call that needs the feature `auth.users.list`.
    pub(super) async fn present(&self, app: &TestApp) -> u16 {
        let list = app.request(Method::GET, "/auth/users");
        list.header("X-Api-Key", &self.secret).send().await.status
    }
}

impl Event {
    /// Causes the event. Returns the operation that the write reports, if it reports one.
    pub(super) async fn happens(self, fixture: &Fixture, acting: &Account, key: &Key) -> Option<Value> {
        let (tenant_fixture, user) = (&fixture.a, acting.id);
        let (call, caller) = match self {
            Self::Logout => (Call::post("/auth/logout", json!({})), acting),
            Self::LogoutOfAll => {
                let request = fixture.app.request(Method::POST, "/auth/logout");
                let outcome = request.bearer(&acting.token).form(&[("all", "yes")]).send().await;
                assert_eq!(outcome.status, 302, "{}", outcome.text());
                return None;
            }
            Self::PasswordByCommandLine => {
                let password = "a new long password".to_owned().into();
                let created = set_password(&fixture.app.system_context(), &acting.email, None, password).await;
                created.expect("the password is set");
                return None;
            }
            Self::OrganizationChanged => {
                let body = json!({"id": user, "organizationId": tenant_fixture.parent});
                (Call::put("/auth/users", body), &tenant_fixture.tenant_admin)
            }
            Self::OrganizationCreated => {
                let body = json!({"name": "New", "parentId": tenant_fixture.other});
                (
                    Call::post("/directory/organizations", body),
                    &tenant_fixture.tenant_admin,
                )
            }
            Self::OrganizationMoved => {
                let body = json!({"id": tenant_fixture.leaf, "parentId": tenant_fixture.other});
                (
                    Call::put("/directory/organizations", body),
                    &tenant_fixture.tenant_admin,
                )
            }
            Self::OwnPassword => {
                let body = json!({"password": "a new long password", "currentPassword": PASSWORD});
                (Call::put("/auth/profile", body), acting)
            }
            Self::OwnAddress => {
                let body = json!({"email": "moved@alpha.test", "currentPassword": PASSWORD});
                (Call::put("/auth/profile", body), acting)
            }
            Self::PasswordByAdministrator => {
                let body = json!({"id": user, "password": "a new long password"});
                (Call::put("/auth/users", body), &tenant_fixture.tenant_admin)
            }
            Self::Deactivated => {
                let body = json!({"id": user, "isActive": false});
                (Call::put("/auth/users", body), &tenant_fixture.tenant_admin)
            }
            Self::Deleted => (Call::delete("/auth/users", user), &tenant_fixture.tenant_admin),
            Self::RoleAcl => {
                let body = json!({"roleId": tenant_fixture.role, "features": ["auth.roles.list"]});
                (Call::put("/auth/roles/acl", body), &tenant_fixture.tenant_admin)
            }
            Self::UserAcl => {
                let body = json!({"userId": user, "features": ["auth.roles.list"]});
                (Call::put("/auth/users/acl", body), &tenant_fixture.tenant_admin)
            }
            Self::RolesTaken => {
                let body = json!({"id": user, "roles": []});
                (Call::put("/auth/users", body), &tenant_fixture.tenant_admin)
            }
            Self::OrganizationClosed => {
                let body = json!({"id": tenant_fixture.other, "isActive": false});
                (Call::put("/directory/organizations", body), &fixture.root)
            }
            Self::TenantClosed => {
                let body = json!({"id": tenant_fixture.tenant, "isActive": false});
                (Call::put("/directory/tenants", body), &fixture.root)
            }
            Self::TenantDeleted => (Call::delete("/directory/tenants", tenant_fixture.tenant), &fixture.root),
            Self::KeyDeleted => (Call::delete("/api_keys/keys", key.id), &tenant_fixture.tenant_admin),
            Self::Reset => {
                let token = crate::endpoints::reset_token(fixture, &acting.email).await;
                let body = json!({"token": token, "password": "a new long password"});
                (Call::post("/auth/reset/confirm", body), acting)
            }
        };
        let outcome = call.send(&fixture.app, &caller.token).await;
        assert!(outcome.status < 400, "{self:?}: {}", outcome.text());
        outcome.operation()
    }

    /// Returns an account that may undo the event, if it can be undone.
    pub(super) fn undone_by(self, fixture: &Fixture) -> &Account {
        match self {
            Self::OrganizationClosed => &fixture.root,
            _ => &fixture.a.tenant_admin,
        }
    }
}
