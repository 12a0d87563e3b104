//! Events are kept for a week, and until every subscriber has passed them; dead letters for 90 days.

use diesel::sql_query;
use diesel::sql_types::{BigInt, Timestamptz};
use diesel::{QueryableByName, sql_types::Integer};
use diesel_async::{AsyncPgConnection, RunQueryDsl};

use crate::context::Call;
use crate::error::Result;
use crate::scope::Scope;
use crate::time::Timestamp;

const BATCH: i64 = 5000;

#[derive(QueryableByName)]
struct Removed {
    #[diesel(sql_type = Integer)]
    removed: i32,
}

/// Deletes old events and dead letters, 5000 rows at a time. Any number of nodes may call it. Returns the number of deleted rows.
///
/// # Errors
/// When the database can't be reached.
pub async fn forget(call: &Call) -> Result<usize> {
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    let mut all = 0;
    for statement in [FORGET_EVENTS, FORGET_LETTERS] {
        loop {
            let removed = batch(&mut connection, statement, call.now).await?;
            all += removed;
            if i64::try_from(removed).unwrap_or(BATCH) < BATCH {
                break;
            }
        }
    }
    Ok(all)
}

async fn batch(connection: &mut AsyncPgConnection, statement: &str, now: Timestamp) -> Result<usize> {
    let gone: Removed = sql_query(statement)
        .bind::<Timestamptz, _>(now)
        .bind::<BigInt, _>(BATCH)
        .get_result(connection)
        .await?;
    Ok(usize::try_from(gone.removed).unwrap_or(0))
}

/// The stream `removed` of a tenant holds the highest deleted number: a client that resumes before it has missed events.
const FORGET_EVENTS: &str = "\
with old as (
    select e.tenant_id, e.id from core_outbox_events e
    where e.occurred_at < $1 - interval '7 days'
      and not exists (select from core_event_cursors c where c.tenant_id = e.tenant_id and c.last_seq < e.seq)
    order by e.occurred_at limit $2
    for update skip locked
), gone as (
    delete from core_outbox_events e using old where e.tenant_id = old.tenant_id and e.id = old.id
    returning e.tenant_id, e.seq
), noted as (
    insert into core_event_streams as s (tenant_id, id, name, last_seq, created_at, updated_at)
    select tenant_id, md5(tenant_id::text || 'removed')::uuid, 'removed', max(seq), $1, $1
    from gone group by tenant_id order by tenant_id
    on conflict (tenant_id, name) do update
        set last_seq = greatest(s.last_seq, excluded.last_seq), updated_at = excluded.updated_at
)
select count(*)::integer as removed from gone";

const FORGET_LETTERS: &str = "\
with old as (
    select tenant_id, id from core_event_dead_letters where created_at < $1 - interval '90 days'
    order by created_at limit $2 for update skip locked
), gone as (
    delete from core_event_dead_letters d using old where d.tenant_id = old.tenant_id and d.id = old.id returning 1
)
select count(*)::integer as removed from gone";
