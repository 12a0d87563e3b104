//! Creates a price of a product or of one of its variants.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, RequestContext, Result};
use uuid::Uuid;

use super::references::{check_named_organization, check_variant, organization_of_product};
use super::update::Change;
use crate::acl;
use crate::error::violation;
use crate::input::PriceInput;
use crate::model::{Price, PriceRow, store_prices};
use crate::rules::Rules;

/// Creates a price.
#[derive(Debug, Clone)]
pub struct CreatePrice {
    row: PriceRow,
    organization: Option<Uuid>,
}

impl CreatePrice {
    /// Checks the input.
    ///
    /// # Errors
    /// 400 for invalid values, 403 for an organization in which the caller can't write.
    pub fn new(context: &RequestContext, input: &PriceInput) -> Result<Self> {
        let mut rules = Rules::default();
        let mut row = PriceInput::blank(context.tenant()?, context.new_id(), context.now());
        rules.needs("productId", &Some(input.product_id).filter(Option::is_some));
        input.is_whole(&mut rules);
        input.write(&mut row, &mut rules);
        rules.check()?;
        check_named_organization(context, input.organization_id)?;
        row.product_id = input.product_id.unwrap_or_default();
        Ok(Self {
            row,
            organization: input.organization_id,
        })
    }
}

impl Command for CreatePrice {
    const ID: &'static str = "catalog.price.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create price";
    const FEATURES: &'static [Feature] = &[acl::PRODUCTS_MANAGE];
    type Entity = Price;
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
        check_variant(tx, &row).await?;
        store_prices(tx, &[row]).await.map_err(violation)?;
        Ok(self.row.id)
    }
}
