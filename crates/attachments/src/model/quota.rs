//! The quota of a tenant: the bytes that its files may have.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::{Result, Timestamp};
use diesel::pg::Pg;
use diesel::sql_types::{Array, BigInt, Timestamptz, Uuid as SqlUuid};
use diesel::{ExpressionMethods, QueryDsl, Queryable, Selectable, SelectableHelper, sql_query};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::schema::attachments_usage as usage;

/// A quota of its own of a tenant, the entity `attachments.quota`. Tenants without one have that of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Serialize, Deserialize)]
#[diesel(table_name = usage, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct Quota {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The tenant again.
    pub id: Uuid,
    /// Bytes.
    pub quota: Option<i64>,
    /// Time of the first file or quota.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

const WRITE: &str = "\
insert into attachments_usage as u (tenant_id, id, used_bytes, quota, created_at, updated_at)
select $1, i.id, 0, i.quota, $4, $4 from unnest($2::uuid[], $3::bigint[]) as i (id, quota)
on conflict (tenant_id, id) do update set quota = excluded.quota, updated_at = excluded.updated_at";

const CLEAR: &str = "update attachments_usage set quota = null, updated_at = $3 where tenant_id = $1 and id = any($2)";

impl Quota {
    /// Sets quotas.
    pub(crate) async fn write(tx: &mut Tx<'_>, quotas: &[(Uuid, i64)]) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        let (ids, bytes): (Vec<Uuid>, Vec<i64>) = quotas.iter().copied().unzip();
        sql_query(WRITE)
            .bind::<SqlUuid, _>(tenant)
            .bind::<Array<SqlUuid>, _>(ids)
            .bind::<Array<BigInt>, _>(bytes)
            .bind::<Timestamptz, _>(now)
            .prepared()
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}

impl Entity for Quota {
    const KIND: &'static str = "attachments.quota";
    const NOT_FOUND: &'static str = "Tenant not found";

    /// Locks the counter, if there is one: the quota of a tenant without files is inserted with it.
    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let rows = usage::table.filter(locker.scope().owns(usage::tenant_id));
        let rows = rows.filter(usage::id.one_of(ids)).order(usage::id);
        let _locked: Vec<Uuid> = rows
            .select(usage::id)
            .for_update()
            .load(&mut locker.connection())
            .await?;
        Ok(ids.iter().map(|id| LockedRow::new(*id, locker.tenant())).collect())
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows = usage::table
            .filter(usage::tenant_id.eq(tx.tenant()))
            .filter(usage::id.one_of(ids))
            .filter(usage::quota.is_not_null())
            .select(Self::as_select());
        let rows: Vec<Self> = rows.load(tx.conn()).await?;
        let snapshot = |row: &Self| Ok((row.id, Snapshot::of(row)?.with_organization(None)));
        rows.iter().map(snapshot).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let rows = snapshots.iter().map(Snapshot::row).collect::<Result<Vec<Self>>>()?;
        let quotas: Vec<(Uuid, i64)> = rows.iter().filter_map(|row| Some((row.id, row.quota?))).collect();
        Self::write(tx, &quotas).await?;
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        sql_query(CLEAR)
            .bind::<SqlUuid, _>(tenant)
            .bind::<Array<SqlUuid>, _>(ids)
            .bind::<Timestamptz, _>(now)
            .prepared()
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}
