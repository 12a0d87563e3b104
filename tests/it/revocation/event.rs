//! What takes something away from a user, and the key that is watched beside its sessions.

use actix_web::http::Method;
use backoffice_auth::set_password;
use backoffice_test_support::TestApp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::call::Call;
use crate::world::{Account, PASSWORD, World, id, text};

/// What takes something away from a user.
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
    pub(super) async fn new(world: &World) -> Self {
        let body = json!({"name": "Watching", "roles": [world.a.role], "organizationId": world.a.other});
        let (status, body) = world.app.post(&world.a.keeper.token, "/api_keys/keys", body).await;
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
    /// What the write told about undoing it.
    pub(super) async fn happens(self, world: &World, acting: &Account, key: &Key) -> Option<Value> {
        let (house, user) = (&world.a, acting.id);
        let (call, caller) = match self {
            Self::Logout => (Call::post("/auth/logout", json!({})), acting),
            Self::LogoutOfAll => {
                let request = world.app.request(Method::POST, "/auth/logout");
                let answer = request.bearer(&acting.token).form(&[("all", "yes")]).send().await;
                assert_eq!(answer.status, 302, "{}", answer.text());
                return None;
            }
            Self::PasswordByCommandLine => {
                let password = "a new long password".to_owned().into();
                let made = set_password(&world.app.system_context(), &acting.email, None, password).await;
                made.expect("the password is set");
                return None;
            }
            Self::OrganizationChanged => {
                let body = json!({"id": user, "organizationId": house.parent});
                (Call::put("/auth/users", body), &house.keeper)
            }
            Self::OrganizationCreated => {
                let body = json!({"name": "New", "parentId": house.other});
                (Call::post("/directory/organizations", body), &house.keeper)
            }
            Self::OrganizationMoved => {
                let body = json!({"id": house.leaf, "parentId": house.other});
                (Call::put("/directory/organizations", body), &house.keeper)
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
                (Call::put("/auth/users", body), &house.keeper)
            }
            Self::Deactivated => {
                let body = json!({"id": user, "isActive": false});
                (Call::put("/auth/users", body), &house.keeper)
            }
            Self::Deleted => (Call::delete("/auth/users", user), &house.keeper),
            Self::RoleAcl => {
                let body = json!({"roleId": house.role, "features": ["auth.roles.list"]});
                (Call::put("/auth/roles/acl", body), &house.keeper)
            }
            Self::UserAcl => {
                let body = json!({"userId": user, "features": ["auth.roles.list"]});
                (Call::put("/auth/users/acl", body), &house.keeper)
            }
            Self::RolesTaken => {
                let body = json!({"id": user, "roles": []});
                (Call::put("/auth/users", body), &house.keeper)
            }
            Self::OrganizationClosed => {
                let body = json!({"id": house.other, "isActive": false});
                (Call::put("/directory/organizations", body), &world.root)
            }
            Self::TenantClosed => {
                let body = json!({"id": house.tenant, "isActive": false});
                (Call::put("/directory/tenants", body), &world.root)
            }
            Self::TenantDeleted => (Call::delete("/directory/tenants", house.tenant), &world.root),
            Self::KeyDeleted => (Call::delete("/api_keys/keys", key.id), &house.keeper),
            Self::Reset => {
                let token = crate::endpoints::reset_token(world, &acting.email).await;
                let body = json!({"token": token, "password": "a new long password"});
                (Call::post("/auth/reset/confirm", body), acting)
            }
        };
        let answer = call.send(&world.app, &caller.token).await;
        assert!(answer.status < 400, "{self:?}: {}", answer.text());
        answer.operation()
    }

    /// Who can take it back, if it can be taken back.
    pub(super) fn undone_by(self, world: &World) -> &Account {
        match self {
            Self::OrganizationClosed => &world.root,
            _ => &world.a.keeper,
        }
    }
}
