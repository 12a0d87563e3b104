//! Creates, updates and deletes categories.

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{KeyColumn, PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Error, Feature, Patch, Placement, Rejection, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::references::check_parent;
use crate::documented::{CatalogCategoryTitle, CatalogSlug};
use crate::error::violation;
use crate::model::{Category, free_slug, lock_slugs};
use crate::schema::catalog_categories as categories;
use crate::{acl, values};

/// Creates a category, at the top or below another one. Without a slug it gets one derived from its name.
pub type CreateCategory = Create<Category>;
/// Updates a category.
pub type UpdateCategory = Update<Category>;
/// Deletes a category without categories below it; its products remain.
pub type DeleteCategory = Delete<Category>;

/// The fields of a category: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CategoryInput {
    /// The organization of a new category, by default the one in which the request writes; cannot be changed later.
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Patch<Uuid>,
    /// 1 to 150 characters; required for a new category.
    #[schema(value_type = CatalogCategoryTitle, required = true)]
    pub name: Patch<String>,
    /// 1 to 150 of `a-z 0-9 _ -`, lower-cased; unique in the organization. Absent in a new category: derived from the name.
    #[schema(value_type = CatalogSlug)]
    pub slug: Patch<String>,
    /// The parent category: visible to the caller and not below this category; null puts the category at the top.
    #[schema(value_type = Option<Uuid>)]
    pub parent_id: Patch<Uuid>,
}

impl Input for CategoryInput {
    fn organization(&self) -> Patch<Uuid> {
        self.organization_id
    }

    fn require(&self, validator: &mut Validator) {
        validator.require("name", &self.name);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Category>(self, validator);
    }
}

impl Record for Category {
    type Input = CategoryInput;
    const CREATE: CommandName = CommandName::new("catalog.category.create", "Create category");
    const UPDATE: CommandName = CommandName::new("catalog.category.update", "Update category");
    const DELETE: CommandName = CommandName::new("catalog.category.delete", "Delete category");
    const MANAGE: &'static [Feature] = &[acl::CATEGORIES_MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            name: String::new(),
            slug: String::new(),
            parent_id: None,
            created_at: now,
            updated_at: now,
        }
    }

    fn key(&self) -> (Uuid, Uuid) {
        (self.tenant_id, self.id)
    }

    fn organization(&self) -> Option<Uuid> {
        Some(self.organization_id)
    }

    fn updated_at(&mut self) -> &mut Timestamp {
        &mut self.updated_at
    }

    fn fill(&mut self, input: &CategoryInput, validator: &mut Validator) {
        validator.text("name", &input.name, &mut self.name, rules::line(150));
        validator.text("slug", &input.slug, &mut self.slug, values::handle);
        validator.optional("parentId", &input.parent_id, &mut self.parent_id, rules::any);
    }

    async fn place(&mut self, tx: &mut Tx<'_>, _input: &CategoryInput) -> Result<()> {
        Placement::lock(tx, self.organization_id).await
    }

    async fn check(&mut self, tx: &mut Tx<'_>, _input: &CategoryInput, before: Option<&Self>) -> Result<bool> {
        if before.is_none_or(|before| before.parent_id != self.parent_id) {
            check_parent(tx, self).await?;
        }
        if before.is_none_or(|before| before.slug != self.slug) {
            lock_slugs(tx, self.organization_id).await?;
        }
        if self.slug.is_empty() {
            self.slug = free_slug(tx, self).await?;
        }
        Ok(false)
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = categories::table.filter(categories::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(categories::id.one_of(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(categories::table)
            .values(rows)
            .on_conflict((categories::tenant_id, categories::id))
            .do_update()
            .set(ReplaceRow::<categories::table>::default())
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }

    /// Maps violated keys. A category can be moved below this one after the interceptor of its deletion has checked.
    fn rejection(error: Error) -> Error {
        match error.violated_constraint() {
            Some("catalog_categories_tenant_id_parent_id_fkey") => Rejection::in_use().into(),
            _ => violation(error),
        }
    }
}
