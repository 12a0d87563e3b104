//! Creates a variant of a product.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, RequestContext, Result};
use diesel::dsl::max;
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::references::{check_named_organization, organization_of_product};
use super::update::Change;
use crate::acl;
use crate::error::violation;
use crate::input::VariantInput;
use crate::model::{Variant, VariantRow, store_variants};
use crate::rules::Rules;
use crate::schema::catalog_variants as variants;

/// Creates a variant; without a position it is the last one of its product.
#[derive(Debug, Clone)]
pub struct CreateVariant {
    row: VariantRow,
    organization: Option<Uuid>,
    is_last: bool,
}

impl CreateVariant {
    /// Checks the input.
    ///
    /// # Errors
    /// 400 for invalid values, 403 for an organization in which the caller can't write.
    pub fn new(context: &RequestContext, input: &VariantInput) -> Result<Self> {
        let mut rules = Rules::default();
        let mut row = VariantInput::blank(context.tenant()?, context.new_id(), context.now());
        rules.needs("productId", &Some(input.product_id).filter(Option::is_some));
        rules.needs("name", &input.name);
        input.write(&mut row, &mut rules);
        rules.check()?;
        check_named_organization(context, input.organization_id)?;
        row.product_id = input.product_id.unwrap_or_default();
        Ok(Self {
            row,
            organization: input.organization_id,
            is_last: input.position.is_none(),
        })
    }
}

impl Command for CreateVariant {
    const ID: &'static str = "catalog.variant.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create variant";
    const FEATURES: &'static [Feature] = &[acl::PRODUCTS_MANAGE];
    type Entity = Variant;
    type Output = Uuid;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.row.tenant_id,
            id: self.row.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        let mut row = self.row.clone();
        row.organization_id = organization_of_product(tx, row.product_id, self.organization).await?;
        if self.is_last {
            let last: Option<i32> = variants::table
                .filter(variants::tenant_id.eq(row.tenant_id))
                .filter(variants::product_id.eq(row.product_id))
                .select(max(variants::position))
                .first(tx.conn())
                .await?;
            row.position = last.map_or(0, |last| last.saturating_add(1));
        }
        store_variants(tx, &[row]).await.map_err(violation)?;
        Ok(self.row.id)
    }
}
