//! The request of each operation.

use backoffice_test_support::{REDO, UNDO};
use serde_json::{Value, json};
use uuid::Uuid;

use super::model::{Entry, Model};
use super::strategy::{AclOf, Operation, UserChange};
use crate::call::Call;
use crate::fixture::{PASSWORD, TenantFixture};

impl Model<'_> {
    /// Returns the request of an operation; `None` if there is nothing to undo or redo.
    pub(super) fn call(&self, operation: Operation) -> Option<Call> {
        Some(match operation {
            Operation::CreateRole => Call::post("/auth/roles", json!({"name": format!("Made {}", self.created)})),
            Operation::RenameRole(role, name) => {
                let name = format!("Role {} {name}", self.role(role));
                Call::put("/auth/roles", json!({"id": self.role(role), "name": name}))
            }
            Operation::DeleteRole(role) => Call::delete("/auth/roles", self.role(role)),
            Operation::RoleAcl(role, acl) => {
                Call::put("/auth/roles/acl", self.acl(acl)).with_field("roleId", json!(self.role(role)))
            }
            Operation::UserAcl(user, acl) => {
                Call::put("/auth/users/acl", self.acl(acl)).with_field("userId", json!(self.user(user)))
            }
            Operation::RemoveUserAcl(user) => {
                Call::put("/auth/users/acl", json!({"userId": self.user(user), "features": []}))
            }
            Operation::CreateUser { organization, roles } => {
                let body = json!({
                    "email": format!("made-{}@alpha.test", self.created),
                    "organizationId": self.home(organization),
                    "roles": self.some_roles(roles),
                    "password": PASSWORD,
                });
                Call::post("/auth/users", body)
            }
            Operation::ChangeUser(user, change) => self.change(user, change),
            Operation::DeleteUser(user) => Call::delete("/auth/users", self.user(user)),
            Operation::CreateKey { organization, roles } => {
                let body = json!({
                    "name": format!("Made {}", self.created),
                    "organizationId": organization.map(|position| self.home(position)),
                    "roles": self.some_roles(roles),
                });
                Call::post("/api_keys/keys", body)
            }
            Operation::DeleteKey(key) => Call::delete("/api_keys/keys", self.keys[key % self.keys.len()]),
            Operation::Undo(back) => Call::post(UNDO, json!({"undoToken": self.entry(back)?.token})),
            Operation::Redo(back) => Call::post(REDO, json!({"logId": self.entry(back)?.id})),
        })
    }

    fn change(&self, user: usize, change: UserChange) -> Call {
        let user = self.user(user);
        let (field, value) = match change {
            UserChange::Roles(chosen) => ("roles", json!(self.some_roles(chosen))),
            UserChange::Password => ("password", json!(PASSWORD)),
            UserChange::Address(number) => ("email", json!(format!("{user}-{number}@alpha.test"))),
            UserChange::Organization(position) => ("organizationId", json!(self.home(position))),
            UserChange::Active(active) => ("isActive", json!(active)),
        };
        let body = json!({"id": user, "currentPassword": PASSWORD});
        Call::put("/auth/users", body).with_field(field, value)
    }

    fn acl(&self, acl: AclOf) -> Value {
        let organizations = organizations(&self.fixture.a, acl.organizations);
        json!({"features": acl.grants(), "organizations": organizations})
    }

    fn user(&self, position: usize) -> Uuid {
        self.users[position % self.users.len()]
    }

    fn role(&self, position: usize) -> Uuid {
        self.roles[position % self.roles.len()]
    }

    /// Returns some of the roles that were created last.
    fn some_roles(&self, chosen: u8) -> Vec<Uuid> {
        let latest = self.roles.iter().rev().enumerate();
        latest
            .filter(|(position, _)| *position < 8 && chosen >> position & 1 == 1)
            .map(|(_, role)| *role)
            .take(2)
            .collect()
    }

    fn home(&self, position: usize) -> Uuid {
        let tenant_fixture = &self.fixture.a;
        [
            tenant_fixture.root,
            tenant_fixture.parent,
            tenant_fixture.child,
            tenant_fixture.leaf,
            tenant_fixture.other,
        ][position % 5]
    }

    pub(super) fn entry(&self, back: usize) -> Option<&Entry> {
        let index = self.entries.len().checked_sub(back + 1)?;
        Some(&self.entries[index])
    }
}

/// Returns one of the lists of organizations for [`AclOf`]; `None` is the whole tenant.
pub(super) fn organizations(tenant_fixture: &TenantFixture, choice: usize) -> Option<Vec<Uuid>> {
    match choice {
        0..=2 => None,
        3 => Some(vec![tenant_fixture.parent]),
        4 => Some(vec![tenant_fixture.child]),
        5 | 6 => Some(vec![tenant_fixture.root, tenant_fixture.other]),
        _ => Some(Vec::new()),
    }
}
