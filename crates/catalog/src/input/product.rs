//! Products.

use backoffice_core::command::Tx;
use backoffice_core::http::{given, present};
use backoffice_core::{Feature, Result, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{PriceInput, VariantInput, stays};
use crate::acl;
use crate::commands::{Change, place_product};
use crate::documented::{
    CatalogHandle, CatalogNewPrice, CatalogNewVariant, CatalogOptionalCurrency, CatalogProductType, CatalogSku,
    CatalogSubtitle, CatalogTag, CatalogTitle,
};
use crate::model::{Product, ProductRow, store_products};
use crate::rules::{self, Rules};

/// Types of products.
pub(crate) const TYPES: &[&str] = &["simple", "configurable", "virtual"];
const MOST_TAGS: usize = 100;
const LONGEST_TAG: usize = 60;
const MOST_CATEGORIES: usize = 200;
const MOST_VARIANTS: usize = 100;
const MOST_PRICES: usize = 500;

/// A new product, or the changes of an existing one: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProductInput {
    /// The product to update; ignored when a product is created.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    pub id: Option<Uuid>,
    /// The organization of a new product; cannot be changed later.
    pub organization_id: Option<Uuid>,
    /// 1 to 255 characters; required for a new product.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = CatalogTitle, required = true)]
    pub title: Option<Option<String>>,
    /// At most 255 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<CatalogSubtitle>)]
    pub subtitle: Option<Option<String>>,
    /// At most 4000 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 4000)]
    pub description: Option<Option<String>>,
    /// At most 191 of `A-Z a-z 0-9 . _ -`; unique in the organization.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<CatalogSku>)]
    pub sku: Option<Option<String>>,
    /// At most 150 of `a-z 0-9 _ -`, lower-cased; unique in the organization.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<CatalogHandle>)]
    pub handle: Option<Option<String>>,
    /// `simple` (default), `configurable` or `virtual`.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = CatalogProductType)]
    pub product_type: Option<Option<String>>,
    /// Whether the product is offered; default true.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = bool)]
    pub is_active: Option<Option<bool>>,
    /// Three letters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<CatalogOptionalCurrency>)]
    pub primary_currency_code: Option<Option<String>>,
    /// The whole set: at most 100 different tags of 1 to 60 characters, stored sorted. Null removes all.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<CatalogTag>>)]
    pub tags: Option<Option<Vec<String>>>,
    /// Any object of at most 64 KiB, nested at most 16 deep.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Option<Map<String, Value>>>,
    /// The whole set of categories, at most 200 different ones that are visible to the caller. Null removes all.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<Uuid>>)]
    pub category_ids: Option<Option<Vec<Uuid>>>,
    /// Variants that are created with a new product, at most 100.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Vec<CatalogNewVariant>, max_items = 100)]
    pub variants: Option<Vec<VariantInput>>,
    /// Prices that are created with a new product, at most 500.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Vec<CatalogNewPrice>, max_items = 500)]
    pub prices: Option<Vec<PriceInput>>,
}

impl ProductInput {
    /// Returns the requested set of categories; `None` if it is not changed.
    pub(crate) fn category_ids(&self, rules: &mut Rules) -> Option<Vec<Uuid>> {
        let mut ids = self.category_ids.clone()?.unwrap_or_default();
        ids.sort_unstable();
        ids.dedup();
        if ids.len() > MOST_CATEGORIES {
            rules.broken("categoryIds", "must be at most 200 categories", "too_long");
        }
        Some(ids)
    }

    /// Returns the variants to create with the product.
    pub(crate) fn new_variants(&self, rules: &mut Rules) -> &[VariantInput] {
        let variants = self.variants.as_deref().unwrap_or_default();
        if variants.len() > MOST_VARIANTS {
            rules.broken("variants", "must be at most 100 variants", "too_long");
            return &[];
        }
        variants
    }

    /// Returns the prices to create with the product.
    pub(crate) fn new_prices(&self, rules: &mut Rules) -> &[PriceInput] {
        let prices = self.prices.as_deref().unwrap_or_default();
        if prices.len() > MOST_PRICES {
            rules.broken("prices", "must be at most 500 prices", "too_long");
            return &[];
        }
        prices
    }
}

impl Change for ProductInput {
    const ID: &'static str = "catalog.product.update";
    const LABEL: &'static str = "Update product";
    const FEATURES: &'static [Feature] = &[acl::PRODUCTS_MANAGE];
    type Entity = Product;
    type Row = ProductRow;

    fn id(&self) -> Option<Uuid> {
        self.id
    }

    fn updated_at(row: &mut ProductRow) -> &mut Timestamp {
        &mut row.updated_at
    }

    fn blank(tenant_id: Uuid, id: Uuid, now: Timestamp) -> ProductRow {
        ProductRow {
            tenant_id,
            id,
            organization_id: Uuid::nil(),
            title: String::new(),
            subtitle: None,
            description: None,
            sku: None,
            handle: None,
            product_type: "simple".to_owned(),
            is_active: true,
            primary_currency_code: None,
            tags: Vec::new(),
            metadata: None,
            created_at: now,
            updated_at: now,
        }
    }

    fn write(&self, row: &mut ProductRow, rules: &mut Rules) {
        rules.text("title", &self.title, &mut row.title, rules::line(255));
        rules.optional_text("subtitle", &self.subtitle, &mut row.subtitle, rules::line(255));
        rules.optional_text(
            "description",
            &self.description,
            &mut row.description,
            rules::prose(4000),
        );
        rules.optional_text("sku", &self.sku, &mut row.sku, rules::sku);
        rules.optional_text("handle", &self.handle, &mut row.handle, rules::handle);
        let kind = rules::one_of(TYPES);
        rules.text("productType", &self.product_type, &mut row.product_type, kind);
        rules.value("isActive", &self.is_active, &mut row.is_active, rules::any);
        rules.optional_text(
            "primaryCurrencyCode",
            &self.primary_currency_code,
            &mut row.primary_currency_code,
            rules::currency,
        );
        if let Some(tags) = &self.tags {
            row.tags = sorted_tags(tags.as_deref().unwrap_or_default(), rules);
        }
        let metadata = self.metadata.clone().map(|given| given.map(Value::Object));
        rules.optional("metadata", &metadata, &mut row.metadata, rules::document);
        self.category_ids(rules);
    }

    async fn load(tx: &mut Tx<'_>, id: Uuid) -> Result<Option<ProductRow>> {
        Ok(ProductRow::load(tx, &[id]).await?.pop())
    }

    async fn settle(&self, tx: &mut Tx<'_>, before: &ProductRow, _row: &ProductRow) -> Result<bool> {
        stays("organizationId", self.organization_id, before.organization_id)?;
        match self.category_ids(&mut Rules::default()) {
            Some(requested) => place_product(tx, before.id, &requested).await,
            None => Ok(false),
        }
    }

    async fn store(tx: &mut Tx<'_>, row: ProductRow) -> Result<()> {
        store_products(tx, &[row]).await
    }
}

fn sorted_tags(tags: &[String], rules: &mut Rules) -> Vec<String> {
    let mut sorted: Vec<String> = Vec::with_capacity(tags.len().min(MOST_TAGS));
    for (index, tag) in tags.iter().enumerate() {
        let (path, mut own) = (format!("tags[{index}]"), String::new());
        rules.text(&path, &Some(Some(tag.clone())), &mut own, rules::line(LONGEST_TAG));
        sorted.push(own);
    }
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() > MOST_TAGS {
        rules.broken("tags", "must be at most 100 tags", "too_long");
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_trimmed_sorted_and_each_there_once() {
        let mut rules = Rules::default();
        let given = ["b ", "a", "b"].map(str::to_owned);

        assert_eq!(sorted_tags(&given, &mut rules), ["a", "b"]);
        assert!(rules.check().is_ok());
    }

    #[test]
    fn a_blank_tag_and_too_many_are_rejected() {
        let many: Vec<String> = (0..101).map(|number| number.to_string()).collect();
        for tags in [vec![" ".to_owned()], vec!["x".repeat(61)], many] {
            let mut rules = Rules::default();

            sorted_tags(&tags, &mut rules);

            assert!(rules.check().is_err());
        }
    }
}
