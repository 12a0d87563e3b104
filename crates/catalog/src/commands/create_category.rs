//! Creates a category.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, RequestContext, Result};
use uuid::Uuid;

use super::references::{check_organization, check_parent, organization};
use super::update::Change;
use crate::acl;
use crate::error::violation;
use crate::input::CategoryInput;
use crate::model::{Category, CategoryRow, free_slug, lock_slugs, store_categories};
use crate::rules::Rules;

/// Creates a category, at the top or below another one. Without a slug it gets one derived from its name.
#[derive(Debug, Clone)]
pub struct CreateCategory(CategoryRow);

impl CreateCategory {
    /// Checks the input.
    ///
    /// # Errors
    /// 400 for invalid values, 403 for an organization in which the caller can't write.
    pub fn new(context: &RequestContext, input: &CategoryInput) -> Result<Self> {
        let mut rules = Rules::default();
        let mut row = CategoryInput::blank(context.tenant()?, context.new_id(), context.now());
        rules.needs("name", &input.name);
        input.write(&mut row, &mut rules);
        rules.check()?;
        row.organization_id = organization(context, input.organization_id)?;
        Ok(Self(row))
    }
}

impl Command for CreateCategory {
    const ID: &'static str = "catalog.category.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create category";
    const FEATURES: &'static [Feature] = &[acl::CATEGORIES_MANAGE];
    type Entity = Category;
    type Output = Uuid;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.0.tenant_id,
            id: self.0.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        check_organization(tx, self.0.organization_id).await?;
        check_parent(tx, &self.0).await?;
        lock_slugs(tx, self.0.organization_id).await?;
        let mut row = self.0.clone();
        if row.slug.is_empty() {
            row.slug = free_slug(tx, &row).await?;
        }
        store_categories(tx, &[row]).await.map_err(violation)?;
        Ok(self.0.id)
    }
}
