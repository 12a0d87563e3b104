//! The sidebar settings that a tenant has for a role in a locale.

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::{KeyColumn, Recurring, ReplaceRow};
use backoffice_core::{Result, Timestamp};
use diesel::sql_types::{Array, Text};
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, sql_query};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::roles::model::Role;
use crate::schema::auth_role_sidebar_preferences as preferences;
use crate::sidebar::SidebarSettings;
use crate::stored::{parent_in, restored_rows, rows_of, snapshots, written_rows};

/// The sidebar settings of a role in a tenant: a row of `auth_role_sidebar_preferences`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = preferences, treat_none_as_default_value = false, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct RoleSidebarPreference {
    /// The tenant that has these settings.
    pub tenant_id: Uuid,
    /// The id, derived from role and locale.
    pub id: Uuid,
    /// Tenant of the role; the nil UUID for a global one.
    pub role_tenant_id: Uuid,
    /// The role.
    pub role_id: Uuid,
    /// The locale.
    pub locale: String,
    /// The settings.
    pub settings: SidebarSettings,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Entity for RoleSidebarPreference {
    const KIND: &'static str = "auth.role_sidebar_preference";
    const NOT_FOUND: &'static str = Role::NOT_FOUND;

    /// Takes advisory locks instead of row locks: the row may not exist yet, and a tenant can't lock a global role. `load` locks the rows that
    /// exist.
    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let tenant = locker.tenant();
        let mut names: Vec<String> = ids.iter().map(|id| format!("{}:{tenant}:{id}", Self::KIND)).collect();
        names.sort();
        sql_query(
            "select pg_advisory_xact_lock(hashtextextended(name, 0)) from unnest($1) with ordinality as t (name, n)",
        )
        .bind::<Array<Text>, _>(names)
        .prepared()
        .execute(&mut locker.connection())
        .await?;
        Ok(ids.iter().map(|id| LockedRow::new(*id, tenant)).collect())
    }

    /// Locks the stored rows, so that a change of a row and the deletion of its role see each other's result.
    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let tenant = tx.tenant();
        let rows = preferences::table
            .filter(preferences::tenant_id.eq(tenant))
            .filter(preferences::id.one_of(ids))
            .order(preferences::id)
            .select(Self::as_select())
            .for_no_key_update();
        snapshots(&rows.load(tx.conn()).await?, |row: &Self| row.id)
    }

    restored_rows!(preferences);

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        parent_in(snapshot, "roleId", Role::KIND)
    }
}

written_rows!(RoleSidebarPreference, preferences);
