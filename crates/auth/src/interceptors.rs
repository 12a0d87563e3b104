//! Interceptors on tenants and organizations: organizations with users cannot be deleted, the last super administrator cannot be locked
//! out, and users of a closed tenant or organization are signed out.

use backoffice_core::command::{Entity, Hook, Interceptor, InterceptorContext, Snapshot, Tx, Verdict};
use backoffice_core::{Rejection, Result};
use diesel::dsl::exists;
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;
use serde_json::Value;
use uuid::Uuid;

use crate::Error;
use crate::roles::super_admins::{self, Closing};
use crate::schema::auth_users as users;
use crate::sessions::revocation::{self, Subject};
use crate::sessions::session;
use crate::users::model::User;

/// Rejects the deletion of an organization that has live users, by a command, undo or redo.
pub(crate) const KEEP_ORGANIZATIONS_WITH_USERS: Interceptor = Interceptor {
    id: "auth.organization_users",
    target: "directory.organization.*",
    priority: 100,
    run: keep,
};

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

fn keep<'a>(tx: &'a mut Tx<'_>, context: &'a InterceptorContext<'a>) -> BoxFuture<'a, Result<Verdict>> {
    Box::pin(async move {
        if !context.removes("directory.organization.delete") || !has_users(tx, context.id).await? {
            return Ok(Verdict::Continue);
        }
        let in_use = Rejection::conflict("Organization is in use").code("organization_in_use");
        Ok(context.keep(in_use, User::KIND))
    })
}

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

async fn has_users(tx: &mut Tx<'_>, organization: Uuid) -> Result<bool> {
    let tenant = tx.tenant();
    let found = diesel::select(exists(
        users::table
            .filter(users::tenant_id.eq(tenant))
            .filter(users::organization_id.eq(organization))
            .filter(users::deleted_at.is_null()),
    ))
    .get_result(tx.conn())
    .await?;
    Ok(found)
}
