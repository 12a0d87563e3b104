use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::{Result, Scope};
use diesel::sql_query;
use diesel::sql_types::{BigInt, Timestamptz};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};

/// The name of the schedule.
pub(crate) const SCHEDULE: &str = "notifications.erase_expired";
/// How often the job runs.
pub(crate) const EVERY: time::Duration = time::Duration::hours(1);
/// How long an expired notification stays in the table.
const KEPT: time::Duration = time::Duration::days(1);
/// Notifications that one step deletes.
const CHUNK: i64 = 5000;

/// Skips rows that another transaction has locked; the next run finds them.
const ERASE: &str = "\
delete from notifications_notifications n using (
    select tenant_id, id from notifications_notifications where expires_at < $1 order by expires_at limit $2 for update skip locked
) old where n.tenant_id = old.tenant_id and n.id = old.id";

/// Deletes the notifications that expired a day ago.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct EraseExpired {}

impl Job for EraseExpired {
    const KIND: &'static str = "notifications.notification.erase_expired";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (before, cursor) = (work.now().before(KEPT), work.cursor() + 1);
        let mut chunk = work.begin(&Scope::system()).await?;
        let erased = sql_query(ERASE)
            .bind::<Timestamptz, _>(before)
            .bind::<BigInt, _>(CHUNK)
            .execute(chunk.connection())
            .await?;
        chunk.advance(cursor).await?;
        if i64::try_from(erased).unwrap_or(CHUNK) < CHUNK {
            return Ok(Step::Done);
        }
        Ok(Step::More)
    }
}
