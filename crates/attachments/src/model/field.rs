//! Constraints of the files of fields.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::{KeyColumn, Recurring, ReplaceRow};
use backoffice_core::{Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::sql_types::{Array, BigInt};
use diesel::{
    ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete, insert_into, sql_query,
};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use crate::schema::attachments_fields as fields;
use crate::{acl, hosts};

/// Kind of the entity.
pub const FIELD: &str = "attachments.field";
/// The key of constraints for all files of a kind of records.
pub const ALL_FIELDS: &str = "*";

/// The constraints of a field, the entity `attachments.field`.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize)]
#[diesel(table_name = fields, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id, derived from kind and key.
    pub id: Uuid,
    /// The kind of records.
    pub entity_id: String,
    /// The key of the field, or `*` for all files of the kind.
    pub field_key: String,
    /// Extensions, lower-case, without dots; `None` for all.
    pub accept_extensions: Option<Vec<String>>,
    /// Most bytes of a file.
    pub max_bytes: Option<i64>,
    /// Most files of a field of a record.
    pub max_count: Option<i32>,
    /// Tenant of the partition.
    pub partition_tenant_id: Option<Uuid>,
    /// The partition of files without one of their own.
    pub partition_id: Option<Uuid>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Field {
    /// Returns the id of the constraints of a field in a tenant, so that concurrent first writes mean the same row. It keeps the time of the
    /// tenant's id.
    #[must_use]
    pub fn id_of(tenant: Uuid, entity: &str, key: &str) -> Uuid {
        let digest = Sha256::new()
            .chain_update(tenant.as_bytes())
            .chain_update(entity)
            .chain_update([0])
            .chain_update(key)
            .finalize();
        let mut random = [0; 10];
        random.copy_from_slice(&digest[..10]);
        let millis = tenant.as_u128() >> 80;
        Builder::from_unix_timestamp_millis(u64::try_from(millis).unwrap_or_default(), &random).into_uuid()
    }

    /// Returns the constraints with these ids in the transaction's tenant.
    pub(crate) async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = fields::table.filter(fields::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(fields::id.one_of(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    /// Inserts constraints, or replaces them.
    pub(crate) async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<()> {
        insert_into(fields::table)
            .values(rows)
            .on_conflict((fields::tenant_id, fields::id))
            .do_update()
            .set(ReplaceRow::<fields::table>::default())
            .prepared_if(rows.len() == 1)
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}

impl Entity for Field {
    const KIND: &'static str = FIELD;
    /// The organization is always null, and absent from the snapshots of earlier releases.
    const VOLATILE: &'static [&'static str] = &["organizationId", "updatedAt"];
    const NOT_FOUND: &'static str = "Field not found";
    const VIEW: Option<Feature> = Some(acl::VIEW);

    /// Locks the ids, whether the rows exist or will be created.
    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let mut keys: Vec<i64> = ids.iter().map(|id| id.as_u64_pair().1.cast_signed()).collect();
        keys.sort_unstable();
        sql_query("select pg_advisory_xact_lock(k) from unnest($1) k")
            .bind::<Array<BigInt>, _>(keys)
            .prepared()
            .execute(&mut locker.connection())
            .await?;
        Ok(ids.iter().map(|id| LockedRow::new(*id, locker.tenant())).collect())
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows = Self::read(tx, ids).await?;
        // Constraints belong to the whole tenant.
        let snapshot = |row: &Self| Ok((row.id, Snapshot::of(row)?.with_organization(None)));
        rows.iter().map(snapshot).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut rows = snapshots.iter().map(Snapshot::row).collect::<Result<Vec<Self>>>()?;
        for row in &mut rows {
            row.updated_at = tx.now();
        }
        Self::write(tx, &rows).await?;
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = fields::table.filter(fields::tenant_id.eq(tx.tenant()));
        delete(rows.filter(fields::id.one_of(ids))).execute(tx.conn()).await?;
        Ok(())
    }

    async fn guard(tx: &mut Tx<'_>, _step: &Transition<'_>) -> Result<()> {
        hosts::require_whole_tenant(tx.scope())
    }
}
