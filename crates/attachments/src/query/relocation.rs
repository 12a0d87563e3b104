//! Statements of the move of files to the present store of their partition.

use backoffice_core::{Result, Timestamp};
use diesel::sql_types::{Array, BigInt, Binary, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::StoreSettings;

/// The partition whose files are moved, and its present store.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct Destination {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) partition_id: Uuid,
    #[diesel(embed)]
    pub(crate) store: StoreSettings,
}

const DESTINATION: &str = "\
select p.id as partition_id, t.tenant_id as store_tenant_id, t.id as store_id, t.driver, t.config, t.credentials
from attachments_partitions p join attachments_stores t on t.tenant_id = p.tenant_id and t.id = p.store_id
where p.tenant_id = $1 and p.id = $2";

/// Returns the present store of a partition.
pub(crate) async fn destination(
    connection: &AsyncPgConnection,
    tenant: Uuid,
    partition: Uuid,
) -> Result<Option<Destination>> {
    let statement = sql_query(DESTINATION)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(partition);
    Ok(statement.get_result(&mut &*connection).await.optional()?)
}

/// The id of a partition.
#[derive(Debug, Clone, Copy, QueryableByName)]
pub(crate) struct PartitionId {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
}

/// Returns the partition of a tenant with this code, regardless of case.
pub(crate) async fn partition(connection: &AsyncPgConnection, tenant: Uuid, code: &str) -> Result<Option<Uuid>> {
    let statement = "select id from attachments_partitions where tenant_id = $1 and lower(code) = lower($2)";
    let statement = sql_query(statement).bind::<SqlUuid, _>(tenant).bind::<Text, _>(code);
    let found: Option<PartitionId> = statement.get_result(&mut &*connection).await.optional()?;
    Ok(found.map(|partition| partition.id))
}

/// A file that lies in an older store of its partition.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct MovedFile {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = BigInt)]
    pub(crate) file_size: i64,
    #[diesel(sql_type = Binary)]
    pub(crate) sha256: Vec<u8>,
    #[diesel(sql_type = Text)]
    pub(crate) storage_key: String,
    /// The store in which it lies.
    #[diesel(embed)]
    pub(crate) store: StoreSettings,
}

const FILES: &str = "\
select a.tenant_id, a.id, a.file_size, a.sha256, a.storage_key,
    t.tenant_id as store_tenant_id, t.id as store_id, t.driver, t.config, t.credentials
from attachments_attachments a join attachments_stores t on t.tenant_id = a.partition_tenant_id and t.id = a.store_id
where a.partition_tenant_id = $1 and a.partition_id = $2 and a.store_id <> $3 and (a.tenant_id, a.id) > ($4, $5)
order by a.tenant_id, a.id limit 100";

/// Returns the next 100 files of a partition that lie in another store than its present one, by tenant and id.
pub(crate) async fn files_after(
    connection: &AsyncPgConnection,
    to: &Destination,
    after: (Uuid, Uuid),
) -> Result<Vec<MovedFile>> {
    let statement = sql_query(FILES)
        .bind::<SqlUuid, _>(to.store.store_tenant_id)
        .bind::<SqlUuid, _>(to.partition_id)
        .bind::<SqlUuid, _>(to.store.store_id)
        .bind::<SqlUuid, _>(after.0)
        .bind::<SqlUuid, _>(after.1);
    Ok(statement.load(&mut &*connection).await?)
}

/// An announcement of the copy of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announced {
    pub(crate) id: Uuid,
    pub(crate) expires_at: Timestamp,
}

const LOCK: &str = "\
select a.id from attachments_attachments a where a.tenant_id = $1 and a.id = $2 and a.store_id = $3 for update";

/// Locks a file, so that only one copy of it is announced at a time. False if it is deleted or moved meanwhile.
pub(crate) async fn lock(connection: &mut AsyncPgConnection, file: &MovedFile) -> Result<bool> {
    let statement = sql_query(LOCK)
        .bind::<SqlUuid, _>(file.tenant_id)
        .bind::<SqlUuid, _>(file.id)
        .bind::<SqlUuid, _>(file.store.store_id);
    Ok(statement.execute(connection).await? == 1)
}

/// An announced object, and its store.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct Competing {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(embed)]
    pub(crate) store: StoreSettings,
}

const COMPETING: &str = "\
select s.id, t.tenant_id as store_tenant_id, t.id as store_id, t.driver, t.config, t.credentials
from attachments_staged s join attachments_stores t on t.tenant_id = s.store_tenant_id and t.id = s.store_id
where s.tenant_id = $1 and s.storage_key = $2";

/// Returns the announced objects with the key of a file, in all stores: several stores can be the same place.
pub(crate) async fn competing(connection: &mut AsyncPgConnection, file: &MovedFile) -> Result<Vec<Competing>> {
    let statement = sql_query(COMPETING)
        .bind::<SqlUuid, _>(file.tenant_id)
        .bind::<Text, _>(&file.storage_key);
    Ok(statement.load(connection).await?)
}

const ANNOUNCE: &str = "\
insert into attachments_staged (tenant_id, id, store_tenant_id, store_id, storage_key, expires_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $7)";

/// Announces the copy of a file in a store.
pub(crate) async fn announce(
    connection: &mut AsyncPgConnection,
    file: &MovedFile,
    to: &StoreSettings,
    announced: Announced,
    now: Timestamp,
) -> Result<()> {
    let statement = sql_query(ANNOUNCE)
        .bind::<SqlUuid, _>(file.tenant_id)
        .bind::<SqlUuid, _>(announced.id)
        .bind::<SqlUuid, _>(to.store_tenant_id)
        .bind::<SqlUuid, _>(to.store_id)
        .bind::<Text, _>(&file.storage_key)
        .bind::<Timestamptz, _>(announced.expires_at)
        .bind::<Timestamptz, _>(now);
    statement.execute(connection).await?;
    Ok(())
}

const EXPIRE: &str = "\
update attachments_staged set expires_at = $3 where tenant_id = $1 and id = any($2) and expires_at > $3 and updated_at = created_at";

/// Lets the sweep remove what an interrupted move left.
pub(crate) async fn expire(
    connection: &mut AsyncPgConnection,
    file: &MovedFile,
    competing: Vec<Uuid>,
    now: Timestamp,
) -> Result<()> {
    let statement = sql_query(EXPIRE)
        .bind::<SqlUuid, _>(file.tenant_id)
        .bind::<Array<SqlUuid>, _>(competing)
        .bind::<Timestamptz, _>(now);
    statement.execute(connection).await?;
    Ok(())
}

const SWITCH: &str = "\
update attachments_attachments set store_id = $4 where tenant_id = $1 and id = $2 and store_id = $3";

/// Only the own announcement, which the sweep has not taken.
const HAND_OVER: &str = "\
update attachments_staged set store_tenant_id = $3, store_id = $4, upload_id = null, expires_at = $5
where tenant_id = $1 and id = $2 and expires_at = $6";

/// Lets a file refer to the present store.
pub(crate) async fn switch(connection: &mut AsyncPgConnection, file: &MovedFile, to: Uuid) -> Result<bool> {
    let statement = sql_query(SWITCH)
        .bind::<SqlUuid, _>(file.tenant_id)
        .bind::<SqlUuid, _>(file.id)
        .bind::<SqlUuid, _>(file.store.store_id)
        .bind::<SqlUuid, _>(to);
    Ok(statement.execute(connection).await? == 1)
}

/// Lets the announcement of the copy be that of the old object, which is then removed.
pub(crate) async fn hand_over(
    connection: &mut AsyncPgConnection,
    file: &MovedFile,
    announced: Announced,
    now: Timestamp,
) -> Result<bool> {
    let statement = sql_query(HAND_OVER)
        .bind::<SqlUuid, _>(file.tenant_id)
        .bind::<SqlUuid, _>(announced.id)
        .bind::<SqlUuid, _>(file.store.store_tenant_id)
        .bind::<SqlUuid, _>(file.store.store_id)
        .bind::<Timestamptz, _>(now)
        .bind::<Timestamptz, _>(announced.expires_at);
    Ok(statement.execute(connection).await? == 1)
}
