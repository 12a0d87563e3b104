//! Creates cursors, and claims the next one with events to deliver.

use diesel::sql_types::{Array, BigInt, Bool, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use time::Duration;
use uuid::Uuid;

use crate::db::{ASYNC_COMMIT, Prepared, Recurring};
use crate::error::Result;
use crate::ids::PLATFORM_TENANT;
use crate::platform::Runtime;
use crate::time::Timestamp;

/// Longer than any lease and any wait for the next attempt: a later time was written while a clock was ahead, and counts as past (decision 12).
pub(super) const LONGEST_DELAY: Duration = Duration::minutes(30);

/// Duration of a lease. A delivery that takes longer is repeated.
pub(super) const LEASE: Duration = Duration::seconds(30);

/// A cursor that this relay holds.
#[derive(Debug, Clone, QueryableByName)]
pub(super) struct Claimed {
    #[diesel(sql_type = SqlUuid)]
    pub(super) tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(super) id: Uuid,
    #[diesel(sql_type = Text)]
    pub(super) subscriber: String,
    #[diesel(sql_type = BigInt)]
    pub(super) last_seq: i64,
    #[diesel(sql_type = Integer)]
    pub(super) attempt: i32,
    #[diesel(sql_type = Nullable<Text>)]
    pub(super) last_error: Option<String>,
    #[diesel(sql_type = SqlUuid)]
    pub(super) lease_owner: Uuid,
}

/// Creates cursors of new subscribers in every tenant: at its present end, or with `replay` at the oldest stored event. The cursor in the
/// platform tenant marks a subscriber as known. Any number of nodes may call it.
///
/// # Errors
/// When the database can't be reached.
pub async fn create_cursors(runtime: &Runtime) -> Result<()> {
    let subscribers = runtime.platform.subscribers();
    if subscribers.is_empty() {
        return Ok(());
    }
    let mut connection = runtime.database.queue().await?;
    sql_query(
        "with fresh as (
            select s.id, s.replay from unnest($2, $3) as s (id, replay)
            where not exists (select from core_event_cursors c where c.tenant_id = $4 and c.subscriber = s.id)
        ), tenants as (
            select tenant_id, last_seq from core_event_streams where name = 'log'
            union all
            select $4, 0 where not exists (select from core_event_streams where tenant_id = $4 and name = 'log')
        )
        insert into core_event_cursors (tenant_id, id, subscriber, last_seq, attempt, next_at, created_at, updated_at)
        select t.tenant_id, md5(t.tenant_id::text || f.id)::uuid, f.id, case when f.replay then 0 else t.last_seq end, 0, $1, $1, $1
        from fresh f cross join tenants t
        on conflict do nothing",
    )
    .bind::<Timestamptz, _>(runtime.platform.clock().now())
    .bind::<Array<Text>, _>(subscribers.names())
    .bind::<Array<Bool>, _>(subscribers.replays())
    .bind::<SqlUuid, _>(PLATFORM_TENANT)
    .prepared()
    .execute(&mut *connection)
    .await?;
    Ok(())
}

/// The tenants of a search.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tenants<'a> {
    All,
    /// Those whose streams were created since an instant.
    CreatedSince(Timestamp),
    These(&'a [Uuid]),
}

/// Creates cursors of the known subscribers in tenants that were created later, at the first event.
pub(super) async fn create_missing_cursors(runtime: &Runtime, now: Timestamp, tenants: Tenants<'_>) -> Result<usize> {
    let mut connection = runtime.database.queue().await?;
    let (condition, since, these) = match tenants {
        Tenants::All => ("$4::timestamptz is null and $5::uuid[] is null", None, None),
        Tenants::CreatedSince(since) => ("s.created_at >= $4 and $5::uuid[] is null", Some(since), None),
        Tenants::These(tenants) => ("$4::timestamptz is null and s.tenant_id = any($5)", None, Some(tenants)),
    };
    let statement = sql_query(format!(
        "insert into core_event_cursors (tenant_id, id, subscriber, last_seq, attempt, next_at, created_at, updated_at)
        select s.tenant_id, md5(s.tenant_id::text || c.subscriber)::uuid, c.subscriber, 0, 0, $1, $1, $1
        from core_event_streams s
        join core_event_cursors c on c.tenant_id = $3 and c.subscriber = any($2)
        where s.name = 'log' and {condition}
          and not exists (select from core_event_cursors o where o.tenant_id = s.tenant_id and o.subscriber = c.subscriber)
        on conflict do nothing"
    ))
    .bind::<Timestamptz, _>(now)
    .bind::<Array<Text>, _>(runtime.platform.subscribers().names())
    .bind::<SqlUuid, _>(PLATFORM_TENANT)
    .bind::<Nullable<Timestamptz>, _>(since)
    .bind::<Nullable<Array<SqlUuid>>, _>(these);
    Ok(Prepared(statement).execute(&mut *connection).await?)
}

/// Claims the cursor of these tenants that has waited longest; skips cursors that another relay is claiming. A claim that a crash of the database loses
/// is repeated.
pub(super) async fn claim(runtime: &Runtime, now: Timestamp, tenants: &[Uuid]) -> Result<Option<Claimed>> {
    let platform = &runtime.platform;
    let mut connection = runtime.database.queue().await?;
    let statement = sql_query(format!(
        "with due as (
            select c.tenant_id, c.id
            from core_event_cursors c
            join core_event_streams s on s.tenant_id = c.tenant_id and s.name = 'log'
            where c.tenant_id = any($5) and c.subscriber = any($2) and c.last_seq < s.last_seq
              and (c.attempt = 0 or c.next_at <= $1 or c.next_at > $6)
              and (c.lease_until is null or c.lease_until < $1 or c.lease_until > $6)
            order by c.next_at, c.id
            limit 1
            for update of c skip locked
        )
        update core_event_cursors c
        set lease_owner = $3, lease_until = $4, attempt = c.attempt + 1, updated_at = $1
        from due cross join (select {ASYNC_COMMIT}) hasty where c.tenant_id = due.tenant_id and c.id = due.id
        returning c.tenant_id, c.id, c.subscriber, c.last_seq, c.attempt, c.last_error, c.lease_owner"
    ))
    .bind::<Timestamptz, _>(now)
    .bind::<Array<Text>, _>(platform.subscribers().names())
    .bind::<SqlUuid, _>(platform.ids().at(now))
    .bind::<Timestamptz, _>(now.after(LEASE))
    .bind::<Array<SqlUuid>, _>(tenants)
    .bind::<Timestamptz, _>(now.after(LONGEST_DELAY));
    Ok(Prepared(statement).get_result(&mut *connection).await.optional()?)
}
