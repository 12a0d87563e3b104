//! A new job for the failed and unprocessed items of a finished job.

use backoffice_core::http::{Created, Path};
use backoffice_core::{RequestContext, Result, Scope};

use super::job_id::JobId;
use crate::bulk::{BulkKind, Started};
use crate::model::ProgressJob;
use crate::{Error, query};

pub(super) async fn retry_job(ctx: RequestContext, path: Path<JobId>) -> Result<Created<Started>> {
    let id = path.0.get()?;
    let (job, parameters, left) = {
        let connection = ctx.read().await?;
        let job = query::jobs::find(&connection, &ctx, id).await?.ok_or(Error::NotFound)?;
        check(&ctx, &job)?;
        let parameters = query::jobs::parameters(&connection, &job).await?;
        let left = query::items::left(&connection, &job).await?;
        (job, parameters, left)
    };
    // An operation of a module that is no longer enabled can't be retried.
    let kind = kind(&ctx, &job).filter(|_| !left.is_empty());
    let again = kind.ok_or(Error::NothingToRetry)?.again;
    let ctx = in_tenant_of(ctx, &job);
    again(&ctx, parameters, left).await.map(Created)
}

fn check(ctx: &RequestContext, job: &ProgressJob) -> Result<()> {
    if !job.is_of(ctx.identity()) {
        return Err(Error::NotOwner.into());
    }
    if !job.status()?.is_final() {
        return Err(Error::NotFinished.into());
    }
    Ok(())
}

fn kind(ctx: &RequestContext, job: &ProgressJob) -> Option<BulkKind> {
    let mut kinds = ctx.platform().extensions::<BulkKind>();
    kinds.find(|kind| kind.id == job.job_type).copied()
}

/// Returns the context in the tenant of the job. Only a super administrator can find a job outside of the selected tenant.
fn in_tenant_of(ctx: RequestContext, job: &ProgressJob) -> RequestContext {
    if ctx.scope().tenant == Some(job.tenant_id) {
        return ctx;
    }
    let scope = Scope::new(ctx.scope().visible_tenants, Some(job.tenant_id));
    ctx.with_scope(scope)
}
