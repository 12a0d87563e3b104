//! Deletes values of headers that no undo can need any more.

use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::retention::log_start;
use backoffice_core::{Result, Scope};
use diesel::sql_types::{BigInt, Timestamptz};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};

/// The name of the schedule.
pub(crate) const SCHEDULE: &str = "business_rules.erase_header_values";
/// How often the job runs.
pub(crate) const EVERY: time::Duration = time::Duration::hours(6);
/// Values that one step checks.
const CHUNK: i64 = 5000;

/// Checks values of one tenant, from a position in the order of all values on: notes since when no rule names them, and deletes those that no rule has
/// named for long. The rules of the tenant, which are bounded, are read once for all of these values. Values that another transaction has locked
/// are left for the next run.
const ERASE: &str = "\
with start as materialized (
    select tenant_id, id from business_rules_header_values order by tenant_id, id offset $1 limit 1
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
    returning h.id
)
select (select count(*) from chunk) as checked, (select count(*) from erased) as erased";

#[derive(QueryableByName)]
struct CheckedValues {
    #[diesel(sql_type = BigInt)]
    checked: i64,
    #[diesel(sql_type = BigInt)]
    erased: i64,
}

/// Deletes the values of headers that no rule has named since before the action log begins: until then an undo may need them. The cursor counts the
/// values that were checked and left.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct EraseHeaderValues {}

impl Job for EraseHeaderValues {
    const KIND: &'static str = "business_rules.header_value.erase_unused";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, now, cursor) = (work.call().clone(), work.now(), work.cursor());
        let mut chunk = work.begin(&Scope::system()).await?;
        let Some(start) = log_start(&call, chunk.connection()).await? else {
            chunk.finish().await?;
            return Ok(Step::Done);
        };
        let values: CheckedValues = sql_query(ERASE)
            .bind::<BigInt, _>(cursor)
            .bind::<BigInt, _>(CHUNK)
            .bind::<Timestamptz, _>(now)
            .bind::<Timestamptz, _>(start)
            .get_result(chunk.connection())
            .await?;
        chunk.advance(cursor + values.checked - values.erased).await?;
        match values.checked {
            0 => Ok(Step::Done),
            _ => Ok(Step::More),
        }
    }
}
