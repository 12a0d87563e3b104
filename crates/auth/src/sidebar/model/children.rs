//! Sidebar rows that are deleted and restored with their user or role.

use backoffice_core::command::{Entity, Snapshot, Tx};
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::{Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::{RoleSidebarPreference, SidebarPreference, SidebarVariant};
use crate::schema::{
    auth_role_sidebar_preferences as role_preferences, auth_sidebar_preferences as preferences,
    auth_sidebar_variants as variants,
};

/// The sidebar settings of users.
#[derive(Debug, Default)]
pub(crate) struct UserSidebar {
    preferences: Vec<SidebarPreference>,
    variants: Vec<SidebarVariant>,
}

impl UserSidebar {
    /// Loads the rows of these users: two statements.
    pub(crate) async fn load(tx: &mut Tx<'_>, users: &[Uuid]) -> Result<Self> {
        let tenant = tx.tenant();
        let preferences = preferences::table
            .filter(preferences::tenant_id.eq(tenant))
            .filter(preferences::user_id.one_of(users))
            .order(preferences::id)
            .select(SidebarPreference::as_select())
            .load(tx.conn())
            .await?;
        let variants = variants::table
            .filter(variants::tenant_id.eq(tenant))
            .filter(variants::user_id.one_of(users))
            .filter(variants::deleted_at.is_null())
            .order(variants::id)
            .select(SidebarVariant::as_select())
            .load(tx.conn())
            .await?;
        Ok(Self { preferences, variants })
    }

    /// Returns the snapshot of a user with their rows.
    pub(crate) fn with(&self, snapshot: Snapshot, user: Uuid) -> Result<Snapshot> {
        let preferences: Vec<_> = self.preferences.iter().filter(|row| row.user_id == user).collect();
        let variants: Vec<_> = self.variants.iter().filter(|row| row.user_id == user).collect();
        snapshot
            .with_children(SidebarPreference::KIND, &preferences)?
            .with_children(SidebarVariant::KIND, &variants)
    }

    /// Adds the rows of a snapshot.
    pub(crate) fn collect(&mut self, snapshot: &Snapshot, updated_at: Timestamp) -> Result<()> {
        let preferences = snapshot.children::<SidebarPreference>(SidebarPreference::KIND)?;
        let preferences = preferences.unwrap_or_default().into_iter();
        self.preferences
            .extend(preferences.map(|row| SidebarPreference { updated_at, ..row }));
        let variants = snapshot.children::<SidebarVariant>(SidebarVariant::KIND)?;
        let variants = variants.unwrap_or_default().into_iter();
        self.variants
            .extend(variants.map(|row| SidebarVariant { updated_at, ..row }.normalized()));
        Ok(())
    }

    /// Writes the collected rows.
    pub(crate) async fn store(self, tx: &mut Tx<'_>) -> Result<()> {
        SidebarPreference::write(tx, &self.preferences).await?;
        SidebarVariant::write(tx, &self.variants).await
    }

    /// Deletes the rows of these users.
    pub(crate) async fn remove(tx: &mut Tx<'_>, users: &[Uuid]) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        diesel::delete(
            preferences::table
                .filter(preferences::tenant_id.eq(tenant))
                .filter(preferences::user_id.one_of(users)),
        )
        .execute(tx.conn())
        .await?;
        diesel::update(
            variants::table
                .filter(variants::tenant_id.eq(tenant))
                .filter(variants::user_id.one_of(users))
                .filter(variants::deleted_at.is_null()),
        )
        .set((
            variants::is_active.eq(false),
            variants::deleted_at.eq(now),
            variants::updated_at.eq(now),
        ))
        .prepared()
        .execute(tx.conn())
        .await?;
        Ok(())
    }
}

/// The sidebar settings of roles; those of a global role in all tenants visible to the caller.
#[derive(Debug, Default)]
pub(crate) struct RoleSidebar(Vec<RoleSidebarPreference>);

impl RoleSidebar {
    /// Loads the rows of these roles: one statement. Deleting a role deletes them by the foreign key. They are locked until the end of the
    /// transaction, so that the snapshot shows exactly what is deleted.
    pub(crate) async fn load(tx: &mut Tx<'_>, roles: &[Uuid]) -> Result<Self> {
        let (tenant, scope) = (tx.tenant(), tx.scope());
        let rows = role_preferences::table
            .filter(scope.owns(role_preferences::tenant_id))
            .filter(role_preferences::role_tenant_id.eq(tenant))
            .filter(role_preferences::role_id.one_of(roles))
            .order((role_preferences::id, role_preferences::tenant_id))
            .select(RoleSidebarPreference::as_select())
            .for_no_key_update()
            .load(tx.conn())
            .await?;
        Ok(Self(rows))
    }

    /// Returns the snapshot of a role with its rows.
    pub(crate) fn with(&self, snapshot: Snapshot, role: Uuid) -> Result<Snapshot> {
        let own: Vec<_> = self.0.iter().filter(|row| row.role_id == role).collect();
        snapshot.with_children(RoleSidebarPreference::KIND, &own)
    }

    /// Adds the rows of a snapshot.
    pub(crate) fn collect(&mut self, snapshot: &Snapshot, updated_at: Timestamp) -> Result<()> {
        let rows = snapshot.children::<RoleSidebarPreference>(RoleSidebarPreference::KIND)?;
        let rows = rows.unwrap_or_default().into_iter();
        self.0
            .extend(rows.map(|row| RoleSidebarPreference { updated_at, ..row }));
        Ok(())
    }

    /// Writes the collected rows.
    pub(crate) async fn store(self, tx: &mut Tx<'_>) -> Result<()> {
        RoleSidebarPreference::write(tx, &self.0).await
    }
}
