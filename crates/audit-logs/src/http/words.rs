//! Schemas of words in a query, for the API document.

use utoipa::openapi::schema::{AnyOfBuilder, Type};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::parameters::{FALSE, TRUE};

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
