use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Result, Timestamp};
use uuid::Uuid;

use super::RoleOfSidebar;
use super::update_sidebar_preference::store_for_roles;
use crate::acl;
use crate::sidebar::model::RoleSidebarPreference;
use crate::sidebar::{SidebarSettings, row_id};

/// Sets the sidebar settings that apply to users who hold a role and have no settings of their own.
#[derive(Debug, Clone)]
pub struct UpdateRoleSidebarPreference {
    /// The role.
    pub role: RoleOfSidebar,
    /// The locale.
    pub locale: String,
    /// The settings.
    pub settings: SidebarSettings,
}

impl Command for UpdateRoleSidebarPreference {
    const ID: &'static str = "auth.role_sidebar_preference.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update sidebar preferences of a role";
    const FEATURES: &'static [Feature] = &[acl::SIDEBAR_MANAGE];
    type Entity = RoleSidebarPreference;
    type Output = Option<Timestamp>;

    fn target(&self) -> Target {
        Target::Existing(self.id())
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Option<Timestamp>> {
        let rows = store_for_roles(tx, &[self.role], &self.locale, &self.settings).await?;
        Ok(rows.first().map(|row| row.updated_at))
    }
}

impl UpdateRoleSidebarPreference {
    fn id(&self) -> Uuid {
        row_id(self.role.id, &self.locale)
    }
}
