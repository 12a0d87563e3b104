//! Creates, updates and deletes prices of products and of their variants.

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Error, Feature, Patch, Placement, Rejection, RequestContext, Result, Timestamp};
use diesel::{SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::references::{check_variant, organization_of_product, placement_of_part};
use crate::documented::{CatalogCurrency, CatalogPriceKind};
use crate::error::violation;
use crate::model::{By, Money, Price, Rate};
use crate::schema::catalog_prices as prices;
use crate::{acl, values};

/// Rows of one insertion: a statement has at most 65,535 parameters.
const CHUNK: usize = 2000;

/// Creates a price.
pub type CreatePrice = Create<Price>;
/// Updates a price.
pub type UpdatePrice = Update<Price>;
/// Deletes a price.
pub type DeletePrice = Delete<Price>;

/// The fields of a price: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PriceInput {
    /// The organization of the product, or null.
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Patch<Uuid>,
    /// The product; required for a new price, unless it is created with its product. It cannot be changed later.
    #[schema(value_type = Uuid, required = true)]
    pub product_id: Patch<Uuid>,
    /// The variant that the price is for, of the same product.
    #[schema(value_type = Option<Uuid>)]
    pub variant_id: Patch<Uuid>,
    /// For a price that is created with its product: index of the variant in `variants`, from 0; null for a price of the product.
    #[schema(maximum = 4_294_967_295_u32)]
    pub variant_index: Option<u32>,
    /// `regular` or `sale`; required for a new price.
    #[schema(value_type = CatalogPriceKind, required = true)]
    pub kind: Patch<String>,
    /// Three letters; required for a new price.
    #[schema(value_type = CatalogCurrency, required = true)]
    pub currency_code: Patch<String>,
    /// The price applies from this number of pieces on; default 1.
    #[schema(value_type = i32, minimum = 1, maximum = 2_147_483_647)]
    pub min_quantity: Patch<i32>,
    /// At least 0, at most 16 digits of which 4 are decimals; required for a new price. A number that a double can't distinguish from its
    /// neighbors is rejected, because JSON readers commonly use doubles; this can happen from 549755813888 on.
    #[schema(value_type = f64, required = true, minimum = 0, maximum = 999_999_999_999.999_9, multiple_of = 0.0001)]
    pub amount: Patch<Money>,
    /// 0 to 100, at most 4 decimals.
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 100, multiple_of = 0.0001)]
    pub tax_rate: Patch<Rate>,
    /// Start of the validity.
    #[schema(value_type = Option<Timestamp>)]
    pub starts_at: Patch<Timestamp>,
    /// End of the validity, which must be after its start.
    #[schema(value_type = Option<Timestamp>)]
    pub ends_at: Patch<Timestamp>,
}

impl PriceInput {
    /// Rejects absent fields that a new price needs besides its product.
    pub(super) fn require_terms(&self, validator: &mut Validator) {
        validator.require("kind", &self.kind);
        validator.require("currencyCode", &self.currency_code);
        validator.require("amount", &self.amount);
    }
}

impl Input for PriceInput {
    fn organization(&self) -> Patch<Uuid> {
        self.organization_id
    }

    fn require(&self, validator: &mut Validator) {
        validator.require("productId", &self.product_id);
        self.require_terms(validator);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Price>(self, validator);
    }
}

impl Record for Price {
    type Input = PriceInput;
    const CREATE: CommandName = CommandName::new("catalog.price.create", "Create price");
    const UPDATE: CommandName = CommandName::new("catalog.price.update", "Update price");
    const DELETE: CommandName = CommandName::new("catalog.price.delete", "Delete price");
    const MANAGE: &'static [Feature] = &[acl::PRODUCTS_MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            product_id: Uuid::nil(),
            variant_id: None,
            kind: String::new(),
            currency_code: String::new(),
            min_quantity: 1,
            amount: Money::default(),
            tax_rate: None,
            starts_at: None,
            ends_at: None,
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

    fn fill(&mut self, input: &PriceInput, validator: &mut Validator) {
        validator.value("productId", &input.product_id, &mut self.product_id, rules::any);
        validator.optional("variantId", &input.variant_id, &mut self.variant_id, rules::any);
        let kind = rules::one_of(values::PRICE_KINDS);
        validator.text("kind", &input.kind, &mut self.kind, kind);
        let currency = &mut self.currency_code;
        validator.text("currencyCode", &input.currency_code, currency, rules::currency);
        let quantity = &mut self.min_quantity;
        validator.value("minQuantity", &input.min_quantity, quantity, rules::at_least(1));
        validator.value("amount", &input.amount, &mut self.amount, values::amount);
        validator.optional("taxRate", &input.tax_rate, &mut self.tax_rate, values::tax_rate);
        validator.optional("startsAt", &input.starts_at, &mut self.starts_at, rules::any);
        validator.optional("endsAt", &input.ends_at, &mut self.ends_at, rules::any);
        if let (Some(start), Some(end)) = (self.starts_at, self.ends_at)
            && start >= end
        {
            validator.reject("endsAt", "must be after startsAt", "out_of_range");
        }
    }

    async fn placement(ctx: &RequestContext, input: &PriceInput) -> Result<Placement> {
        placement_of_part(ctx, input.organization_id.value())
    }

    async fn place(&mut self, tx: &mut Tx<'_>, input: &PriceInput) -> Result<()> {
        self.organization_id = organization_of_product(tx, self.product_id, input.organization_id.value()).await?;
        Ok(())
    }

    async fn check(&mut self, tx: &mut Tx<'_>, _input: &PriceInput, before: Option<&Self>) -> Result<bool> {
        if before.is_some_and(|before| before.product_id != self.product_id) {
            return Err(Rejection::immutable("productId").into());
        }
        if before.is_none_or(|before| before.variant_id != self.variant_id) {
            check_variant(tx, self).await?;
        }
        Ok(false)
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        Self::load_by(tx, By::Id, ids).await
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let mut written = Vec::with_capacity(rows.len());
        for chunk in rows.chunks(CHUNK) {
            let statement = insert_into(prices::table)
                .values(chunk)
                .on_conflict((prices::tenant_id, prices::id))
                .do_update()
                .set(ReplaceRow::<prices::table>::default())
                .returning(Self::as_returning());
            written.extend(
                PreparedIf(statement, chunk.len() == 1)
                    .get_results::<Self>(tx.conn())
                    .await?,
            );
        }
        Ok(written)
    }

    fn rejection(error: Error) -> Error {
        violation(error)
    }
}
