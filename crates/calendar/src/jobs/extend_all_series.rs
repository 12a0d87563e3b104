use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::{Result, Scope};
use diesel::sql_query;
use diesel::sql_types::{BigInt, Date as SqlDate};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};

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
/// out; the next run finds it again.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ExtendAllSeries {}

const DUE: &str = "select tenant_id, organization_id, id from calendar_series where created_until < $1 order by tenant_id, created_until, id limit $2 offset $3";

async fn due(work: &Work<'_>, failures: i64) -> Result<Vec<DueSeries>> {
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
        .bind::<BigInt, _>(failures);
    Ok(rows.load(&mut &*connection).await?)
}

impl Job for ExtendAllSeries {
    const KIND: &'static str = "calendar.series.extend_all";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (steps, mut failures) = (work.cursor() / FAILURES, work.cursor() % FAILURES);
        let series = due(work, failures).await?;
        if series.is_empty() {
            return Ok(Step::Done);
        }
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
