//! Categories.

use backoffice_core::db::Tx;
use backoffice_core::http::present;
use backoffice_core::{Feature, Result, Timestamp};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::stays;
use crate::acl;
use crate::commands::{Change, check_parent};
use crate::documented::{CatalogCategoryTitle, CatalogSlug};
use crate::model::{Category, CategoryRow, lock_slugs, store_categories};
use crate::rules::{self, Rules};

/// A new category, or the changes of an existing one: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CategoryInput {
    /// The category to update; ignored when a category is created.
    pub id: Option<Uuid>,
    /// The organization of a new category; cannot be changed later.
    pub organization_id: Option<Uuid>,
    /// 1 to 150 characters; required for a new category.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = CatalogCategoryTitle, required = true)]
    pub name: Option<Option<String>>,
    /// 1 to 150 of `a-z 0-9 _ -`, lower-cased; unique in the organization. Absent in a new category: derived from the name.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = CatalogSlug)]
    pub slug: Option<Option<String>>,
    /// The parent category: visible to the caller and not below this category; null puts the category at the top.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Uuid>)]
    pub parent_id: Option<Option<Uuid>>,
}

impl Change for CategoryInput {
    const ID: &'static str = "catalog.category.update";
    const LABEL: &'static str = "Update category";
    const FEATURES: &'static [Feature] = &[acl::CATEGORIES_MANAGE];
    type Entity = Category;
    type Row = CategoryRow;

    fn id(&self) -> Option<Uuid> {
        self.id
    }

    fn updated_at(row: &mut CategoryRow) -> &mut Timestamp {
        &mut row.updated_at
    }

    fn blank(tenant_id: Uuid, id: Uuid, now: Timestamp) -> CategoryRow {
        CategoryRow {
            tenant_id,
            id,
            organization_id: Uuid::nil(),
            name: String::new(),
            slug: String::new(),
            parent_id: None,
            created_at: now,
            updated_at: now,
        }
    }

    fn write(&self, row: &mut CategoryRow, rules: &mut Rules) {
        rules.text("name", &self.name, &mut row.name, rules::line(150));
        rules.text("slug", &self.slug, &mut row.slug, rules::handle);
        rules.optional("parentId", &self.parent_id, &mut row.parent_id, rules::any);
    }

    async fn load(tx: &mut Tx<'_>, id: Uuid) -> Result<Option<CategoryRow>> {
        Ok(CategoryRow::load(tx, &[id]).await?.pop())
    }

    async fn settle(&self, tx: &mut Tx<'_>, before: &CategoryRow, row: &CategoryRow) -> Result<bool> {
        stays("organizationId", self.organization_id, before.organization_id)?;
        if row.parent_id != before.parent_id {
            check_parent(tx, row).await?;
        }
        if row.slug != before.slug {
            lock_slugs(tx, row.organization_id).await?;
        }
        Ok(false)
    }

    async fn store(tx: &mut Tx<'_>, row: CategoryRow) -> Result<()> {
        store_categories(tx, &[row]).await
    }
}
