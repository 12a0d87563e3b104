//! What this module checks when other modules change their resources.

use backoffice_core::command::{Entity, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::{Rejection, Result};
use diesel::dsl::exists;
use diesel::{ExpressionMethods, QueryDsl, select};
use diesel_async::RunQueryDsl;

use crate::model::Alert;
use crate::schema::alerts_alerts as alerts;

/// Rejects the deletion of an organization with alerts that are not resolved.
pub(crate) const KEEP_ORGANIZATIONS_WITH_ALERTS: Interceptor = Interceptor {
    id: "alerts.organization_alerts",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(keep_organization(tx, context)),
};

async fn keep_organization(tx: &mut Tx<'_>, context: &InterceptorContext<'_>) -> Result<Verdict> {
    if !context.removes("directory.organization.delete") {
        return Ok(Verdict::Continue);
    }
    let own = alerts::table
        .filter(alerts::tenant_id.eq(tx.tenant()))
        .filter(alerts::organization_id.eq(context.id))
        .filter(alerts::resolved_at.is_null());
    let has_alerts: bool = select(exists(own)).get_result(tx.conn()).await?;
    if !has_alerts {
        return Ok(Verdict::Continue);
    }
    let rejection = Rejection::conflict("Organization is in use").code("organization_in_use");
    Ok(context.keep(rejection, Alert::KIND))
}
