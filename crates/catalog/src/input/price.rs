//! Prices.

use backoffice_core::command::Tx;
use backoffice_core::http::{given, present};
use backoffice_core::{Feature, Result, Timestamp};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::stays;
use crate::acl;
use crate::commands::{Change, check_variant};
use crate::documented::{CatalogCurrency, CatalogPriceKind};
use crate::model::{By, Money, Price, PriceRow, Rate, store_prices};
use crate::rules::{self, Rules};

/// Kinds of prices.
pub(crate) const KINDS: &[&str] = &["regular", "sale"];
/// Number of digits of an amount, decimals included.
const DIGITS: u32 = 16;
const HUNDRED_PERCENT: Rate = Rate::from_units(1_000_000);

/// A new price, or the changes of an existing one: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PriceInput {
    /// The price to update; ignored when a price is created.
    pub id: Option<Uuid>,
    /// The organization of the product, or null.
    pub organization_id: Option<Uuid>,
    /// The product; required for a new price, unless it is created with its product. It cannot be changed later.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, required = true)]
    pub product_id: Option<Uuid>,
    /// The variant that the price is for, of the same product.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Uuid>)]
    pub variant_id: Option<Option<Uuid>>,
    /// For a price that is created with its product: index of the variant in `variants`, from 0; null for a price of the product.
    #[schema(maximum = 4_294_967_295_u32)]
    pub variant_index: Option<u32>,
    /// `regular` or `sale`; required for a new price.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = CatalogPriceKind, required = true)]
    pub kind: Option<Option<String>>,
    /// Three letters; required for a new price.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = CatalogCurrency, required = true)]
    pub currency_code: Option<Option<String>>,
    /// The price applies from this number of pieces on; default 1.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = i32, minimum = 1, maximum = 2_147_483_647)]
    pub min_quantity: Option<Option<i32>>,
    /// At least 0, at most 16 digits of which 4 are decimals; required for a new price. A number that a double can't distinguish from its
    /// neighbors is rejected, because JSON readers commonly use doubles; this can happen from 549755813888 on.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = f64, required = true, minimum = 0, maximum = 999_999_999_999.999_9, multiple_of = 0.0001)]
    pub amount: Option<Option<Money>>,
    /// 0 to 100, at most 4 decimals.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 100, multiple_of = 0.0001)]
    pub tax_rate: Option<Option<Rate>>,
    /// Start of the validity.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Timestamp>)]
    pub starts_at: Option<Option<Timestamp>>,
    /// End of the validity, which must be after its start.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Timestamp>)]
    pub ends_at: Option<Option<Timestamp>>,
}

impl PriceInput {
    /// Rejects a new price without a required field.
    pub(crate) fn is_whole(&self, rules: &mut Rules) {
        rules.needs("kind", &self.kind);
        rules.needs("currencyCode", &self.currency_code);
        rules.needs("amount", &self.amount);
    }
}

impl Change for PriceInput {
    const ID: &'static str = "catalog.price.update";
    const LABEL: &'static str = "Update price";
    const FEATURES: &'static [Feature] = &[acl::PRODUCTS_MANAGE];
    type Entity = Price;
    type Row = PriceRow;

    fn id(&self) -> Option<Uuid> {
        self.id
    }

    fn updated_at(row: &mut PriceRow) -> &mut Timestamp {
        &mut row.updated_at
    }

    fn blank(tenant_id: Uuid, id: Uuid, now: Timestamp) -> PriceRow {
        PriceRow {
            tenant_id,
            id,
            organization_id: Uuid::nil(),
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

    fn write(&self, row: &mut PriceRow, rules: &mut Rules) {
        rules.text("kind", &self.kind, &mut row.kind, rules::one_of(KINDS));
        rules.text(
            "currencyCode",
            &self.currency_code,
            &mut row.currency_code,
            rules::currency,
        );
        let quantity = rules::at_least(1);
        if let Some(variant) = self.variant_id {
            row.variant_id = variant;
        }
        rules.value("minQuantity", &self.min_quantity, &mut row.min_quantity, quantity);
        rules.value("amount", &self.amount, &mut row.amount, |amount| {
            if *amount < Money::default() {
                return Err(("must be at least 0".to_owned(), "out_of_range"));
            }
            if !amount.fits(DIGITS) {
                return Err(("must be less than 1000000000000".to_owned(), "out_of_range"));
            }
            Ok(())
        });
        rules.optional("taxRate", &self.tax_rate, &mut row.tax_rate, |rate| {
            if (Rate::default()..=HUNDRED_PERCENT).contains(rate) {
                Ok(())
            } else {
                Err(("must be between 0 and 100".to_owned(), "out_of_range"))
            }
        });
        rules.optional("startsAt", &self.starts_at, &mut row.starts_at, rules::any);
        rules.optional("endsAt", &self.ends_at, &mut row.ends_at, rules::any);
        if let (Some(start), Some(end)) = (row.starts_at, row.ends_at)
            && start >= end
        {
            rules.broken("endsAt", "must be after startsAt", "out_of_range");
        }
    }

    async fn load(tx: &mut Tx<'_>, id: Uuid) -> Result<Option<PriceRow>> {
        Ok(PriceRow::load(tx, By::Id, &[id]).await?.pop())
    }

    async fn settle(&self, tx: &mut Tx<'_>, before: &PriceRow, row: &PriceRow) -> Result<bool> {
        stays("organizationId", self.organization_id, before.organization_id)?;
        stays("productId", self.product_id, before.product_id)?;
        if row.variant_id != before.variant_id {
            check_variant(tx, row).await?;
        }
        Ok(false)
    }

    async fn store(tx: &mut Tx<'_>, row: PriceRow) -> Result<()> {
        store_prices(tx, &[row]).await
    }
}
