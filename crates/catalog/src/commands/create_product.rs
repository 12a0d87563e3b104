//! Creates a product, optionally with variants and prices.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, RequestContext, Result};
use uuid::Uuid;

use super::references::{check_organization, organization, place_product};
use super::update::Change;
use crate::acl;
use crate::error::violation;
use crate::input::{PriceInput, ProductInput, VariantInput};
use crate::model::{PriceRow, Product, ProductRow, VariantRow, store_prices, store_products, store_variants};
use crate::rules::Rules;

/// Creates a product with its variants and prices: one log entry, one undo.
#[derive(Debug, Clone)]
pub struct CreateProduct {
    row: ProductRow,
    category_ids: Vec<Uuid>,
    variants: Vec<VariantRow>,
    prices: Vec<PriceRow>,
}

impl CreateProduct {
    /// Checks the input.
    ///
    /// # Errors
    /// 400 for invalid values, 403 for an organization in which the caller can't write.
    pub fn new(context: &RequestContext, input: &ProductInput) -> Result<Self> {
        let mut rules = Rules::default();
        let mut row = ProductInput::blank(context.tenant()?, context.new_id(), context.now());
        rules.needs("title", &input.title);
        input.write(&mut row, &mut rules);
        let variants = variants(context, &row, input.new_variants(&mut rules), &mut rules);
        let prices = prices(context, &row, input.new_prices(&mut rules), &variants, &mut rules);
        rules.check()?;
        row.organization_id = organization(context, input.organization_id)?;
        let organization_id = row.organization_id;
        let in_place = |row| VariantRow { organization_id, ..row };
        Ok(Self {
            category_ids: input.category_ids(&mut Rules::default()).unwrap_or_default(),
            variants: variants.into_iter().map(in_place).collect(),
            prices: prices
                .into_iter()
                .map(|row| PriceRow { organization_id, ..row })
                .collect(),
            row,
        })
    }
}

fn variants(
    context: &RequestContext,
    product: &ProductRow,
    given: &[VariantInput],
    rules: &mut Rules,
) -> Vec<VariantRow> {
    let mut rows: Vec<VariantRow> = Vec::with_capacity(given.len());
    for (position, input) in (0_i32..).zip(given) {
        rules.at(format!("variants[{position}]."));
        let mut row = VariantRow {
            product_id: product.id,
            position,
            ..VariantInput::blank(product.tenant_id, context.new_id(), context.now())
        };
        rules.needs("name", &input.name);
        input.write(&mut row, rules);
        if row.sku.is_some() && rows.iter().any(|other| other.sku == row.sku) {
            rules.broken("sku", "is taken already", "not_unique");
        }
        rows.push(row);
    }
    rules.at(String::new());
    rows
}

fn prices(
    context: &RequestContext,
    product: &ProductRow,
    given: &[PriceInput],
    variants: &[VariantRow],
    rules: &mut Rules,
) -> Vec<PriceRow> {
    let mut rows = Vec::with_capacity(given.len());
    for (index, input) in given.iter().enumerate() {
        rules.at(format!("prices[{index}]."));
        let mut row = PriceRow {
            product_id: product.id,
            ..PriceInput::blank(product.tenant_id, context.new_id(), context.now())
        };
        input.is_whole(rules);
        input.write(&mut row, rules);
        if row.variant_id.is_some() {
            rules.broken("variantId", "does not exist", "unknown_reference");
        }
        if let Some(index) = input.variant_index {
            let variant = usize::try_from(index).ok().and_then(|index| variants.get(index));
            row.variant_id = variant.map(|variant| variant.id);
            if variant.is_none() {
                rules.broken("variantIndex", "names none of the variants", "unknown_reference");
            }
        }
        rows.push(row);
    }
    rules.at(String::new());
    rows
}

impl Command for CreateProduct {
    const ID: &'static str = "catalog.product.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create product";
    const FEATURES: &'static [Feature] = &[acl::PRODUCTS_MANAGE];
    type Entity = Product;
    type Output = Uuid;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.row.tenant_id,
            id: self.row.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        check_organization(tx, self.row.organization_id).await?;
        store_products(tx, std::slice::from_ref(&self.row))
            .await
            .map_err(violation)?;
        store_variants(tx, &self.variants)
            .await
            .map_err(|error| within("variants", error))?;
        store_prices(tx, &self.prices)
            .await
            .map_err(|error| within("prices", error))?;
        place_product(tx, self.row.id, &self.category_ids).await?;
        Ok(self.row.id)
    }
}

/// Names the whole list in a violation: PostgreSQL does not report which of several rows it rejected.
fn within(path: &'static str, error: backoffice_core::Error) -> backoffice_core::Error {
    match error.violated_constraint() {
        Some(_) => crate::Error::NotUnique { path }.into(),
        None => error,
    }
}
