//! Retention of the logs and of other tables that are partitioned by month: creates months ahead, and drops old ones with the rows that only they needed.

use diesel::sql_types::{Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use uuid::Uuid;

use crate::context::Call;
use crate::db::MAINTENANCE_STATEMENT;
use crate::error::Result;
use crate::events;
use crate::ids::PLATFORM_TENANT;
use crate::months::{self, ACTION_LOG, ConfiguredTable};
use crate::scope::Scope;
use crate::time::Timestamp;

#[derive(QueryableByName)]
struct Key {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

/// Creates the next three months of the logs and of the modules' monthly tables, drops the months that are past their retention, with the versions,
/// links and tombstones that only their entries needed, and counts the months of the action log that are over. Any number of nodes may call it.
/// Returns whether everything was done: partitions in use are left for the next call.
///
/// # Errors
/// When the database can't be reached.
pub async fn maintain_logs(call: &Call) -> Result<bool> {
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    connection.allow(MAINTENANCE_STATEMENT).await?;
    let mut complete = true;
    for table in call.platform().monthly_tables().iter() {
        complete &= months::create(&mut connection, table).await?;
        complete &= drop_months(call, table).await?;
    }
    while count_month(&mut connection).await? {}
    if let Some(start) = log_start(call, &connection).await? {
        for statement in [FORGET_VERSIONS, FORGET_LINKS] {
            forget(&mut connection, statement, start).await?;
        }
        let entities = call.platform().registry().entities();
        for table in entities.filter_map(|entity| entity.tombstones()) {
            purge(&mut connection, table, start).await?;
        }
    }
    Ok(complete)
}

#[derive(QueryableByName)]
struct LogStart {
    #[diesel(sql_type = Timestamptz)]
    starts_at: Timestamp,
}

const LOG_START: &str = "\
select date_trunc('month', least($1 - make_interval(months => $2), $1 - t.kept), 'utc') as starts_at
from core_monthly_tables t where t.name = $3";

/// Returns the start of the oldest month that the action log keeps; `None` if it keeps all months. An undo can need what was deleted or replaced
/// since then. A month is dropped when it is past the configured retention and past the one with which `migrate` ran last: a shorter retention
/// deletes nothing before the next `migrate`.
///
/// # Errors
/// When the database can't be reached.
pub async fn log_start(call: &Call, connection: &AsyncPgConnection) -> Result<Option<Timestamp>> {
    let months = call.platform().audit().action.retention_months;
    if months == 0 {
        return Ok(None);
    }
    let found: LogStart = sql_query(LOG_START)
        .bind::<Timestamptz, _>(call.now)
        .bind::<Integer, _>(i32::try_from(months).unwrap_or(i32::MAX))
        .bind::<Text, _>(ACTION_LOG)
        .get_result(&mut &*connection)
        .await?;
    Ok(Some(found.starts_at))
}

/// Drops old months in a transaction of their own, which changes the version of their lists. Returns whether no old month is left.
async fn drop_months(call: &Call, table: &ConfiguredTable) -> Result<bool> {
    let mut transaction = call.database().transaction(&Scope::system()).await?;
    transaction.connection().allow(MAINTENANCE_STATEMENT).await?;
    let dropped = months::drop_old(transaction.connection(), table, call.now).await?;
    if table.name == ACTION_LOG {
        // In the same transaction, so that no total counts deleted entries.
        transaction
            .connection()
            .batch_execute("select audit_forget_counts()")
            .await?;
    }
    if dropped.gone > 0 {
        events::touch(transaction.connection(), call, PLATFORM_TENANT, &[table.kind]).await?;
    }
    transaction.commit().await?;
    if dropped.gone > 0 {
        tracing::info!(removed = dropped.gone, table = table.name, "dropped old months");
    }
    Ok(dropped.complete)
}

#[derive(QueryableByName)]
struct Months {
    #[diesel(sql_type = Integer)]
    counted: i32,
}

/// Counts the oldest uncounted month that is over; false when there is none.
async fn count_month(connection: &mut AsyncPgConnection) -> Result<bool> {
    let months: Months = sql_query("select audit_count_entries() as counted")
        .get_result(connection)
        .await?;
    Ok(months.counted > 0)
}

/// Deletes the versions and links whose entries were dropped, 5000 rows at a time in the order of the key.
async fn forget(connection: &mut AsyncPgConnection, statement: &str, log_start: Timestamp) -> Result<()> {
    let (mut tenant, mut id) = (Uuid::nil(), Uuid::nil());
    loop {
        let last: Option<Key> = sql_query(statement)
            .bind::<SqlUuid, _>(tenant)
            .bind::<SqlUuid, _>(id)
            .bind::<Timestamptz, _>(log_start)
            .get_result(connection)
            .await
            .optional()?;
        let Some(last) = last else { return Ok(()) };
        (tenant, id) = (last.tenant_id, last.id);
    }
}

#[derive(QueryableByName)]
struct Purged {
    #[diesel(sql_type = Nullable<SqlUuid>)]
    last_tenant: Option<Uuid>,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    last_id: Option<Uuid>,
    #[diesel(sql_type = Integer)]
    gone: i32,
}

/// Deletes the tombstones that no entry can restore any more, 5000 at a time. Tombstones that are still referenced are kept until the next
/// time.
async fn purge(connection: &mut AsyncPgConnection, table: &str, log_start: Timestamp) -> Result<()> {
    let (mut tenant, mut id, mut gone) = (Uuid::nil(), Uuid::nil(), 0);
    loop {
        let batch: Purged = sql_query(PURGE)
            .bind::<Text, _>(table)
            .bind::<Timestamptz, _>(log_start)
            .bind::<SqlUuid, _>(tenant)
            .bind::<SqlUuid, _>(id)
            .get_result(connection)
            .await?;
        gone += batch.gone;
        let (Some(last_tenant), Some(last_id)) = (batch.last_tenant, batch.last_id) else {
            break;
        };
        (tenant, id) = (last_tenant, last_id);
    }
    if gone > 0 {
        tracing::info!(removed = gone, table, "purged old tombstones");
    }
    Ok(())
}

const PURGE: &str = "\
select last_tenant, last_id, gone
from audit_purge_tombstones($1::regclass, $2, $3, $4)";

const FORGET_VERSIONS: &str = "\
with batch as (
    select tenant_id, id from audit_resource_versions where (tenant_id, id) > ($1, $2) order by tenant_id, id limit 5000
), gone as (
    delete from audit_resource_versions v using batch b
    where v.tenant_id = b.tenant_id and v.id = b.id
        and v.last_log_id < audit_lowest_id($3)
)
select tenant_id, id from batch order by tenant_id desc, id desc limit 1";

const FORGET_LINKS: &str = "\
with batch as (
    select tenant_id, id from audit_action_links where (tenant_id, id) > ($1, $2) order by tenant_id, id limit 5000
), gone as (
    delete from audit_action_links l using batch b
    where l.tenant_id = b.tenant_id and l.id = b.id
        and l.log_id < audit_lowest_id($3)
)
select tenant_id, id from batch order by tenant_id desc, id desc limit 1";
