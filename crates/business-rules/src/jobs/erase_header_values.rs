//! Deletes values of headers that no undo can need any more.

use backoffice_core::db::Prepared;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::jobs::{Job, NewJob, Step, Work, enqueue};
use backoffice_core::retention::log_start;
use backoffice_core::{Result, Scope};
use diesel::sql_types::{BigInt, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The name of the schedule.
pub(crate) const SCHEDULE: &str = "business_rules.erase_header_values";
/// How often the job runs.
pub(crate) const EVERY: time::Duration = time::Duration::hours(6);
/// Most values that one statement checks; a job ends after that many.
const CHUNK: i64 = 5000;
/// Most tenants of one job.
const MOST_TENANTS: usize = 100;

/// Checks the values of one tenant that follow the value `$1`, `$5`: notes since when no rule names them, and deletes those that no rule has named for
/// long. The rules of the tenant, which are bounded, are read once for all of these values. Values that another transaction has locked
/// are left for the next run.
const ERASE: &str = "\
with start as materialized (
    select tenant_id, id from business_rules_header_values where (tenant_id, id) > ($1, $5) order by tenant_id, id limit 1
), chunk as materialized (
    select id from business_rules_header_values
    where tenant_id = (select tenant_id from start) and id >= (select id from start)
    order by tenant_id, id limit $2
), named as materialized (
    select distinct n.id #>> '{}' as id
    from business_rules_rules r, jsonb_path_query(r.success_actions || r.failure_actions, '$[*].config.headers.*.sealed') as n (id)
    where r.tenant_id = (select tenant_id from start)
), checked as materialized (
    select c.id, n.id is not null as is_used from chunk c left join named n on n.id = c.id::text
), due as materialized (
    select h.tenant_id, h.id, c.is_used, h.unused_since from business_rules_header_values h join checked c on c.id = h.id
    where h.tenant_id = (select tenant_id from start)
        and (c.is_used = (h.unused_since is not null) or not c.is_used and h.unused_since < $4)
    for update of h skip locked
), noted as (
    update business_rules_header_values h set unused_since = case when d.is_used then null else $3 end, updated_at = $3
    from due d where h.tenant_id = d.tenant_id and h.id = d.id and (d.is_used or d.unused_since is null)
), erased as (
    delete from business_rules_header_values h
    using due d where h.tenant_id = d.tenant_id and h.id = d.id and not d.is_used and d.unused_since is not null
)
select tenant_id, (select id from chunk order by id desc limit 1) as last, (select count(*) from chunk) as number from start";

#[derive(QueryableByName)]
struct CheckedValues {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    /// The last value that was checked.
    #[diesel(sql_type = SqlUuid)]
    last: Uuid,
    /// How many were checked.
    #[diesel(sql_type = BigInt)]
    number: i64,
}

/// Deletes the values of headers that no rule has named since before the action log begins: until then an undo may need them. A further job goes on
/// after the values that one has checked.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct EraseHeaderValues {
    /// Tenant and id of the last value that was checked.
    after: Option<(Uuid, Uuid)>,
}

impl Job for EraseHeaderValues {
    const KIND: &'static str = "business_rules.header_value.erase_unused";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, now) = (work.call().clone(), work.now());
        let mut chunk = work.begin(&Scope::system()).await?;
        let Some(start) = log_start(&call, chunk.connection()).await? else {
            chunk.finish().await?;
            return Ok(Step::Done);
        };
        let (mut after, mut number, mut tenants) = (self.after, 0, 0);
        while number < CHUNK && tenants < MOST_TENANTS {
            let (after_tenant, after_id) = after.unwrap_or_default();
            let statement = sql_query(ERASE)
                .bind::<SqlUuid, _>(after_tenant)
                .bind::<BigInt, _>(CHUNK)
                .bind::<Timestamptz, _>(now)
                .bind::<Timestamptz, _>(start)
                .bind::<SqlUuid, _>(after_id);
            let checked: Option<CheckedValues> = Prepared(statement).get_result(chunk.connection()).await.optional()?;
            let Some(checked) = checked else {
                chunk.finish().await?;
                return Ok(Step::Done);
            };
            after = Some((checked.tenant_id, checked.last));
            number += checked.number;
            tenants += 1;
        }
        let next = NewJob::of_system(PLATFORM_TENANT, Self { after });
        enqueue(chunk.connection(), &call, &next).await?;
        chunk.finish().await?;
        Ok(Step::Done)
    }
}
