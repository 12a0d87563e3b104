//! Schemas of request fields, for the API document, where derived schemas would be too imprecise. The texts are those that
//! [`rules`](crate::rules) accepts: white space around them is trimmed before their length is checked.

use std::borrow::Cow;
use std::marker::PhantomData;

use utoipa::openapi::schema::Type;
use utoipa::openapi::{Object, ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::input::{PRICE_KINDS, PRODUCT_TYPES, PriceInput, VariantInput};

/// White space, which is trimmed.
const SPACE: &str = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*";
/// A character inside a line.
const INNER: &str = r"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]";
/// A character inside a line, without white space.
const VISIBLE: &str = r"[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028-\u202f\u205f\u2066-\u2069\u3000]";

/// Declares types that represent texts in the API document.
macro_rules! texts {
    ($($(#[$about:meta])* $name:ident: $schema:expr;)*) => {$(
        $(#[$about])*
        pub(crate) enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $schema.build().into()
            }
        }

        impl ToSchema for $name {}
    )*};
}

texts! {
    /// Title of a product or name of a variant.
    CatalogTitle: line(255);
    /// Name of a category.
    CatalogCategoryTitle: line(150);
    /// Tag of a product.
    CatalogTag: line(60);
    /// Additional line of a title; a blank text is treated as null.
    CatalogSubtitle: optional_line(255);
    /// Code of a variant; a blank text is treated as null.
    CatalogCode: optional_line(191);
    /// Stock keeping unit of a product; a blank text is treated as null.
    CatalogSku: optional("At most 191 of `A-Z a-z 0-9 . _ -`.", "[A-Za-z0-9._-]+", 191);
    /// Name of a product in addresses; a blank text is treated as null.
    CatalogHandle: optional("At most 150 of `A-Z a-z 0-9 _ -`, lower-cased.", "[A-Za-z0-9_-]+", 150);
    /// Name of a category in addresses.
    CatalogSlug: text("1 to 150 of `A-Z a-z 0-9 _ -`, lower-cased.", format!("^{SPACE}[A-Za-z0-9_-]+{SPACE}$"), 150);
    /// Currency of a price.
    CatalogCurrency: pattern("Three letters, converted to upper case.", format!("^{SPACE}[A-Za-z]{{3}}{SPACE}$"));
    /// Currency of a product; a blank text is treated as null.
    CatalogOptionalCurrency: pattern(
        "Three letters, converted to upper case. A blank text is treated as null.",
        format!("^{SPACE}([A-Za-z]{{3}}{SPACE})?$"),
    );
    /// Type of a product.
    CatalogProductType: words(PRODUCT_TYPES);
    /// Kind of a price.
    CatalogPriceKind: words(PRICE_KINDS);
}

fn pattern(about: &str, pattern: String) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(about))
        .pattern(Some(pattern))
}

/// A text that is not blank.
fn text(about: &str, form: String, most: usize) -> ObjectBuilder {
    pattern(about, form).min_length(Some(1)).max_length(Some(most))
}

/// A text of this form, or a blank one.
fn optional(about: &str, form: &str, most: usize) -> ObjectBuilder {
    let about = format!("{about} A blank text is treated as null.");
    pattern(&about, format!("^{SPACE}({form}{SPACE})?$")).max_length(Some(most))
}

fn line(most: usize) -> ObjectBuilder {
    let about = format!("1 to {most} characters, not blank, without control characters.");
    text(&about, format!("^{SPACE}{INNER}*{VISIBLE}{SPACE}$"), most)
}

fn optional_line(most: usize) -> ObjectBuilder {
    let about = format!("At most {most} characters, without control characters.");
    optional(&about, &format!("{INNER}*{VISIBLE}"), most)
}

/// Builds the schema of one of these words.
pub(crate) fn words(words: &'static [&'static str]) -> ObjectBuilder {
    let words = words.iter().copied();
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words))
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

/// The body of an update: only the id is required, and the lists that a creation reads are left out.
pub(crate) struct Identified<T>(PhantomData<T>);

impl<T: ToSchema> PartialSchema for Identified<T> {
    fn schema() -> RefOr<Schema> {
        changed::<T>(|body| {
            body.required = owned(&["id"]);
            body.properties.remove("variants");
            body.properties.remove("prices");
            if let Some(id) = field(body, "id") {
                id.schema_type = Type::String.into();
                id.description = Some("The row to change.".to_owned());
            }
        })
    }
}

impl<T: ToSchema> ToSchema for Identified<T> {
    fn name() -> Cow<'static, str> {
        Cow::Owned(format!("Identified{}", T::name()))
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        T::schemas(schemas);
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
