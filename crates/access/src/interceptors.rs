//! Keeps organizations with users from being deleted.

use backoffice_core::command::{Entity, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::{Rejection, Result};
use diesel::dsl::exists;
use diesel::{ExpressionMethods, QueryDsl, select};
use diesel_async::RunQueryDsl;

use crate::model::User;
use crate::schema::access_users as users;

/// Rejects the deletion of an organization with users.
pub(crate) const KEEP_ORGANIZATIONS_WITH_USERS: Interceptor = Interceptor {
    id: "access.organization_users",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(keep_organization(tx, context)),
};

async fn keep_organization(tx: &mut Tx<'_>, context: &InterceptorContext<'_>) -> Result<Verdict> {
    if !context.removes("directory.organization.delete") {
        return Ok(Verdict::Continue);
    }
    let own = users::table
        .filter(users::tenant_id.eq(tx.tenant()))
        .filter(users::organization_id.eq(context.id));
    let has_users: bool = select(exists(own)).get_result(tx.conn()).await?;
    if !has_users {
        return Ok(Verdict::Continue);
    }
    let rejection = Rejection::conflict("Organization is in use").code("organization_in_use");
    Ok(context.keep(rejection, User::KIND))
}
