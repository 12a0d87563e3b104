//! Deletes old executions by request and old webhooks. Months of the log are dropped by core.

use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::{Result, Scope, Timestamp, events};
use diesel::sql_query;
use diesel::sql_types::{BigInt, Timestamptz};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};

use crate::config::RulesConfig;
use crate::webhooks::deliveries::DELIVERY;

/// The name of the schedule of executions.
pub(crate) const SCHEDULE: &str = "business_rules.erase_old";
/// The name of the schedule of webhooks.
pub(crate) const WEBHOOKS_SCHEDULE: &str = "business_rules.erase_old_webhooks";
/// How often the jobs run.
pub(crate) const EVERY: time::Duration = time::Duration::hours(6);
/// How long webhooks are kept.
const WEBHOOKS_KEPT: time::Duration = time::Duration::days(30);
/// Rows that one step deletes.
const CHUNK: i64 = 5000;

const ERASE_RUNS: &str = "\
delete from business_rules_runs n using (
    select tenant_id, id from business_rules_runs where created_at < $1 order by created_at limit $2 for update skip locked
) old where n.tenant_id = old.tenant_id and n.id = old.id";

const ERASE_WEBHOOKS: &str = "\
delete from business_rules_webhook_deliveries n using (
    select tenant_id, id from business_rules_webhook_deliveries where created_at < $1 order by created_at limit $2 for update skip locked
) old where n.tenant_id = old.tenant_id and n.id = old.id";

/// Deletes executions by request that are older than `business_rules.log_retention`. No list shows them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct EraseOld {}

impl Job for EraseOld {
    const KIND: &'static str = "business_rules.log.erase_old";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let config = work.call().provided::<RulesConfig>()?;
        let kept = time::Duration::try_from(config.log_retention).unwrap_or(time::Duration::MAX);
        let before = work.now().before(kept);
        erase(work, ERASE_RUNS, before, &[]).await
    }
}

/// Deletes webhooks of more than 30 days ago.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct EraseWebhooks {}

impl Job for EraseWebhooks {
    const KIND: &'static str = "business_rules.webhook_delivery.erase_old";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let before = work.now().before(WEBHOOKS_KEPT);
        erase(work, ERASE_WEBHOOKS, before, &[DELIVERY]).await
    }
}

/// Deletes a chunk of rows of all tenants, and increments the versions of these kinds, whose lists show the rows. Rows that another transaction has
/// locked are left for the next run.
async fn erase(work: &mut Work<'_>, statement: &str, before: Timestamp, kinds: &[&str]) -> Result<Step> {
    let (call, cursor) = (work.call().clone(), work.cursor() + 1);
    let mut chunk = work.begin(&Scope::system()).await?;
    let erased = sql_query(statement)
        .bind::<Timestamptz, _>(before)
        .bind::<BigInt, _>(CHUNK)
        .execute(chunk.connection())
        .await?;
    if erased > 0 && !kinds.is_empty() {
        events::touch(chunk.connection(), &call, PLATFORM_TENANT, kinds).await?;
    }
    chunk.advance(cursor).await?;
    if i64::try_from(erased).unwrap_or(CHUNK) < CHUNK {
        return Ok(Step::Done);
    }
    Ok(Step::More)
}
