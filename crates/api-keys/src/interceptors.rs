//! Interceptors that keep roles and organizations with keys from being deleted by a command, undo or redo.

use backoffice_auth::may_change_role;
use backoffice_core::command::{Entity, Hook, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::{Rejection, Result};
use diesel::dsl::exists;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::model::Key;
use crate::schema::{api_keys_key_roles as links, api_keys_keys as keys};

/// Rejects the deletion of a role that a key holds.
pub(crate) const KEEP_ROLES_OF_KEYS: Interceptor = Interceptor {
    id: "api_keys.role_keys",
    target: "auth.role.*",
    priority: 100,
    run: keep_role,
};

/// Rejects the deletion of an organization that has live keys.
pub(crate) const KEEP_ORGANIZATIONS_WITH_KEYS: Interceptor = Interceptor {
    id: "api_keys.organization_keys",
    target: "directory.organization.*",
    priority: 100,
    run: keep_organization,
};

fn keep_role<'a>(tx: &'a mut Tx<'_>, context: &'a InterceptorContext<'a>) -> BoxFuture<'a, Result<Verdict>> {
    Box::pin(async move {
        if !context.removes("auth.role.delete") || !is_held(tx, context.id).await? {
            return Ok(Verdict::Continue);
        }
        if context.hook == Hook::BeforeExecute && !may_change_role(tx, context.id).await? {
            // The command itself rejects the deletion, without revealing who holds the role.
            return Ok(Verdict::Continue);
        }
        let rejection = Rejection::bad_request("Role has assigned users").code("role_in_use");
        Ok(context.keep(rejection, Key::KIND))
    })
}

fn keep_organization<'a>(tx: &'a mut Tx<'_>, context: &'a InterceptorContext<'a>) -> BoxFuture<'a, Result<Verdict>> {
    Box::pin(async move {
        if !context.removes("directory.organization.delete") || !has_keys(tx, context.id).await? {
            return Ok(Verdict::Continue);
        }
        let rejection = Rejection::conflict("Organization is in use").code("organization_in_use");
        Ok(context.keep(rejection, Key::KIND))
    })
}

/// Returns whether a key of any tenant holds the role, since roles can be global.
async fn is_held(tx: &mut Tx<'_>, role: Uuid) -> Result<bool> {
    let tenant = tx.tenant();
    tx.across_tenants(move |connection| {
        Box::pin(async move {
            // Not `exists`: PostgreSQL would expect a hit at once, and read the whole table when there is none.
            let first: Option<Uuid> = links::table
                .filter(links::role_tenant_id.eq(tenant))
                .filter(links::role_id.eq(role))
                .order(links::id)
                .select(links::id)
                .first(connection)
                .await
                .optional()?;
            Ok(first.is_some())
        })
    })
    .await
}

async fn has_keys(tx: &mut Tx<'_>, organization: Uuid) -> Result<bool> {
    let tenant = tx.tenant();
    let found = diesel::select(exists(
        keys::table
            .filter(keys::tenant_id.eq(tenant))
            .filter(keys::organization_id.eq(organization))
            .filter(keys::deleted_at.is_null()),
    ))
    .get_result(tx.conn())
    .await?;
    Ok(found)
}
