//! Jobs that delete old deliveries, and owners of tokens that no device has any more.

use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::{Result, Scope, Timestamp};
use diesel::sql_query;
use diesel::sql_types::{BigInt, Timestamptz};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};

/// The name of the schedule of deliveries.
pub(crate) const DELIVERIES_SCHEDULE: &str = "devices.erase_push_deliveries";
/// How often deliveries are erased.
pub(crate) const DELIVERIES_EVERY: time::Duration = time::Duration::hours(1);
/// The name of the schedule of owners.
pub(crate) const OWNERS_SCHEDULE: &str = "devices.erase_push_token_owners";
/// How often owners are erased.
pub(crate) const OWNERS_EVERY: time::Duration = time::Duration::days(1);

/// How long a delivery is kept.
const KEPT: time::Duration = time::Duration::days(7);
/// An owner is kept at least this long, so that a registration that is still running is not disturbed.
const SETTLED: time::Duration = time::Duration::hours(1);
/// Rows that one step deletes.
const CHUNK: i64 = 5000;

const ERASE_DELIVERIES: &str = "\
delete from devices_push_deliveries p using (
    select tenant_id, id from devices_push_deliveries where created_at < $1 order by created_at limit $2 for update skip locked
) old where p.tenant_id = old.tenant_id and p.id = old.id";

const ERASE_OWNERS: &str = "\
delete from devices_push_token_owners o using (
    select o.tenant_id, o.id from devices_push_token_owners o
    where o.updated_at < $1 and not exists (
        select from devices_devices d
        where d.tenant_id = o.owner_tenant_id and d.id = o.device_row_id and d.deleted_at is null and d.push_token_hash is not null)
    limit $2 for update of o skip locked
) old where o.tenant_id = old.tenant_id and o.id = old.id";

/// Deletes the deliveries of more than seven days ago.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct EraseDeliveries {}

impl Job for EraseDeliveries {
    const KIND: &'static str = "devices.push_delivery.erase";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let before = work.now().before(KEPT);
        erase(work, ERASE_DELIVERIES, before).await
    }
}

/// Deletes the owners of tokens that their devices do not have any more.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct EraseOwners {}

impl Job for EraseOwners {
    const KIND: &'static str = "devices.push_token_owner.erase";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let before = work.now().before(SETTLED);
        erase(work, ERASE_OWNERS, before).await
    }
}

/// Deletes a chunk of rows of all tenants. Rows that another transaction has locked are left for the next run.
async fn erase(work: &mut Work<'_>, statement: &str, before: Timestamp) -> Result<Step> {
    let cursor = work.cursor() + 1;
    let mut chunk = work.begin(&Scope::system()).await?;
    let erased = sql_query(statement)
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
