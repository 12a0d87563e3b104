//! Stored objects to which no file refers: not yet, or no more.

use backoffice_core::command::Tx;
use backoffice_core::db::{Prepared, Recurring};
use backoffice_core::{Result, Scope, Timestamp};
use diesel::sql_types::{BigInt, Bool, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{
    ExpressionMethods, Insertable, OptionalExtension, QueryDsl, QueryableByName, delete, insert_into, sql_query, update,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::StoreSettings;
use crate::schema::attachments_staged as staged;

/// An object that is about to be stored.
#[derive(Debug, Clone, PartialEq, Eq, Insertable)]
#[diesel(table_name = staged, treat_none_as_default_value = false)]
pub(crate) struct Staged {
    /// The tenant of the file.
    pub(crate) tenant_id: Uuid,
    /// The id of the file.
    pub(crate) id: Uuid,
    /// The tenant of the store.
    pub(crate) store_tenant_id: Uuid,
    /// The store.
    pub(crate) store_id: Uuid,
    /// Key of the object.
    pub(crate) storage_key: String,
    /// Time after which the object is removed.
    pub(crate) expires_at: Timestamp,
    /// Time of the insertion.
    pub(crate) created_at: Timestamp,
    /// The same as `created_at`.
    pub(crate) updated_at: Timestamp,
}

/// Inserts the row of an object that is about to be stored.
pub(crate) async fn insert(connection: &mut AsyncPgConnection, row: &Staged) -> Result<()> {
    insert_into(staged::table)
        .values(row)
        .prepared()
        .execute(connection)
        .await?;
    Ok(())
}

/// Records the id of an upload in parts, so that it can be ended after a crash.
pub(crate) async fn note_upload(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    id: Uuid,
    upload: &str,
) -> Result<()> {
    let own = staged::table
        .filter(staged::tenant_id.eq(tenant))
        .filter(staged::id.eq(id));
    update(own)
        .set(staged::upload_id.eq(upload))
        .prepared()
        .execute(connection)
        .await?;
    Ok(())
}

/// The end of an upload.
#[derive(Debug, Clone, Copy, QueryableByName)]
pub(crate) struct Settled {
    /// Whether the object still belongs to the upload: the clean-up moves `expires_at` when it takes an object.
    #[diesel(sql_type = Bool)]
    pub(crate) is_kept: bool,
    /// Whether the files of the tenant are within its quota. Exact, because the insertion of the file holds the row of the counter.
    #[diesel(sql_type = Bool)]
    pub(crate) fits: bool,
}

const SETTLE: &str = "\
with kept as (
    delete from attachments_staged where tenant_id = $1 and id = $2 and expires_at = $3 returning id
)
select exists (select from kept) as is_kept,
    (select used_bytes <= coalesce(quota, $4) from attachments_usage where tenant_id = $1 and id = $1) as fits";

/// Deletes the row of an object to which a file of this transaction refers, and compares the counter of the tenant with its quota, or `default`.
pub(crate) async fn settle(tx: &mut Tx<'_>, id: Uuid, expires_at: Timestamp, default: i64) -> Result<Settled> {
    let statement = sql_query(SETTLE)
        .bind::<SqlUuid, Uuid>(tx.tenant())
        .bind::<SqlUuid, _>(id)
        .bind::<Timestamptz, _>(expires_at)
        .bind::<BigInt, _>(default);
    Ok(Prepared(statement).get_result(tx.conn()).await?)
}

/// An object to remove, and its store.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct Removable {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) storage_key: String,
    /// The id of an upload in parts that may have been interrupted.
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) upload_id: Option<String>,
    #[diesel(embed)]
    pub(crate) store: StoreSettings,
}

/// Waits for a transaction that may still refer to the object. If it was committed, it has deleted the row.
const ONE: &str = "\
with own as (
    select s.tenant_id, s.id, s.store_tenant_id, s.store_id, s.storage_key, s.upload_id from attachments_staged s
    where s.tenant_id = $1 and s.id = $2 for update
)
select o.tenant_id, o.id, o.storage_key, o.upload_id, o.store_tenant_id, o.store_id, t.driver, t.config, t.credentials
from own o join attachments_stores t on t.tenant_id = o.store_tenant_id and t.id = o.store_id";

/// Puts objects that could not be removed last.
const EXPIRED: &str = "\
with due as (
    update attachments_staged s set expires_at = $1 + interval '10 minutes', updated_at = $1
    where (s.tenant_id, s.id) in (
        select e.tenant_id, e.id from attachments_staged e where e.expires_at <= $1
        order by e.expires_at limit $2 for update skip locked)
    returning s.tenant_id, s.id, s.store_tenant_id, s.store_id, s.storage_key, s.upload_id
)
select d.tenant_id, d.id, d.storage_key, d.upload_id, d.store_tenant_id, d.store_id, t.driver, t.config, t.credentials
from due d join attachments_stores t on t.tenant_id = d.store_tenant_id and t.id = d.store_id";

/// Returns the object of a file, if no file refers to it.
pub(crate) async fn of_file(connection: &mut AsyncPgConnection, tenant: Uuid, id: Uuid) -> Result<Vec<Removable>> {
    let statement = sql_query(ONE).bind::<SqlUuid, _>(tenant).bind::<SqlUuid, _>(id);
    Ok(statement.load(connection).await?)
}

/// Takes objects of all tenants whose time is over. Another node does not get them for ten minutes.
pub(crate) async fn expired(connection: &mut AsyncPgConnection, now: Timestamp, most: i64) -> Result<Vec<Removable>> {
    let statement = sql_query(EXPIRED).bind::<Timestamptz, _>(now).bind::<BigInt, _>(most);
    Ok(statement.load(connection).await?)
}

/// Returns the number of rows in a scope.
pub(crate) async fn count(connection: &mut AsyncPgConnection, scope: &Scope) -> Result<i64> {
    let rows = staged::table.filter(scope.owns(staged::tenant_id));
    Ok(rows.count().get_result(connection).await?)
}

/// Deletes the row of an object that was removed.
pub(crate) async fn forget(connection: &mut AsyncPgConnection, tenant: Uuid, id: Uuid) -> Result<()> {
    let own = staged::table.filter(staged::tenant_id.eq(tenant));
    delete(own.filter(staged::id.eq(id))).execute(connection).await?;
    Ok(())
}

const STORE_OF_FILE: &str = "\
select t.tenant_id as store_tenant_id, t.id as store_id, t.driver, t.config, t.credentials
from attachments_attachments a join attachments_stores t on t.tenant_id = a.partition_tenant_id and t.id = a.store_id
where a.tenant_id = $1 and a.id = $2 and a.storage_key = $3";

/// Returns the store of the file that has the key of this object. A key ends with the id of its file.
pub(crate) async fn store_of_file(connection: &AsyncPgConnection, object: &Removable) -> Result<Option<StoreSettings>> {
    let file: Option<Uuid> = object.storage_key.rsplit('/').next().and_then(|id| id.parse().ok());
    let Some(file) = file else { return Ok(None) };
    let statement = sql_query(STORE_OF_FILE)
        .bind::<SqlUuid, _>(object.tenant_id)
        .bind::<SqlUuid, _>(file)
        .bind::<Text, _>(&object.storage_key);
    Ok(statement.get_result(&mut &*connection).await.optional()?)
}
