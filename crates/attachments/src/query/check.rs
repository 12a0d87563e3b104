//! Reads of all files, for the check.

use std::collections::HashSet;

use backoffice_core::{Result, Timestamp};
use diesel::sql_types::{Array, BigInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::StoreSettings;

/// A file, and where its object lies.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct FileObject {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = BigInt)]
    pub(crate) file_size: i64,
    #[diesel(sql_type = Text)]
    pub(crate) storage_key: String,
    #[diesel(embed)]
    pub(crate) store: StoreSettings,
}

const FILES: &str = "\
select a.tenant_id, a.id, a.file_size, a.storage_key, t.tenant_id as store_tenant_id, t.id as store_id, t.driver, t.config, t.credentials
from attachments_attachments a join attachments_stores t on t.tenant_id = a.partition_tenant_id and t.id = a.store_id
where (a.tenant_id, a.id) > ($1, $2) order by a.tenant_id, a.id limit 1000";

/// Returns the next 1000 files of all tenants, by tenant and id.
pub(crate) async fn files_after(connection: &AsyncPgConnection, after: (Uuid, Uuid)) -> Result<Vec<FileObject>> {
    let statement = sql_query(FILES).bind::<SqlUuid, _>(after.0).bind::<SqlUuid, _>(after.1);
    Ok(statement.load(&mut &*connection).await?)
}

#[derive(QueryableByName)]
struct Key {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

async fn ids(connection: &AsyncPgConnection, statement: &str, keys: &[(Uuid, Uuid)]) -> Result<HashSet<Uuid>> {
    let (tenants, ids): (Vec<Uuid>, Vec<Uuid>) = keys.iter().copied().unzip();
    let statement = sql_query(statement)
        .bind::<Array<SqlUuid>, _>(tenants)
        .bind::<Array<SqlUuid>, _>(ids);
    let found: Vec<Key> = statement.load(&mut &*connection).await?;
    Ok(found.into_iter().map(|key| key.id).collect())
}

const REMAINING: &str = "\
select a.id from unnest($1::uuid[], $2::uuid[]) as k (tenant_id, id)
join attachments_attachments a on a.tenant_id = k.tenant_id and a.id = k.id";

/// Returns the ids of those files that still exist.
pub(crate) async fn remain(connection: &AsyncPgConnection, keys: &[(Uuid, Uuid)]) -> Result<HashSet<Uuid>> {
    ids(connection, REMAINING, keys).await
}

const UNKNOWN: &str = "\
select k.id from unnest($1::uuid[], $2::uuid[]) as k (tenant_id, id)
where not exists (select from attachments_attachments a where a.tenant_id = k.tenant_id and a.id = k.id)
    and not exists (select from attachments_staged s where s.tenant_id = k.tenant_id and s.id = k.id)";

/// Returns the ids to which neither a file nor an announcement belongs.
pub(crate) async fn are_unknown(connection: &AsyncPgConnection, keys: &[(Uuid, Uuid)]) -> Result<HashSet<Uuid>> {
    ids(connection, UNKNOWN, keys).await
}

/// Returns all stores.
pub(crate) async fn stores(connection: &AsyncPgConnection) -> Result<Vec<StoreSettings>> {
    let statement = "select tenant_id as store_tenant_id, id as store_id, driver, config, credentials from attachments_stores order by tenant_id, id";
    Ok(sql_query(statement).load(&mut &*connection).await?)
}

/// A partition and the store of its new files.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct PresentStore {
    #[diesel(sql_type = Text)]
    pub(crate) code: String,
    #[diesel(embed)]
    pub(crate) store: StoreSettings,
}

const PRESENT: &str = "\
select p.code, t.tenant_id as store_tenant_id, t.id as store_id, t.driver, t.config, t.credentials
from attachments_partitions p join attachments_stores t on t.tenant_id = p.tenant_id and t.id = p.store_id
order by p.tenant_id, p.created_at, p.id";

/// Returns the stores of all partitions.
pub(crate) async fn present_stores(connection: &AsyncPgConnection) -> Result<Vec<PresentStore>> {
    Ok(sql_query(PRESENT).load(&mut &*connection).await?)
}

/// Returns the tenants that have or had files.
pub(crate) async fn tenants(connection: &AsyncPgConnection) -> Result<Vec<Uuid>> {
    let found: Vec<Tenant> = sql_query("select tenant_id from attachments_usage order by tenant_id")
        .load(&mut &*connection)
        .await?;
    Ok(found.into_iter().map(|row| row.tenant_id).collect())
}

#[derive(QueryableByName)]
struct Tenant {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
}

const WRONG: &str = "\
select tenant_id from (
    select coalesce(c.tenant_id, a.tenant_id) as tenant_id from attachments_counts c
    full join (
        select tenant_id, organization_id, count(*) as files from attachments_attachments group by tenant_id, organization_id
    ) a on a.tenant_id = c.tenant_id and a.organization_id = c.id
    where coalesce(c.file_count, 0) <> coalesce(a.files, 0)
    union
    select coalesce(u.tenant_id, a.tenant_id) from attachments_usage u
    full join (select tenant_id, sum(file_size) as bytes from attachments_attachments group by tenant_id) a on a.tenant_id = u.tenant_id
    where coalesce(u.used_bytes, 0) <> coalesce(a.bytes, 0)
) wrong order by tenant_id";

/// Returns the tenants whose counters differ from their files.
pub(crate) async fn wrong_counters(connection: &AsyncPgConnection) -> Result<Vec<Uuid>> {
    let wrong: Vec<Tenant> = sql_query(WRONG).load(&mut &*connection).await?;
    Ok(wrong.into_iter().map(|row| row.tenant_id).collect())
}

/// The order in which triggers lock the counters.
const LOCK: [&str; 2] = [
    "select tenant_id from attachments_counts where tenant_id = $1 order by id for update",
    "select tenant_id from attachments_usage where tenant_id = $1 for update",
];

const CORRECT: [&str; 3] = [
    "update attachments_counts c set file_count = 0, updated_at = $2 where c.tenant_id = $1 and not exists (
        select from attachments_attachments a where a.tenant_id = $1 and a.organization_id = c.id)",
    "insert into attachments_counts as c (tenant_id, id, file_count, created_at, updated_at)
    select $1, a.organization_id, count(*), $2, $2 from attachments_attachments a where a.tenant_id = $1
    group by a.organization_id order by a.organization_id
    on conflict (tenant_id, id) do update set file_count = excluded.file_count, updated_at = excluded.updated_at",
    "insert into attachments_usage as u (tenant_id, id, used_bytes, created_at, updated_at)
    select $1, $1, coalesce(sum(a.file_size), 0), $2, $2 from attachments_attachments a where a.tenant_id = $1
    on conflict (tenant_id, id) do update set used_bytes = excluded.used_bytes, updated_at = excluded.updated_at",
];

/// Counts the files of a tenant again.
pub(crate) async fn correct_counters(connection: &mut AsyncPgConnection, tenant: Uuid, now: Timestamp) -> Result<()> {
    for lock in LOCK {
        let _locked: Vec<Tenant> = sql_query(lock).bind::<SqlUuid, _>(tenant).load(connection).await?;
    }
    for statement in CORRECT {
        sql_query(statement)
            .bind::<SqlUuid, _>(tenant)
            .bind::<Timestamptz, _>(now)
            .execute(connection)
            .await?;
    }
    Ok(())
}
