//! Keeps job sites and resources that live assignments need.

use backoffice_core::command::{Transition, Tx};
use backoffice_core::db::Prepared;
use backoffice_core::{Rejection, Result};
use diesel::sql_types::{Bool, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;

use super::ASSIGNMENT;

/// How live assignments refer to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LiveUse {
    /// As their job site.
    OfJobSite,
    /// As their subject.
    OfResource,
}

const BY_JOB_SITE: &str = "select exists (
    select from dispatch_assignments a
    where a.tenant_id = $1 and a.job_site_id = $2 and a.status in ('planned', 'confirmed')
        and a.start_at > $3 - interval '367 days' and a.end_at > $3) as is_used";
const BY_RESOURCE: &str = "select exists (
    select from dispatch_assignments a
    where a.tenant_id = $1 and a.subject_type in ('worker', 'equipment', 'vehicle') and a.subject_id = $2
        and a.status in ('planned', 'confirmed') and a.start_at > $3 - interval '367 days' and a.end_at > $3) as is_used";

#[derive(QueryableByName)]
struct Use {
    #[diesel(sql_type = Bool)]
    is_used: bool,
}

/// Rejects the deletion of a record that live assignments refer to: with 409, or with the conflict of an undo.
pub(crate) async fn keep_from_losing_assignments(tx: &mut Tx<'_>, step: &Transition<'_>, of: LiveUse) -> Result<()> {
    let (tenant, now) = (tx.tenant(), tx.context().now());
    let statement = match of {
        LiveUse::OfJobSite => BY_JOB_SITE,
        LiveUse::OfResource => BY_RESOURCE,
    };
    let statement = sql_query(statement)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(step.id)
        .bind::<Timestamptz, _>(now);
    let found: Use = Prepared(statement).get_result(tx.conn()).await?;
    if !found.is_used {
        return Ok(());
    }
    if step.restoring {
        return Err(Rejection::undo_conflict(&[ASSIGNMENT]).into());
    }
    let rejection = match of {
        LiveUse::OfJobSite => Rejection::conflict("Job site has live assignments").code("job_site_in_use"),
        LiveUse::OfResource => Rejection::conflict("Resource has live assignments").code("resource_in_use"),
    };
    Err(rejection.into())
}
