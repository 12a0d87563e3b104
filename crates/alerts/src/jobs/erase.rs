use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::{Result, Scope};
use diesel::sql_query;
use diesel::sql_types::{BigInt, Timestamptz};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};

use crate::config::AlertsConfig;

/// Alerts that one step deletes, with their assignments and marks.
const CHUNK: i64 = 1000;

/// Skips rows that another transaction has locked; the next run finds them.
const ERASE: &str = "\
delete from alerts_alerts a using (
    select tenant_id, id from alerts_alerts where resolved_at < $1 order by resolved_at limit $2 for update skip locked
) old where a.tenant_id = old.tenant_id and a.id = old.id";

/// Deletes alerts that were resolved long ago.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct EraseResolved {}

impl Job for EraseResolved {
    const KIND: &'static str = "alerts.alert.erase_resolved";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let kept = work.call().provided::<AlertsConfig>()?.kept();
        let (before, cursor) = (work.now().before(kept), work.cursor() + 1);
        let mut chunk = work.begin(&Scope::system()).await?;
        let erased = sql_query(ERASE)
            .bind::<Timestamptz, _>(before)
            .bind::<BigInt, _>(CHUNK)
            .execute(chunk.connection())
            .await?;
        chunk.advance(cursor).await?;
        match i64::try_from(erased) {
            Ok(erased) if erased < CHUNK => Ok(Step::Done),
            _ => Ok(Step::More),
        }
    }
}
