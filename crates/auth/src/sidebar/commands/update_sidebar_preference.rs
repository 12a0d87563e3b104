use backoffice_core::command::{Class, Command, Entity, EntityRef, Target, Tx};
use backoffice_core::db::KeyColumn;
use backoffice_core::{Feature, Result, Timestamp};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::error::on_violation;
use crate::schema::{auth_role_sidebar_preferences as role_preferences, auth_sidebar_preferences as preferences};
use crate::sidebar::model::{RoleSidebarPreference, SidebarPreference};
use crate::sidebar::{SidebarSettings, row_id};
use crate::{Error, acl};

/// A role, with the tenant that it belongs to: the caller's, or the platform for a global one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoleOfSidebar {
    /// The tenant.
    pub tenant: Uuid,
    /// The id.
    pub id: Uuid,
}

/// Sets the caller's own settings, copies them to roles and deletes those of other roles.
#[derive(Debug, Clone)]
pub struct UpdateSidebarPreference {
    /// The caller.
    pub user: Uuid,
    /// The locale.
    pub locale: String,
    /// The settings.
    pub settings: SidebarSettings,
    /// Roles that get the same settings.
    pub apply_to: Vec<RoleOfSidebar>,
    /// Roles whose settings are deleted.
    pub clear: Vec<Uuid>,
}

impl Command for UpdateSidebarPreference {
    const ID: &'static str = "auth.sidebar_preference.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update sidebar preferences";
    const FEATURES: &'static [Feature] = &[acl::SIDEBAR_MANAGE];
    type Entity = SidebarPreference;
    type Output = Option<Timestamp>;

    fn target(&self) -> Target {
        Target::Existing(row_id(self.user, &self.locale))
    }

    fn affects(&self) -> Vec<EntityRef> {
        let applied = self.apply_to.iter().map(|role| role.id);
        let all = applied.chain(self.clear.iter().copied());
        all.map(|role| EntityRef {
            kind: RoleSidebarPreference::KIND,
            id: row_id(role, &self.locale),
        })
        .collect()
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Option<Timestamp>> {
        let updated_at = self.store_own(tx).await?;
        store_for_roles(tx, &self.apply_to, &self.locale, &self.settings).await?;
        let cleared: Vec<Uuid> = self.clear.iter().map(|role| row_id(*role, &self.locale)).collect();
        if !cleared.is_empty() {
            RoleSidebarPreference::remove(tx, &cleared).await?;
        }
        Ok(Some(updated_at))
    }
}

impl UpdateSidebarPreference {
    /// Writes the caller's settings, unless they equal the stored ones.
    async fn store_own(&self, tx: &mut Tx<'_>) -> Result<Timestamp> {
        let (tenant, now, id) = (tx.tenant(), tx.now(), row_id(self.user, &self.locale));
        let stored: Option<SidebarPreference> = preferences::table
            .filter(preferences::tenant_id.eq(tenant))
            .filter(preferences::id.eq(id))
            .select(SidebarPreference::as_select())
            .first(tx.conn())
            .await
            .optional()?;
        if let Some(row) = stored.as_ref().filter(|row| row.settings == self.settings) {
            return Ok(row.updated_at);
        }
        let row = SidebarPreference {
            tenant_id: tenant,
            id,
            user_id: self.user,
            locale: self.locale.clone(),
            settings: self.settings.clone(),
            created_at: stored.map_or(now, |row| row.created_at),
            updated_at: now,
        };
        SidebarPreference::write(tx, &[row]).await?;
        Ok(now)
    }
}

/// Writes settings for roles, except for roles that already have them. Returns the rows of all of them.
pub(super) async fn store_for_roles(
    tx: &mut Tx<'_>,
    roles: &[RoleOfSidebar],
    locale: &str,
    settings: &SidebarSettings,
) -> Result<Vec<RoleSidebarPreference>> {
    if roles.is_empty() {
        return Ok(Vec::new());
    }
    let (tenant, now) = (tx.tenant(), tx.now());
    let ids: Vec<Uuid> = roles.iter().map(|role| row_id(role.id, locale)).collect();
    let stored: Vec<RoleSidebarPreference> = role_preferences::table
        .filter(role_preferences::tenant_id.eq(tenant))
        .filter(role_preferences::id.one_of(&ids))
        .select(RoleSidebarPreference::as_select())
        .load(tx.conn())
        .await?;
    let (same, differing): (Vec<_>, Vec<_>) = stored.into_iter().partition(|row| row.settings == *settings);
    let changed: Vec<RoleSidebarPreference> = roles
        .iter()
        .zip(ids)
        .filter(|(_, id)| !same.iter().any(|row| row.id == *id))
        .map(|(role, id)| RoleSidebarPreference {
            tenant_id: tenant,
            id,
            role_tenant_id: role.tenant,
            role_id: role.id,
            locale: locale.to_owned(),
            settings: settings.clone(),
            created_at: differing
                .iter()
                .find(|row| row.id == id)
                .map_or(now, |row| row.created_at),
            updated_at: now,
        })
        .collect();
    RoleSidebarPreference::write(tx, &changed)
        .await
        .map_err(on_violation(ROLE_KEY, Error::RoleNotFound))?;
    Ok(same.into_iter().chain(changed).collect())
}

/// Violated if a role is deleted at the same time.
const ROLE_KEY: &str = "auth_role_sidebar_preferences_role_tenant_id_role_id_fkey";
