//! A substitute for the module that authenticates users: a token identifies the caller.

use std::collections::BTreeSet;
use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::acl::{AccessList, Rights};
use backoffice_core::http::Created;
use backoffice_core::identity::{ActorKind, Identity};
use backoffice_directory::commands::{CreateTenant, NewTenant, TenantCreated};
use backoffice_test_support::{TestApp, Tokens};
use uuid::Uuid;

/// Has the name that this module requires.
static SIGN_IN: Module = Module {
    name: "auth",
    title: "Sign-in",
    start: |startup| {
        startup.authenticator(Arc::new(Tokens(identity)));
        Ok(())
    },
    ..Module::EMPTY
};

pub(crate) static MODULES: [&Module; 3] = [&backoffice_directory::MODULE, &SIGN_IN, &backoffice_audit_logs::MODULE];

/// Tokens of the form `tenant/number/limit/grants`: the number determines the user's id, the limit is empty or organizations joined by commas,
/// like the grants; the grant `!` means a super administrator. Further pairs of a limit and grants may follow.
fn identity(token: &str) -> Option<Identity> {
    let parts: Vec<&str> = token.split('/').collect();
    let rights = if parts[3] == "!" {
        Rights::super_admin()
    } else {
        Rights::of(parts[2..].chunks(2).map(|pair| list(pair[0], pair[1])))
    };
    let tenant: Uuid = parts[0].parse().expect("a tenant");
    Some(Identity {
        kind: ActorKind::User,
        id: Some(user(parts[1])),
        name: Some(format!("User {}", parts[1])),
        tenant,
        organization: None,
        rights,
        roles: Vec::new(),
        session: None,
    })
}

fn list(limit: &str, grants: &str) -> AccessList {
    let limit: BTreeSet<Uuid> = limit.split(',').filter_map(|id| id.parse().ok()).collect();
    AccessList {
        grants: grants.split(',').map(str::to_owned).collect(),
        organizations: (!limit.is_empty()).then_some(limit),
    }
}

/// Returns the id of the user with this number.
pub(crate) fn user(number: &str) -> Uuid {
    Uuid::from_u128(number.parse().expect("a number"))
}

/// Returns a user who creates organizations and reads, undoes and redoes their own actions.
pub(crate) fn worker(tenant: &TenantCreated, number: u8) -> String {
    let grants = "directory.organizations.*,audit_logs.view_self,audit_logs.undo_self,audit_logs.redo_self";
    format!("{}/{number}//{grants}", tenant.id)
}

/// Returns an administrator of the tenant, or of one organization in it.
pub(crate) fn admin(tenant: &TenantCreated, limit: &str) -> String {
    format!("{}/9/{limit}/directory.organizations.*,audit_logs.*", tenant.id)
}

/// Returns a super administrator of this tenant.
pub(crate) fn super_admin(tenant: &TenantCreated) -> String {
    format!("{}/8//!", tenant.id)
}

/// Creates a tenant with a root organization of the same name.
pub(crate) async fn tenant(app: &TestApp, name: &str) -> TenantCreated {
    let ctx = app.system_context();
    let input = NewTenant {
        name: name.to_owned(),
        ..NewTenant::default()
    };
    let command = CreateTenant::new(&ctx, input).expect("a valid tenant");
    let result = std::sync::Mutex::new(None);
    ctx.execute(&command, |created| {
        *result.lock().expect("not poisoned") = Some(created);
        Created(())
    })
    .await
    .expect("a tenant");
    result.into_inner().expect("not poisoned").expect("the command ran")
}
