use backoffice_core::command::{Class, Command, EntityRef, Target, Tx};
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::{active_variants, deactivate_others, duplicate_name};
use crate::schema::auth_sidebar_variants as variants;
use crate::sidebar::model::SidebarVariant;
use crate::sidebar::{SidebarSettings, query};
use crate::{Error, acl};

/// Most variants of a user in a locale: the list has no pages, and shows all of them with their settings.
const MOST_VARIANTS: usize = 100;

/// Creates a variant of the caller's sidebar.
#[derive(Debug, Clone)]
pub struct CreateSidebarVariant {
    /// The id.
    pub id: Uuid,
    /// Tenant of the caller.
    pub tenant: Uuid,
    /// The caller.
    pub user: Uuid,
    /// The locale.
    pub locale: String,
    /// The name, trimmed, 1 to 120 characters; absent: the first free one of a series.
    pub name: Option<String>,
    /// The settings.
    pub settings: SidebarSettings,
    /// Whether the variant replaces the active one.
    pub is_active: bool,
}

impl Command for CreateSidebarVariant {
    const ID: &'static str = "auth.sidebar_variant.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create sidebar variant";
    const FEATURES: &'static [Feature] = &[acl::SIDEBAR_MANAGE];
    const LOCKS_FIRST: bool = true;
    type Entity = SidebarVariant;
    type Output = SidebarVariant;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.tenant,
            id: self.id,
        }
    }

    async fn affects_behind_lock(&self, tx: &mut Tx<'_>) -> Result<Vec<EntityRef>> {
        if self.is_active {
            return active_variants(tx, self.user, &self.locale, self.id).await;
        }
        query::lock_user(tx.shared(), tx.tenant(), self.user).await?;
        Ok(Vec::new())
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<SidebarVariant> {
        let taken = self.taken_names(tx).await?;
        if taken.len() >= MOST_VARIANTS {
            return Err(Error::TooManyVariants.into());
        }
        let name = match &self.name {
            Some(name) => name.clone(),
            None => free_name(&taken),
        };
        if self.is_active {
            deactivate_others(tx, self.user, &self.locale, self.id).await?;
        }
        let row = SidebarVariant {
            tenant_id: self.tenant,
            id: self.id,
            user_id: self.user,
            locale: self.locale.clone(),
            name_norm: name.to_lowercase(),
            name,
            settings: self.settings.clone(),
            is_active: self.is_active,
            created_at: tx.now(),
            updated_at: tx.now(),
        };
        let rows = std::slice::from_ref(&row);
        SidebarVariant::write(tx, rows).await.map_err(duplicate_name)?;
        Ok(row)
    }
}

impl CreateSidebarVariant {
    /// Returns the names of the live variants of the user and locale, in lower case.
    async fn taken_names(&self, tx: &mut Tx<'_>) -> Result<Vec<String>> {
        Ok(variants::table
            .filter(variants::tenant_id.eq(self.tenant))
            .filter(variants::user_id.eq(self.user))
            .filter(variants::locale.eq(&self.locale))
            .filter(variants::deleted_at.is_null())
            .select(variants::name_norm)
            .load(tx.conn())
            .await?)
    }
}

/// Returns the first name of the series that is not taken.
fn free_name(taken: &[String]) -> String {
    let mut name = String::from("My preferences");
    let mut number = 1;
    while taken.contains(&name.to_lowercase()) {
        number += 1;
        name = format!("My preferences {number}");
    }
    name
}
