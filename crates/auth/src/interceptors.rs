//! Interceptors on tenants and organizations: organizations with users cannot be deleted, the last super administrator cannot be locked
//! out, and users of a closed tenant or organization are signed out.

use backoffice_core::Result;
use backoffice_core::command::{Hook, Interceptor, InterceptorContext, Snapshot, Tx, Verdict};
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::Error;
use crate::roles::super_admins::{self, Closing};
use crate::sessions::revocation::{self, Subject};
use crate::sessions::session;

/// Rejects the deletion of an organization that has live users, by a command, undo or redo.
pub(crate) const KEEP_ORGANIZATIONS_WITH_USERS: Interceptor = Interceptor {
    id: "auth.organization_users",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(context.keep_organization(tx, KIND_IN_USE)),
};

const KIND_IN_USE: &str = "select case
    when exists (select from auth_users where tenant_id = $1 and organization_id = $2 and deleted_at is null) then 'auth.user'
    end as kind";

/// Drops cached identities of the tenant, and ends the sessions of users whose organization is deactivated or deleted.
pub(crate) const SIGN_OUT_OF_ORGANIZATIONS: Interceptor = Interceptor {
    id: "auth.organization_sessions",
    target: "directory.organization.*",
    priority: 200,
    run: sign_out,
};

/// Ends the sessions of all users of a tenant that is deactivated or deleted.
pub(crate) const SIGN_OUT_OF_TENANTS: Interceptor = Interceptor {
    id: "auth.tenant_sessions",
    target: "directory.tenant.*",
    priority: 200,
    run: sign_out_of_tenant,
};

/// Rejects closing an organization that all super administrators belong to.
pub(crate) const KEEP_A_SUPER_ADMIN_IN_ORGANIZATIONS: Interceptor = Interceptor {
    id: "auth.organization_super_admins",
    target: "directory.organization.*",
    priority: 110,
    run: keep_super_admin,
};

/// Rejects closing a tenant that all super administrators belong to.
pub(crate) const KEEP_A_SUPER_ADMIN_IN_TENANTS: Interceptor = Interceptor {
    id: "auth.tenant_super_admins",
    target: "directory.tenant.*",
    priority: 110,
    run: keep_super_admin,
};

fn is_active(snapshot: Option<&Snapshot>) -> bool {
    snapshot
        .and_then(|snapshot| snapshot.get("isActive"))
        .and_then(Value::as_bool)
        .unwrap_or(false)
}

/// Returns whether this hook sees a change from active to inactive or deleted. Before an execution, the change is not known yet.
fn closes(context: &InterceptorContext<'_>) -> bool {
    context.hook != Hook::BeforeExecute && is_active(context.before) && !is_active(context.after)
}

/// Returns whether this hook sees a change back to active. A sign-in during the closing may have left a session, which must not become valid again.
fn reopens(context: &InterceptorContext<'_>) -> bool {
    let is_new = context.hook == Hook::AfterExecute && context.before.is_none();
    context.hook != Hook::BeforeExecute && !is_new && !is_active(context.before) && is_active(context.after)
}

fn keep_super_admin<'a>(tx: &'a mut Tx<'_>, context: &'a InterceptorContext<'a>) -> BoxFuture<'a, Result<Verdict>> {
    Box::pin(async move {
        let closing = if context.kind == "directory.tenant" {
            Closing::Tenant(context.id)
        } else {
            Closing::Organization(context.id)
        };
        if !closes(context) || !super_admins::all_belong_to(tx, closing).await? {
            return Ok(Verdict::Continue);
        }
        Ok(Verdict::Reject {
            message: Error::LastSuperAdmin.to_string(),
            code: Some("last_super_admin".to_owned()),
            status: Some(400),
            body: None,
        })
    })
}

fn sign_out_of_tenant<'a>(tx: &'a mut Tx<'_>, context: &'a InterceptorContext<'a>) -> BoxFuture<'a, Result<Verdict>> {
    Box::pin(async move {
        if closes(context) || reopens(context) {
            session::end_of_tenant(tx).await?;
            revocation::revoke(tx, Subject::Tenant(context.id)).await?;
        }
        Ok(Verdict::Continue)
    })
}

fn sign_out<'a>(tx: &'a mut Tx<'_>, context: &'a InterceptorContext<'a>) -> BoxFuture<'a, Result<Verdict>> {
    Box::pin(async move {
        if context.hook == Hook::BeforeExecute {
            return Ok(Verdict::Continue);
        }
        if closes(context) || reopens(context) {
            session::end_of_organization(tx, context.id).await?;
        }
        let tenant = tx.tenant();
        revocation::revoke(tx, Subject::Tenant(tenant)).await?;
        Ok(Verdict::Continue)
    })
}
