//! Tenants.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::{KeyColumn, Recurring, ReplaceRow};
use backoffice_core::{Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, insert_into, update};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::schema::directory_tenants as tenants;
use crate::{acl, query};

/// A tenant. It is deleted by setting `deleted_at`; its data stays.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize)]
#[diesel(table_name = tenants, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct Tenant {
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

impl Entity for Tenant {
    const KIND: &'static str = "directory.tenant";
    const VOLATILE: &'static [&'static str] = &["organizationId", "updatedAt"];
    const NOT_FOUND: &'static str = "Tenant not found";
    const VIEW: Option<Feature> = Some(acl::TENANTS_VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        Ok(query::tenants_in_scope(locker.scope())
            .filter(tenants::id.one_of(ids))
            .order(tenants::id)
            .select((tenants::id, tenants::tenant_id))
            .for_no_key_update()
            .load(&mut locker.connection())
            .await?)
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let tenant = tx.tenant();
        let rows: Vec<Self> = tenants::table
            .filter(tenants::tenant_id.eq(tenant))
            .filter(tenants::deleted_at.is_null())
            .filter(tenants::id.one_of(ids))
            .select(Self::as_select())
            .load(tx.conn())
            .await?;
        // A tenant belongs to none of its organizations.
        let snapshot = |row: &Self| Ok((row.id, Snapshot::of(row)?.with_organization(None)));
        rows.iter().map(snapshot).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut rows = snapshots.iter().map(Snapshot::row).collect::<Result<Vec<Self>>>()?;
        for row in &mut rows {
            row.updated_at = tx.now();
        }
        insert_into(tenants::table)
            .values(&rows)
            .on_conflict((tenants::tenant_id, tenants::id))
            .do_update()
            .set(ReplaceRow::<tenants::table>::default())
            .prepared_if(rows.len() == 1)
            .execute(tx.conn())
            .await?;
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        let live = tenants::table
            .filter(tenants::tenant_id.eq(tenant))
            .filter(tenants::deleted_at.is_null())
            .filter(tenants::id.one_of(ids));
        update(live)
            .set((tenants::deleted_at.eq(now), tenants::updated_at.eq(now)))
            .prepared()
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}
