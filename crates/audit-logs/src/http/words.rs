//! Schemas of words in a query, for the API document.

use backoffice_core::input::schema;
use backoffice_core::text_schemas;
use utoipa::openapi::schema::{AnyOfBuilder, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::parameters::{FALSE, TRUE};

text_schemas! {
    /// The kind of a resource or of an access.
    ShortText: not_blank(100);
    /// The id of a resource.
    LongText: not_blank(200);
}

fn not_blank(max: usize) -> ObjectBuilder {
    let character = r"[^\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";
    let about = format!("1 to {max} characters, not blank.");
    let text = schema::pattern(&about, character.to_owned());
    text.min_length(Some(1)).max_length(Some(max))
}

/// A boolean in one of several spellings.
pub(super) enum Flag {}

impl PartialSchema for Flag {
    fn schema() -> RefOr<Schema> {
        let words = TRUE.into_iter().chain(FALSE);
        AnyOfBuilder::new()
            .item(ObjectBuilder::new().schema_type(Type::Boolean))
            .item(ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)))
            .into()
    }
}

impl ToSchema for Flag {}

/// A positive integer of any size.
pub(super) enum Positive {}

impl PartialSchema for Positive {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Integer);
        number.minimum(Some(1)).default(Some(1000.into())).into()
    }
}

impl ToSchema for Positive {}

/// The sort direction.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the words that `ActionFilter` parses")]
pub(super) enum SortDir {
    Asc,
    Desc,
}
