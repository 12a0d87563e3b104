//! Keeps organizations with job sites from being deleted.

use backoffice_core::command::{Entity, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::{Rejection, Result};
use diesel::dsl::exists;
use diesel::{ExpressionMethods, QueryDsl, select};
use diesel_async::RunQueryDsl;

use crate::model::JobSite;
use crate::schema::dispatch_job_sites as job_sites;

/// Rejects the deletion of an organization with job sites.
pub(crate) const KEEP_ORGANIZATIONS_WITH_JOB_SITES: Interceptor = Interceptor {
    id: "dispatch.organization_job_sites",
    target: "directory.organization.*",
    priority: 100,
    run: |tx, context| Box::pin(keep_organization(tx, context)),
};

async fn keep_organization(tx: &mut Tx<'_>, context: &InterceptorContext<'_>) -> Result<Verdict> {
    if !context.removes("directory.organization.delete") {
        return Ok(Verdict::Continue);
    }
    let own = job_sites::table
        .filter(job_sites::tenant_id.eq(tx.tenant()))
        .filter(job_sites::organization_id.eq(context.id));
    let has_job_sites: bool = select(exists(own)).get_result(tx.conn()).await?;
    if !has_job_sites {
        return Ok(Verdict::Continue);
    }
    let rejection = Rejection::conflict("Organization is in use").code("organization_in_use");
    Ok(context.keep(rejection, JobSite::KIND))
}
