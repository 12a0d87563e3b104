//! Keeps organizations with job sites, resources or assignments from being deleted.

use backoffice_core::command::{Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::db::Prepared;
use backoffice_core::{Rejection, Result};
use diesel::sql_types::{Nullable, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;

/// Rejects the deletion of an organization in use.
pub(crate) const KEEP_ORGANIZATIONS_IN_USE: Interceptor = Interceptor {
    id: "dispatch.organization_in_use",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(keep_organization(tx, context)),
};

const KIND_IN_USE: &str = "select case
    when exists (select from dispatch_job_sites where tenant_id = $1 and organization_id = $2 and deleted_at is null)
        then 'dispatch.job_site'
    when exists (select from dispatch_resources where tenant_id = $1 and organization_id = $2 and deleted_at is null)
        then 'dispatch.resource'
    when exists (select from dispatch_assignments where tenant_id = $1 and organization_id = $2)
        then 'dispatch.assignment'
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
