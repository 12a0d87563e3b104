//! Claims the next job: one statement, under a scope that sees the job tables and nothing else.

use diesel::sql_types::{Array, BigInt, Integer, Jsonb, Nullable, SmallInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde_json::Value;
use uuid::Uuid;

use super::Queue;
use crate::db::Prepared;
use crate::error::Result;
use crate::platform::Runtime;
use crate::time::Timestamp;

/// A job that this worker holds.
#[derive(Debug, Clone, QueryableByName)]
pub(super) struct Claimed {
    #[diesel(sql_type = SqlUuid)]
    pub(super) tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(super) id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub(super) organization_id: Option<Uuid>,
    #[diesel(sql_type = Text)]
    pub(super) kind: String,
    /// JSON text. The attempt parses it: a payload that can't be read fails its job and not the claim, which would fail again whenever the job is due.
    #[diesel(sql_type = Text)]
    pub(super) payload: String,
    #[diesel(sql_type = Text)]
    pub(super) actor_kind: String,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub(super) actor_id: Option<Uuid>,
    #[diesel(sql_type = Jsonb)]
    pub(super) selection: Value,
    #[diesel(sql_type = Integer)]
    pub(super) attempt: i32,
    #[diesel(sql_type = Integer)]
    pub(super) max_attempts: i32,
    #[diesel(sql_type = BigInt)]
    pub(super) cursor: i64,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub(super) progress_job_id: Option<Uuid>,
    #[diesel(sql_type = SqlUuid)]
    pub(super) lease_owner: Uuid,
    #[diesel(sql_type = SmallInt)]
    pub(super) chunk_items: i16,
    #[diesel(sql_type = SmallInt)]
    pub(super) priority: i16,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    pub(super) noticed_at: Option<Timestamp>,
}

/// Condition: the job `j` can be claimed at the instant `$1`.
const CLAIMABLE: &str = "(j.state = 'queued' and j.run_at <= $1 or j.state = 'running' and j.lease_until < $1)";

/// Condition: the tenant `t` has fewer than `$3` running jobs of the kinds `$2` at the instant `$1`.
const HAS_ROOM: &str = "(select count(*) from core_jobs r \
    where r.tenant_id = t.tenant_id and r.kind = any($2) and r.state = 'running' and r.lease_until >= $1) < $3";

/// Claims the first job of the next tenant in turn in a queue. Skips tenants and jobs that another worker is claiming.
pub(super) async fn claim(runtime: &Runtime, queue: Queue, now: Timestamp) -> Result<Option<Claimed>> {
    let platform = &runtime.platform;
    let mut connection = runtime.database.queue().await?;
    let last_turn = queue.last_turn();
    // The counts in the statement are as old as its start. A claim for a tenant since then has moved the time of its last turn, which then
    // differs from `seen`, so that tenant is skipped too.
    let statement = sql_query(format!(
        "with seen as materialized (
            select tenant_id, {last_turn} from core_job_tenants
        ), turn as (
            select t.tenant_id from core_job_tenants t join seen on seen.tenant_id = t.tenant_id and seen.{last_turn} = t.{last_turn}
            where exists (select from core_jobs j where j.tenant_id = t.tenant_id and j.kind = any($2) and {CLAIMABLE}) and {HAS_ROOM}
            order by t.{last_turn}, t.tenant_id
            limit 1
            for update of t skip locked
        ), next as (
            select j.tenant_id, j.id from core_jobs j join turn using (tenant_id)
            where j.kind = any($2) and {CLAIMABLE}
            order by j.priority, j.run_at, j.id
            limit 1
            for update of j skip locked
        ), turned as (
            update core_job_tenants t
            set {last_turn} = greatest($1, t.{last_turn} + interval '1 millisecond'), updated_at = $1
            from turn where t.tenant_id = turn.tenant_id
        )
        update core_jobs j
        set state = 'running', lease_owner = $4, lease_until = $5, updated_at = $1,
            -- An attempt that ended with its worker began at the latest when the cursor moved.
            attempt = case j.state when 'running' then greatest(j.attempt, 1) else j.attempt end + 1
        from next where j.tenant_id = next.tenant_id and j.id = next.id
        returning j.tenant_id, j.id, j.organization_id, j.kind, j.payload::text as payload, j.actor_kind, j.actor_id, j.selection,
            j.attempt, j.max_attempts, j.cursor, j.progress_job_id, j.lease_owner, j.chunk_items, j.priority,
            j.noticed_at"
    ))
    .bind::<Timestamptz, _>(now)
    .bind::<Array<Text>, _>(platform.job_kinds().names(queue))
    .bind::<Integer, _>(queue.per_tenant(platform.jobs()))
    .bind::<SqlUuid, _>(platform.ids().at(now))
    .bind::<Timestamptz, _>(now.after(platform.jobs().lease()));
    Ok(Prepared(statement).get_result(&mut *connection).await.optional()?)
}

#[derive(QueryableByName)]
struct Waiting {
    #[diesel(sql_type = diesel::sql_types::Bool)]
    others_wait: bool,
}

/// Returns whether a job could run in the place of this one: one of another tenant, or one of the same tenant with a smaller priority.
pub(super) async fn others_wait(runtime: &Runtime, queue: Queue, job: &Claimed, now: Timestamp) -> Result<bool> {
    let platform = &runtime.platform;
    let mut connection = runtime.database.queue().await?;
    let statement = sql_query(format!(
        "select exists (
            select from core_job_tenants t join core_jobs j on j.tenant_id = t.tenant_id
            where t.tenant_id <> $4 and j.kind = any($2) and {CLAIMABLE} and {HAS_ROOM}
        ) or exists (
            select from core_jobs j where j.tenant_id = $4 and j.priority < $5 and j.kind = any($2) and {CLAIMABLE}
        ) as others_wait"
    ))
    .bind::<Timestamptz, _>(now)
    .bind::<Array<Text>, _>(platform.job_kinds().names(queue))
    .bind::<Integer, _>(queue.per_tenant(platform.jobs()))
    .bind::<SqlUuid, _>(job.tenant_id)
    .bind::<SmallInt, _>(job.priority);
    let waiting: Waiting = Prepared(statement).get_result(&mut *connection).await?;
    Ok(waiting.others_wait)
}
