//! Creates a product, optionally with variants and prices.

use std::collections::{BTreeSet, HashSet};

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::crud::Record;
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Error, Feature, Placement, Rejection, RequestContext, Result, Timestamp};
use uuid::Uuid;

use super::references::assign_categories;
use super::{PriceInput, ProductInput, VariantInput};
use crate::model::{Price, Product, Variant};
use crate::query::taken::Codes;

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
        input.validate_new(&mut validator);
        validator.check()?;
        let placement = Placement::for_new(ctx, input.organization_id.value())?;
        let mut row = Product::blank(placement, ctx.new_id(), ctx.now());
        row.fill(input, &mut Validator::default());
        let variants = new_variants(ctx, placement, row.id, input.variants.as_deref().unwrap_or_default());
        let prices = new_prices(
            ctx,
            placement,
            row.id,
            input.prices.as_deref().unwrap_or_default(),
            &variants,
        );
        Ok(Self {
            row,
            category_ids: input.requested_categories().unwrap_or_default(),
            variants,
            prices,
        })
    }

    /// Returns the codes of the product and of its variants.
    pub(crate) fn codes(&self) -> Codes {
        Codes {
            organization: self.row.organization_id,
            product: self.row.id,
            sku: self.row.sku.clone(),
            handle: self.row.handle.clone(),
            variants: self.variants.iter().map(|variant| variant.sku.clone()).collect(),
        }
    }
}

/// Validates the variants and prices of a new product.
pub(super) fn validate_parts(input: &ProductInput, validator: &mut Validator) {
    let variants = at_most(MAX_VARIANTS, "variants", input.variants.as_deref(), validator);
    let mut skus = HashSet::new();
    for (index, variant) in variants.iter().enumerate() {
        validator.set_prefix(format!("variants[{index}]."));
        validator.require("name", &variant.name);
        variant.validate(validator);
        let sku = variant.sku.as_ref().value().map(|sku| sku.trim());
        if sku.is_some_and(|sku| !sku.is_empty() && !skus.insert(sku)) {
            validator.reject("sku", "is taken already", "not_unique");
        }
    }
    validator.set_prefix("");
    let prices = at_most(MAX_PRICES, "prices", input.prices.as_deref(), validator);
    let mut terms = HashSet::new();
    for (index, price) in prices.iter().enumerate() {
        validator.set_prefix(format!("prices[{index}]."));
        price.require_terms(validator);
        price.validate(validator);
        if price.variant_id.as_ref().value().is_some() {
            validator.reject("variantId", "does not exist", "unknown_reference");
        }
        if price.variant_index.is_some_and(|index| at(variants, index).is_none()) {
            validator.reject("variantIndex", "names none of the variants", "unknown_reference");
        }
        let mut row = Price::blank(Placement::UNKNOWN, Uuid::nil(), Timestamp::UNIX_EPOCH);
        row.fill(price, &mut Validator::default());
        let is_complete = !row.kind.is_empty() && !row.currency_code.is_empty();
        let own = (
            price.variant_index,
            row.kind,
            row.currency_code,
            row.min_quantity,
            row.starts_at,
        );
        if is_complete && !terms.insert(own) {
            validator.reject("kind", "is taken already", "not_unique");
        }
    }
    validator.set_prefix("");
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

fn at<T>(parts: &[T], index: u32) -> Option<&T> {
    usize::try_from(index).ok().and_then(|index| parts.get(index))
}

fn new_variants(ctx: &RequestContext, placement: Placement, product: Uuid, inputs: &[VariantInput]) -> Vec<Variant> {
    let variants = (0_i32..).zip(inputs).map(|(position, input)| {
        let mut row = Variant::blank(placement, ctx.new_id(), ctx.now());
        row.position = position;
        row.fill(input, &mut Validator::default());
        row.product_id = product;
        row
    });
    variants.collect()
}

fn new_prices(
    ctx: &RequestContext,
    placement: Placement,
    product: Uuid,
    inputs: &[PriceInput],
    variants: &[Variant],
) -> Vec<Price> {
    let prices = inputs.iter().map(|input| {
        let mut row = Price::blank(placement, ctx.new_id(), ctx.now());
        row.fill(input, &mut Validator::default());
        row.product_id = product;
        if let Some(index) = input.variant_index {
            row.variant_id = at(variants, index).map(|variant| variant.id);
        }
        row
    });
    prices.collect()
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

/// Names the whole list in a violation: PostgreSQL does not report which of several rows it rejected. The endpoint looks them up.
fn within(path: &'static str, error: Error) -> Error {
    match error.violated_constraint() {
        Some(_) => Rejection::not_unique(path).into(),
        None => error,
    }
}
