use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::schema::auth_role_sidebar_preferences as preferences;
use crate::sidebar::model::RoleSidebarPreference;
use crate::sidebar::row_id;
use crate::{Error, acl};

/// Deletes the settings that a tenant has for a role in a locale.
#[derive(Debug, Clone)]
pub struct DeleteRoleSidebarPreference {
    /// The role.
    pub role: Uuid,
    /// The locale.
    pub locale: String,
}

impl Command for DeleteRoleSidebarPreference {
    const ID: &'static str = "auth.role_sidebar_preference.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete sidebar preferences of a role";
    const FEATURES: &'static [Feature] = &[acl::SIDEBAR_MANAGE];
    type Entity = RoleSidebarPreference;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(row_id(self.role, &self.locale))
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let (tenant, id) = (tx.tenant(), row_id(self.role, &self.locale));
        let count: i64 = preferences::table
            .filter(preferences::tenant_id.eq(tenant))
            .filter(preferences::id.eq(id))
            .count()
            .get_result(tx.conn())
            .await?;
        if count == 0 {
            // A concurrent request deleted the row; there is nothing to log.
            return Err(Error::NoRolePreference.into());
        }
        RoleSidebarPreference::remove(tx, &[id]).await
    }
}
