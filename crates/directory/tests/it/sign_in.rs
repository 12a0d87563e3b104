//! A substitute for the module that authenticates users: the token describes the caller.

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::acl::Rights;
use backoffice_core::http::Created;
use backoffice_core::identity::{ActorKind, Identity};
use backoffice_directory::commands::{CreateTenant, NewTenant, TenantCreated};
use backoffice_test_support::{TestApp, Tokens};
use uuid::Uuid;

static SIGN_IN: Module = Module {
    name: "sign-in",
    title: "Sign-in",
    start: |startup| {
        startup.authenticator(Arc::new(Tokens(identity)));
        Ok(())
    },
    ..Module::EMPTY
};

pub(crate) static MODULES: [&Module; 2] = [&backoffice_directory::MODULE, &SIGN_IN];

/// Tokens of the form `tenant/organization/limit/grant`, the middle ones optional; the grant `!` is a super administrator.
fn identity(token: &str) -> Option<Identity> {
    let parts: Vec<&str> = token.split('/').collect();
    let rights = if parts[3] == "!" {
        Rights::super_admin()
    } else {
        let limit: Option<Uuid> = parts[2].parse().ok();
        Rights::granting([parts[3]], limit.as_ref().map(std::slice::from_ref))
    };
    let tenant: Uuid = parts[0].parse().expect("a tenant");
    Some(Identity {
        kind: ActorKind::User,
        id: Some(Uuid::from_u128(tenant.as_u128() ^ 1)),
        name: Some("Tester".to_owned()),
        tenant,
        organization: parts[1].parse().ok(),
        rights,
        roles: Vec::new(),
        session: None,
    })
}

/// An administrator of a whole tenant.
pub(crate) fn admin(tenant: &TenantCreated) -> String {
    format!("{}/{}//directory.organizations.*", tenant.id, tenant.organization_id)
}

/// An administrator of one organization and its descendants.
pub(crate) fn limited(tenant: &TenantCreated, organization: &str) -> String {
    format!("{}/{organization}/{organization}/directory.organizations.*", tenant.id)
}

/// A super administrator who belongs to this tenant.
pub(crate) fn super_admin(tenant: &TenantCreated) -> String {
    format!("{}/{}//!", tenant.id, tenant.organization_id)
}

/// Creates a tenant with its root organization of the same name.
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
