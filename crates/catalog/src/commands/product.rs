//! Updates and deletes products. [`CreateProduct`](super::CreateProduct) creates them, with their variants and prices.

use std::collections::BTreeSet;

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Delete, Record, Update};
use backoffice_core::db::{KeyColumn, PreparedIf, ReplaceRow};
use backoffice_core::http::given;
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Error, Feature, Patch, Placement, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::create_product::validate_parts;
use super::references::assign_categories;
use super::{PriceInput, VariantInput};
use crate::documented::{
    CatalogHandle, CatalogNewPrice, CatalogNewVariant, CatalogOptionalCurrency, CatalogProductType, CatalogSku,
    CatalogSubtitle, CatalogTag, CatalogTitle,
};
use crate::error::violation;
use crate::model::Product;
use crate::query::taken::Codes;
use crate::schema::catalog_products as products;
use crate::{acl, values};

/// Updates a product.
pub type UpdateProduct = Update<Product>;
/// Deletes a product with its variants, prices and links to categories.
pub type DeleteProduct = Delete<Product>;

const MAX_TAGS: usize = 100;
const MAX_TAG_LENGTH: usize = 60;
const MAX_CATEGORIES: usize = 200;

/// The fields of a product: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProductInput {
    /// The organization of a new product; cannot be changed later.
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Patch<Uuid>,
    /// 1 to 255 characters; required for a new product.
    #[schema(value_type = CatalogTitle, required = true)]
    pub title: Patch<String>,
    /// At most 255 characters.
    #[schema(value_type = Option<CatalogSubtitle>)]
    pub subtitle: Patch<String>,
    /// At most 4000 characters.
    #[schema(value_type = Option<String>, max_length = 4000)]
    pub description: Patch<String>,
    /// At most 191 of `A-Z a-z 0-9 . _ -`; unique in the organization.
    #[schema(value_type = Option<CatalogSku>)]
    pub sku: Patch<String>,
    /// At most 150 of `a-z 0-9 _ -`, lower-cased; unique in the organization.
    #[schema(value_type = Option<CatalogHandle>)]
    pub handle: Patch<String>,
    /// `simple` (default), `configurable` or `virtual`.
    #[schema(value_type = CatalogProductType)]
    pub product_type: Patch<String>,
    /// Whether the product is offered; default true.
    #[schema(value_type = bool)]
    pub is_active: Patch<bool>,
    /// Three letters.
    #[schema(value_type = Option<CatalogOptionalCurrency>)]
    pub primary_currency_code: Patch<String>,
    /// The whole set: at most 100 different tags of 1 to 60 characters, stored sorted. Null removes all.
    #[schema(value_type = Option<Vec<CatalogTag>>)]
    pub tags: Patch<Vec<String>>,
    /// Any object of at most 64 KiB, nested at most 16 deep.
    #[schema(value_type = Option<Object>)]
    pub metadata: Patch<Map<String, Value>>,
    /// The whole set of categories, at most 200 different ones that are visible to the caller. Null removes all.
    #[schema(value_type = Option<Vec<Uuid>>)]
    pub category_ids: Patch<Vec<Uuid>>,
    /// Variants that are created with a new product, at most 100.
    #[serde(deserialize_with = "given")]
    #[schema(value_type = Vec<CatalogNewVariant>, max_items = 100)]
    pub variants: Option<Vec<VariantInput>>,
    /// Prices that are created with a new product, at most 500.
    #[serde(deserialize_with = "given")]
    #[schema(value_type = Vec<CatalogNewPrice>, max_items = 500)]
    pub prices: Option<Vec<PriceInput>>,
}

impl ProductInput {
    /// Returns the requested set of categories; `None` if it is not changed.
    pub(super) fn requested_categories(&self) -> Option<BTreeSet<Uuid>> {
        let requested = self.category_ids.as_ref().into_change()?;
        Some(requested.into_iter().flatten().copied().collect())
    }

    /// Returns the requested codes of a product that is updated, without the product and its organization.
    pub(crate) fn codes(&self) -> Codes {
        let (mut codes, mut validator) = (Codes::default(), Validator::default());
        validator.optional_text("sku", &self.sku, &mut codes.sku, values::sku);
        validator.optional_text("handle", &self.handle, &mut codes.handle, values::handle);
        codes
    }
}

impl Input for ProductInput {
    fn organization(&self) -> Patch<Uuid> {
        self.organization_id
    }

    fn require(&self, validator: &mut Validator) {
        validator.require("title", &self.title);
        validate_parts(self, validator);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Product>(self, validator);
    }
}

impl Record for Product {
    type Input = ProductInput;
    const CREATE: CommandName = CommandName::new("catalog.product.create", "Create product");
    const UPDATE: CommandName = CommandName::new("catalog.product.update", "Update product");
    const DELETE: CommandName = CommandName::new("catalog.product.delete", "Delete product");
    const MANAGE: &'static [Feature] = &[acl::PRODUCTS_MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
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

    fn key(&self) -> (Uuid, Uuid) {
        (self.tenant_id, self.id)
    }

    fn organization(&self) -> Option<Uuid> {
        Some(self.organization_id)
    }

    fn updated_at(&mut self) -> &mut Timestamp {
        &mut self.updated_at
    }

    fn fill(&mut self, input: &ProductInput, validator: &mut Validator) {
        validator.text("title", &input.title, &mut self.title, rules::line(255));
        validator.optional_text("subtitle", &input.subtitle, &mut self.subtitle, rules::line(255));
        let description = &mut self.description;
        validator.optional_text("description", &input.description, description, rules::text(4000));
        validator.optional_text("sku", &input.sku, &mut self.sku, values::sku);
        validator.optional_text("handle", &input.handle, &mut self.handle, values::handle);
        let product_type = rules::one_of(values::PRODUCT_TYPES);
        validator.text("productType", &input.product_type, &mut self.product_type, product_type);
        validator.value("isActive", &input.is_active, &mut self.is_active, rules::any);
        let (code, currency) = (&input.primary_currency_code, &mut self.primary_currency_code);
        validator.optional_text("primaryCurrencyCode", code, currency, rules::currency);
        if let Some(tags) = input.tags.as_ref().into_change() {
            self.tags = sorted_tags(tags.map_or(&[], Vec::as_slice), validator);
        }
        let metadata = input.metadata.clone().map(Value::Object);
        validator.optional("metadata", &metadata, &mut self.metadata, rules::json);
        if let Patch::Set(ids) = &input.category_ids {
            validator.accept("categoryIds", rules::ids(MAX_CATEGORIES)(ids));
        }
    }

    async fn place(&mut self, tx: &mut Tx<'_>, _input: &ProductInput) -> Result<()> {
        Placement::lock(tx, self.organization_id).await
    }

    /// Replaces the categories. The product must be stored already.
    async fn check(&mut self, tx: &mut Tx<'_>, input: &ProductInput, _before: Option<&Self>) -> Result<bool> {
        match input.requested_categories() {
            Some(requested) => assign_categories(tx, self.id, &requested).await,
            None => Ok(false),
        }
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = products::table.filter(products::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(products::id.one_of(ids)).select(Self::as_select());
        Ok(rows.load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(products::table)
            .values(rows)
            .on_conflict((products::tenant_id, products::id))
            .do_update()
            .set(ReplaceRow::<products::table>::default())
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }

    fn rejection(error: Error) -> Error {
        violation(error)
    }
}

fn sorted_tags(tags: &[String], validator: &mut Validator) -> Vec<String> {
    let mut sorted = BTreeSet::new();
    for (index, tag) in tags.iter().enumerate() {
        let (path, mut own) = (format!("tags[{index}]"), String::new());
        validator.text(&path, &Patch::Set(tag.clone()), &mut own, rules::line(MAX_TAG_LENGTH));
        sorted.insert(own);
    }
    if sorted.len() > MAX_TAGS {
        validator.reject("tags", "must be at most 100 tags", "too_long");
    }
    sorted.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_trimmed_sorted_and_each_there_once() {
        let mut validator = Validator::default();
        let tags = ["b ", "a", "b"].map(str::to_owned);

        assert_eq!(sorted_tags(&tags, &mut validator), ["a", "b"]);
        assert!(validator.check().is_ok());
    }

    #[test]
    fn a_blank_tag_and_too_many_are_rejected() {
        let many: Vec<String> = (0..101).map(|number| number.to_string()).collect();
        for tags in [vec![" ".to_owned()], vec!["x".repeat(61)], many] {
            let mut validator = Validator::default();

            sorted_tags(&tags, &mut validator);

            assert!(validator.check().is_err());
        }
    }
}
