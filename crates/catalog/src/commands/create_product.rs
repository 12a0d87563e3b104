//! Creates a product, optionally with variants and prices.

use std::collections::BTreeSet;

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::crud::Record;
use backoffice_core::input::Validator;
use backoffice_core::{Error, Feature, Placement, Rejection, RequestContext, Result};
use uuid::Uuid;

use super::references::assign_categories;
use super::{PriceInput, ProductInput, VariantInput};
use crate::model::{Price, Product, Variant};

const MAX_VARIANTS: usize = 100;
const MAX_PRICES: usize = 500;

/// Creates a product with its variants and prices: one log entry, one undo. The generic command creates only one row.
#[derive(Debug, Clone)]
pub struct CreateProduct {
    row: Product,
    category_ids: BTreeSet<Uuid>,
    variants: Vec<Variant>,
    prices: Vec<Price>,
}

impl CreateProduct {
    /// Validates the input and finds the placement of the product.
    ///
    /// # Errors
    /// 400 for invalid fields or without an organization, 403 for an organization in which the caller may not write.
    pub fn new(ctx: &RequestContext, input: &ProductInput) -> Result<Self> {
        let mut validator = Validator::default();
        Product::require(input, &mut validator);
        let mut row = Product::blank(Placement::UNKNOWN, ctx.new_id(), ctx.now());
        row.fill(input, &mut validator);
        let variants = at_most(MAX_VARIANTS, "variants", input.variants.as_deref(), &mut validator);
        let mut variants = new_variants(ctx, row.id, variants, &mut validator);
        let prices = at_most(MAX_PRICES, "prices", input.prices.as_deref(), &mut validator);
        let mut prices = new_prices(ctx, row.id, prices, &variants, &mut validator);
        validator.check()?;
        let Placement { tenant, organization } = Placement::for_new(ctx, input.organization_id.value())?;
        (row.tenant_id, row.organization_id) = (tenant, organization);
        for row in &mut variants {
            (row.tenant_id, row.organization_id) = (tenant, organization);
        }
        for row in &mut prices {
            (row.tenant_id, row.organization_id) = (tenant, organization);
        }
        Ok(Self {
            row,
            category_ids: input.requested_categories().unwrap_or_default(),
            variants,
            prices,
        })
    }
}

/// Returns the parts to create with a product; none if there are too many.
fn at_most<'a, T>(max: usize, path: &str, parts: Option<&'a [T]>, validator: &mut Validator) -> &'a [T] {
    let parts = parts.unwrap_or_default();
    if parts.len() > max {
        validator.reject(path, format!("must be at most {max} {path}"), "too_long");
        return &[];
    }
    parts
}

fn new_variants(
    ctx: &RequestContext,
    product_id: Uuid,
    inputs: &[VariantInput],
    validator: &mut Validator,
) -> Vec<Variant> {
    let mut rows: Vec<Variant> = Vec::with_capacity(inputs.len());
    for (position, input) in (0_i32..).zip(inputs) {
        validator.set_prefix(format!("variants[{position}]."));
        let mut row = Variant::blank(Placement::UNKNOWN, ctx.new_id(), ctx.now());
        row.position = position;
        validator.require("name", &input.name);
        row.fill(input, validator);
        row.product_id = product_id;
        if row.sku.is_some() && rows.iter().any(|other| other.sku == row.sku) {
            validator.reject("sku", "is taken already", "not_unique");
        }
        rows.push(row);
    }
    validator.set_prefix("");
    rows
}

fn new_prices(
    ctx: &RequestContext,
    product_id: Uuid,
    inputs: &[PriceInput],
    variants: &[Variant],
    validator: &mut Validator,
) -> Vec<Price> {
    let mut rows = Vec::with_capacity(inputs.len());
    for (index, input) in inputs.iter().enumerate() {
        validator.set_prefix(format!("prices[{index}]."));
        let mut row = Price::blank(Placement::UNKNOWN, ctx.new_id(), ctx.now());
        input.require_terms(validator);
        row.fill(input, validator);
        row.product_id = product_id;
        if row.variant_id.is_some() {
            validator.reject("variantId", "does not exist", "unknown_reference");
        }
        if let Some(index) = input.variant_index {
            let variant = usize::try_from(index).ok().and_then(|index| variants.get(index));
            row.variant_id = variant.map(|variant| variant.id);
            if variant.is_none() {
                validator.reject("variantIndex", "names none of the variants", "unknown_reference");
            }
        }
        rows.push(row);
    }
    validator.set_prefix("");
    rows
}

impl Command for CreateProduct {
    const ID: &'static str = Product::CREATE.id;
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = Product::CREATE.label;
    const FEATURES: &'static [Feature] = Product::MANAGE;
    type Entity = Product;
    type Output = Uuid;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.row.tenant_id,
            id: self.row.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        Placement::lock(tx, self.row.organization_id).await?;
        let rows = std::slice::from_ref(&self.row);
        Product::write(tx, rows).await.map_err(Product::rejection)?;
        let variants = Variant::write(tx, &self.variants).await;
        variants.map_err(|error| within("variants", error))?;
        let prices = Price::write(tx, &self.prices).await;
        prices.map_err(|error| within("prices", error))?;
        assign_categories(tx, self.row.id, &self.category_ids).await?;
        Ok(self.row.id)
    }
}

/// Names the whole list in a violation: PostgreSQL does not report which of several rows it rejected.
fn within(path: &'static str, error: Error) -> Error {
    match error.violated_constraint() {
        Some(_) => Rejection::not_unique(path).into(),
        None => error,
    }
}
