//! Keeps organizations with windows from being deleted.

use backoffice_core::command::{Entity, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::{Rejection, Result};
use diesel::dsl::exists;
use diesel::{ExpressionMethods, QueryDsl, select};
use diesel_async::RunQueryDsl;

use crate::model::Window;
use crate::schema::calendar_windows as windows;

/// Rejects the deletion of an organization with windows.
pub(crate) const KEEP_ORGANIZATIONS_WITH_WINDOWS: Interceptor = Interceptor {
    id: "calendar.organization_windows",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(keep_organization(tx, context)),
};

async fn keep_organization(tx: &mut Tx<'_>, context: &InterceptorContext<'_>) -> Result<Verdict> {
    if !context.removes("directory.organization.delete") {
        return Ok(Verdict::Continue);
    }
    let own = windows::table
        .filter(windows::tenant_id.eq(tx.tenant()))
        .filter(windows::organization_id.eq(context.id));
    let has_windows: bool = select(exists(own)).get_result(tx.conn()).await?;
    if !has_windows {
        return Ok(Verdict::Continue);
    }
    let rejection = Rejection::conflict("Organization is in use").code("organization_in_use");
    Ok(context.keep(rejection, Window::KIND))
}
