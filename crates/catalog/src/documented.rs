//! Schemas of request fields, for the API document, where derived schemas would be too imprecise.

use std::borrow::Cow;

use backoffice_core::input::schema::{self, SPACE};
use backoffice_core::text_schemas;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{Object, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::commands::{PriceInput, ProductInput, VariantInput};
use crate::values::{PRICE_KINDS, PRODUCT_TYPES};

text_schemas! {
    /// Title of a product or name of a variant.
    CatalogTitle: schema::line(255);
    /// Name of a category.
    CatalogCategoryTitle: schema::line(150);
    /// Tag of a product.
    CatalogTag: schema::line(60);
    /// Additional line of a title; a blank text is treated as null.
    CatalogSubtitle: schema::optional_line(255);
    /// Code of a variant; a blank text is treated as null.
    CatalogCode: schema::optional_line(191);
    /// Stock keeping unit of a product; a blank text is treated as null.
    CatalogSku: schema::optional("At most 191 of `A-Z a-z 0-9 . _ -`.", "[A-Za-z0-9._-]+").max_length(Some(191));
    /// Name of a product in addresses; a blank text is treated as null.
    CatalogHandle: schema::optional("At most 150 of `A-Z a-z 0-9 _ -`, lower-cased.", "[A-Za-z0-9_-]+")
        .max_length(Some(150));
    /// Name of a category in addresses.
    CatalogSlug: schema::text("1 to 150 of `A-Z a-z 0-9 _ -`, lower-cased.", "[A-Za-z0-9_-]+", 150);
    /// Currency of a price.
    CatalogCurrency: schema::pattern(
        "Three letters, converted to upper case.",
        format!("^{SPACE}[A-Za-z]{{3}}{SPACE}$"),
    );
    /// Currency of a product; a blank text is treated as null.
    CatalogOptionalCurrency: schema::optional("Three letters, converted to upper case.", "[A-Za-z]{3}");
    /// Type of a product.
    CatalogProductType: schema::words(PRODUCT_TYPES.iter().copied());
    /// Kind of a price.
    CatalogPriceKind: schema::words(PRICE_KINDS.iter().copied());
}

/// Builds a variation of the schema of a type.
fn changed<T: ToSchema>(change: impl FnOnce(&mut Object)) -> RefOr<Schema> {
    let mut schema = T::schema();
    if let RefOr::T(Schema::Object(body)) = &mut schema {
        change(body);
    }
    schema
}

/// Returns a field of a body, if its schema is defined inline.
fn field<'b>(body: &'b mut Object, name: &str) -> Option<&'b mut Object> {
    match body.properties.get_mut(name) {
        Some(RefOr::T(Schema::Object(field))) => Some(field),
        _ => None,
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The changes of a product: the fields of a new one without the parts that are created with it.
pub(crate) enum ProductChanges {}

impl PartialSchema for ProductChanges {
    fn schema() -> RefOr<Schema> {
        changed::<ProductInput>(|body| {
            body.properties.remove("variants");
            body.properties.remove("prices");
        })
    }
}

impl ToSchema for ProductChanges {
    fn name() -> Cow<'static, str> {
        ProductInput::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        ProductInput::schemas(schemas);
    }
}

/// A variant that is created with its product; it does not need to name the product.
pub(crate) enum CatalogNewVariant {}

impl PartialSchema for CatalogNewVariant {
    fn schema() -> RefOr<Schema> {
        changed::<VariantInput>(|body| {
            let about = "A variant that is created with its product. No other variant has its sku.";
            body.description = Some(about.to_owned());
            body.required = owned(&["name"]);
            if let Some(product) = field(body, "productId") {
                product.description = Some("Not read.".to_owned());
            }
        })
    }
}

impl ToSchema for CatalogNewVariant {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        VariantInput::schemas(schemas);
    }
}

/// A price that is created with its product; it does not need to name the product.
pub(crate) enum CatalogNewPrice {}

impl PartialSchema for CatalogNewPrice {
    fn schema() -> RefOr<Schema> {
        changed::<PriceInput>(|body| {
            let about = "A price that is created with its product. No other price of the request has the same terms.";
            body.description = Some(about.to_owned());
            body.required = owned(&["kind", "currencyCode", "amount"]);
            if let Some(product) = field(body, "productId") {
                product.description = Some("Not read.".to_owned());
            }
            if let Some(variant) = field(body, "variantId") {
                variant.schema_type = Type::Null.into();
                variant.format = None;
                let about = "Null: `variantIndex` names a variant that is created with the product.";
                variant.description = Some(about.to_owned());
            }
            if let Some(index) = field(body, "variantIndex") {
                index.maximum = Some(99_u32.into());
            }
        })
    }
}

impl ToSchema for CatalogNewPrice {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        PriceInput::schemas(schemas);
    }
}
