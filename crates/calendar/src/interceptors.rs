//! Keeps organizations with windows, series, feeds or a working calendar from being deleted.

use backoffice_core::command::{Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::db::Prepared;
use backoffice_core::{Rejection, Result};
use diesel::sql_types::{Nullable, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;

/// Rejects the deletion of an organization in use.
pub(crate) const KEEP_ORGANIZATIONS_IN_USE: Interceptor = Interceptor {
    id: "calendar.organization_in_use",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(keep_organization(tx, context)),
};

const KIND_IN_USE: &str = "select case
    when exists (select from calendar_windows where tenant_id = $1 and organization_id = $2) then 'calendar.window'
    when exists (select from calendar_series where tenant_id = $1 and organization_id = $2) then 'calendar.series'
    when exists (select from calendar_working_calendars where tenant_id = $1 and id = $2) then 'calendar.working_calendar'
    when exists (select from calendar_feeds where tenant_id = $1 and organization_id = $2) then 'calendar.feed'
    end as kind";

#[derive(QueryableByName)]
struct InUse {
    #[diesel(sql_type = Nullable<Text>)]
    kind: Option<String>,
}

async fn keep_organization(tx: &mut Tx<'_>, context: &InterceptorContext<'_>) -> Result<Verdict> {
    if !context.removes("directory.organization.delete") {
        return Ok(Verdict::Continue);
    }
    let tenant = tx.tenant();
    let statement = sql_query(KIND_IN_USE)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(context.id);
    let found: InUse = Prepared(statement).get_result(tx.conn()).await?;
    let Some(kind) = found.kind else {
        return Ok(Verdict::Continue);
    };
    let rejection = Rejection::conflict("Organization is in use").code("organization_in_use");
    Ok(context.keep(rejection, &kind))
}
