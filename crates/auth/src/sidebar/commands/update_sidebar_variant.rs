use backoffice_core::command::{Class, Command, EntityRef, Target, Tx};
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::{active_variants, deactivate_others, duplicate_name};
use crate::acl;
use crate::schema::auth_sidebar_variants as variants;
use crate::sidebar::SidebarSettings;
use crate::sidebar::model::SidebarVariant;

/// Changes of a variant; absent fields stay.
#[derive(Debug, Clone, Default)]
pub struct SidebarVariantChanges {
    /// The name, trimmed, 1 to 120 characters.
    pub name: Option<String>,
    /// All settings.
    pub settings: Option<SidebarSettings>,
    /// Whether the variant becomes the active one, or is deactivated.
    pub is_active: Option<bool>,
}

/// Changes a variant of the caller's sidebar.
#[derive(Debug, Clone)]
pub struct UpdateSidebarVariant {
    /// The variant.
    pub id: Uuid,
    /// The caller.
    pub user: Uuid,
    /// The variant's locale.
    pub locale: String,
    /// The changes.
    pub changes: SidebarVariantChanges,
}

impl Command for UpdateSidebarVariant {
    const ID: &'static str = "auth.sidebar_variant.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update sidebar variant";
    const FEATURES: &'static [Feature] = &[acl::SIDEBAR_MANAGE];
    const LOCKS_FIRST: bool = true;
    type Entity = SidebarVariant;
    type Output = SidebarVariant;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn affects_behind_lock(&self, tx: &mut Tx<'_>) -> Result<Vec<EntityRef>> {
        match self.changes.is_active {
            Some(true) => active_variants(tx, self.user, &self.locale, self.id).await,
            _ => Ok(Vec::new()),
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<SidebarVariant> {
        let (tenant, now) = (tx.tenant(), tx.now());
        let rows = variants::table.filter(variants::tenant_id.eq(tenant));
        let rows = rows
            .filter(variants::id.eq(self.id))
            .select(SidebarVariant::as_select());
        let stored: SidebarVariant = rows.first(tx.conn()).await?;
        let mut row = stored.clone();
        if let Some(name) = &self.changes.name {
            row.name.clone_from(name);
            row.name_norm = name.to_lowercase();
        }
        if let Some(settings) = &self.changes.settings {
            row.settings.clone_from(settings);
        }
        row.is_active = self.changes.is_active.unwrap_or(row.is_active);
        if row == stored {
            return Ok(stored);
        }
        if row.is_active {
            deactivate_others(tx, self.user, &self.locale, self.id).await?;
        }
        row.updated_at = now;
        let rows = std::slice::from_ref(&row);
        SidebarVariant::write(tx, rows).await.map_err(duplicate_name)?;
        Ok(row)
    }
}
