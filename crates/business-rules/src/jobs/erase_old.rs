//! Deletes old executions by request, old webhooks and values of their headers. Months of the log are dropped by core.

use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::retention::log_start;
use backoffice_core::{Result, Scope};
use diesel::sql_query;
use diesel::sql_types::{BigInt, Timestamptz};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};

use crate::config::RulesConfig;
use crate::header_values;

/// The name of the schedule.
pub(crate) const SCHEDULE: &str = "business_rules.erase_old";
/// How often the job runs.
pub(crate) const EVERY: time::Duration = time::Duration::hours(6);
/// Rows that one step deletes.
const CHUNK: i64 = 5000;

/// Skips rows that another transaction has locked; the next run finds them.
const ERASE: [&str; 2] = [
    "delete from business_rules_runs n using (
        select tenant_id, id from business_rules_runs where created_at < $1 order by created_at limit $2 for update skip locked
    ) old where n.tenant_id = old.tenant_id and n.id = old.id",
    "delete from business_rules_webhook_deliveries n using (
        select tenant_id, id from business_rules_webhook_deliveries where created_at < $1 order by created_at limit $2 for update skip locked
    ) old where n.tenant_id = old.tenant_id and n.id = old.id",
];
/// How long webhooks are kept.
const WEBHOOKS_KEPT: time::Duration = time::Duration::days(30);

/// Deletes executions by request that are older than `business_rules.log_retention`, webhooks of more than 30 days ago, and values of headers that no
/// undo can need any more.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct EraseOld {}

impl Job for EraseOld {
    const KIND: &'static str = "business_rules.log.erase_old";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let call = work.call().clone();
        let config = call.provided::<RulesConfig>()?;
        let kept = time::Duration::try_from(config.log_retention).unwrap_or(time::Duration::MAX);
        let (now, cursor) = (work.now(), work.cursor() + 1);
        let before = [now.before(kept), now.before(WEBHOOKS_KEPT)];
        let mut chunk = work.begin(&Scope::system()).await?;
        let mut most = 0;
        for (statement, before) in ERASE.into_iter().zip(before) {
            let erased = sql_query(statement)
                .bind::<Timestamptz, _>(before)
                .bind::<BigInt, _>(CHUNK)
                .execute(chunk.connection())
                .await?;
            most = most.max(erased);
        }
        let is_done = i64::try_from(most).unwrap_or(CHUNK) < CHUNK;
        if is_done && let Some(start) = log_start(&call, chunk.connection()).await? {
            header_values::erase(chunk.connection(), now, start).await?;
        }
        chunk.advance(cursor).await?;
        Ok(if is_done { Step::Done } else { Step::More })
    }
}
