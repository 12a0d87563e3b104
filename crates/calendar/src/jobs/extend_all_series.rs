use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::jobs::{Job, NewJob, Step, Work, enqueue};
use backoffice_core::{Call, Result, Scope};
use diesel::sql_query;
use diesel::sql_types::{BigInt, Date as SqlDate, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::config::horizon_days;
use crate::day::Day;
use crate::extension::{DueSeries, extend};
use crate::zones::Zone;

/// The name of the schedule.
pub(crate) const SCHEDULE: &str = "calendar.extend_series";
/// How often the job runs.
pub(crate) const EVERY: time::Duration = time::Duration::days(7);
/// A series is extended when its windows end this many days before the horizon, so that it changes once in several weeks.
const SLACK: i64 = 28;
/// Series that one step extends.
const CHUNK: i64 = 10;
/// The cursor is the number of steps times this number, plus the number of series that failed.
const FAILURES: i64 = 1000;

/// Creates the next windows of all series, up to the horizon. Each series is extended in a transaction of its own, under its lock. A series that fails is left
/// out; the next run finds it again. The series of a deleted tenant are left out, too; a further job goes on after that tenant.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ExtendAllSeries {
    /// The last deleted tenant that was left out. The tenants before it are done.
    after: Option<Uuid>,
}

const DUE: &str = "select tenant_id, organization_id, id from calendar_series where created_until < $1 and tenant_id > $4 \
    order by tenant_id, created_until, id limit $2 offset $3";

async fn due(work: &Work<'_>, after: Option<Uuid>, failures: i64) -> Result<Vec<DueSeries>> {
    let call = work.call();
    let horizon = horizon_days(call.platform());
    let today = Day::from_date(Zone::UTC.local_date(work.now()));
    let before = today
        .and_then(|today| today.plus_days(horizon - SLACK))
        .unwrap_or(Day::LAST);
    let connection = call.database().read(&Scope::system()).await?;
    let rows = sql_query(DUE)
        .bind::<SqlDate, _>(before)
        .bind::<BigInt, _>(CHUNK)
        .bind::<BigInt, _>(failures)
        .bind::<SqlUuid, _>(after.unwrap_or_default());
    Ok(rows.load(&mut &*connection).await?)
}

/// Returns whether a tenant was deleted. Without the directory, no tenant can be.
async fn is_deleted(call: &Call, tenant: Uuid) -> Result<bool> {
    let Some(tree) = call.platform().provided().organizations() else {
        return Ok(false);
    };
    let mut connection = call.database().unlogged(&Scope::tenant(tenant)).await?;
    Ok(!tree.tenant_is_live(&mut connection, tenant).await?)
}

impl Job for ExtendAllSeries {
    const KIND: &'static str = "calendar.series.extend_all";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (steps, mut failures) = (work.cursor() / FAILURES, work.cursor() % FAILURES);
        let mut series = due(work, self.after, failures).await?;
        let Some(tenant) = series.as_slice().first().map(|one| one.tenant_id) else {
            return Ok(Step::Done);
        };
        if is_deleted(work.call(), tenant).await? {
            let (call, next) = (work.call().clone(), Self { after: Some(tenant) });
            let mut chunk = work.begin(&Scope::system()).await?;
            enqueue(chunk.connection(), &call, &NewJob::of_system(PLATFORM_TENANT, next)).await?;
            chunk.finish().await?;
            return Ok(Step::Done);
        }
        series.retain(|one| one.tenant_id == tenant);
        for one in series {
            if let Err(error) = extend(work.call(), work.now(), one).await {
                tracing::warn!(%error, tenant.id = %one.tenant_id, series.id = %one.id, "series could not be extended");
                failures += 1;
            }
        }
        if failures >= FAILURES {
            return Ok(Step::Done);
        }
        let chunk = work.begin(&Scope::system()).await?;
        chunk.advance((steps + 1) * FAILURES + failures).await?;
        Ok(Step::More)
    }
}
