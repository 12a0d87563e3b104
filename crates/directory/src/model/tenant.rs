//! Tenants.

use backoffice_core::command::{Depth, Entity, LockedRow, Snapshot, Snapshots};
use backoffice_core::db::Tx;
use backoffice_core::{Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::upsert::excluded;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, insert_into, update};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::TENANT;
use crate::schema::directory_tenants as tenants;
use crate::{acl, query};

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize)]
#[diesel(table_name = tenants, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct TenantRow {
    /// The same as `id`.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The name, 1 to 200 characters.
    pub name: String,
    /// Whether users of the tenant may sign in.
    pub is_active: bool,
    /// The locales of the tenant; `None` = all served locales.
    pub locales: Option<Vec<String>>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StoredFields<'a> {
    #[serde(flatten)]
    row: &'a TenantRow,
    /// Always `None`: a tenant belongs to none of its organizations.
    organization_id: Option<Uuid>,
}

/// The entity of tenants. They are deleted by setting `deleted_at`; their data stays.
#[derive(Debug)]
pub struct Tenant;

impl Entity for Tenant {
    const KIND: &'static str = TENANT;
    const VOLATILE: &'static [&'static str] = &["organizationId", "updatedAt"];
    const NOT_FOUND: &'static str = "Tenant not found";
    const VIEW: Option<Feature> = Some(acl::TENANTS_VIEW);

    async fn lock(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let rows: Vec<Uuid> = query::tenants_in_scope(tx.scope())
            .filter(tenants::id.eq_any(ids))
            .order(tenants::id)
            .select(tenants::id)
            .for_no_key_update()
            .load(tx.conn())
            .await?;
        Ok(rows.into_iter().map(|id| LockedRow { id, tenant: id }).collect())
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let tenant = tx.tenant();
        let rows: Vec<TenantRow> = tenants::table
            .filter(tenants::tenant_id.eq(tenant))
            .filter(tenants::deleted_at.is_null())
            .filter(tenants::id.eq_any(ids))
            .select(TenantRow::as_select())
            .load(tx.conn())
            .await?;
        rows.iter()
            .map(|row| {
                Ok((
                    row.id,
                    Snapshot::of(&StoredFields {
                        row,
                        organization_id: None,
                    })?,
                ))
            })
            .collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut rows = snapshots
            .iter()
            .map(Snapshot::row)
            .collect::<Result<Vec<TenantRow>>>()?;
        for row in &mut rows {
            row.updated_at = tx.now();
        }
        insert_into(tenants::table)
            .values(&rows)
            .on_conflict((tenants::tenant_id, tenants::id))
            .do_update()
            .set((
                tenants::name.eq(excluded(tenants::name)),
                tenants::is_active.eq(excluded(tenants::is_active)),
                tenants::locales.eq(excluded(tenants::locales)),
                tenants::deleted_at.eq(None::<Timestamp>),
                tenants::updated_at.eq(excluded(tenants::updated_at)),
            ))
            .execute(tx.conn())
            .await?;
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        let live = tenants::table
            .filter(tenants::tenant_id.eq(tenant))
            .filter(tenants::deleted_at.is_null())
            .filter(tenants::id.eq_any(ids));
        update(live)
            .set((tenants::deleted_at.eq(now), tenants::updated_at.eq(now)))
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}
