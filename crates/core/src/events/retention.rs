//! Events are kept for a week, and until every subscriber has passed them; dead letters for 90 days.
//!
//! A subscriber whose module is no longer enabled keeps its cursors, and holds no events back once they have not moved for a week. If the module is
//! enabled again, the cursors continue with the oldest event that is stored.

use diesel::sql_types::{Array, BigInt, Integer, Text, Timestamptz};
use diesel::{QueryableByName, sql_query};
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

impl Removed {
    fn count(&self) -> usize {
        usize::try_from(self.removed).unwrap_or(0)
    }

    /// Returns whether a statement has deleted less than it may, so that no row is left.
    fn is_last(&self) -> bool {
        i64::from(self.removed) < BATCH
    }
}

/// Deletes old events and dead letters, 5000 rows at a time. Any number of nodes may call it. Returns the number of deleted rows.
///
/// # Errors
/// When the database can't be reached.
pub async fn forget(call: &Call) -> Result<usize> {
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    Ok(forget_events(&mut connection, call).await? + forget_letters(&mut connection, call.now).await?)
}

async fn forget_events(connection: &mut AsyncPgConnection, call: &Call) -> Result<usize> {
    let subscribers = call.platform().subscribers().names();
    let mut all = 0;
    loop {
        let statement = sql_query(FORGET_EVENTS)
            .bind::<Timestamptz, _>(call.now)
            .bind::<BigInt, _>(BATCH)
            .bind::<Array<Text>, _>(subscribers.clone());
        let gone: Removed = statement.get_result(connection).await?;
        all += gone.count();
        if gone.is_last() {
            return Ok(all);
        }
    }
}

async fn forget_letters(connection: &mut AsyncPgConnection, now: Timestamp) -> Result<usize> {
    let mut all = 0;
    loop {
        let statement = sql_query(FORGET_LETTERS)
            .bind::<Timestamptz, _>(now)
            .bind::<BigInt, _>(BATCH);
        let gone: Removed = statement.get_result(connection).await?;
        all += gone.count();
        if gone.is_last() {
            return Ok(all);
        }
    }
}

/// The stream `removed` of a tenant holds the highest deleted number: a client that resumes before it has missed events. The cursors of the enabled
/// subscribers count however old they are: after a long outage their relays deliver what has waited.
const FORGET_EVENTS: &str = "\
with old as (
    select e.tenant_id, e.id from core_outbox_events e
    where e.occurred_at < $1 - interval '7 days'
      and not exists (
          select from core_event_cursors c
          where c.tenant_id = e.tenant_id and c.last_seq < e.seq
            and (c.subscriber = any($3) or c.updated_at >= $1 - interval '7 days'))
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
