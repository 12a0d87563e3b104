//! Interceptors that keep roles and organizations with keys from being deleted by a command, undo or redo.

use backoffice_auth::may_change_role;
use backoffice_core::command::{Entity, Hook, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::{Rejection, Result};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::model::Key;
use crate::schema::api_keys_key_roles as links;

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
    run: |tx, context| Box::pin(context.keep_organization(tx, KIND_IN_USE)),
};

const KIND_IN_USE: &str = "select case
    when exists (select from api_keys_keys where tenant_id = $1 and organization_id = $2 and deleted_at is null) then 'api_keys.key'
    end as kind";

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
