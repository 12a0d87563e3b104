//! Schemas of comma lists in a query, for the API document.

use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::model::{ItemState, Status};

/// Statuses of jobs, joined by commas.
pub(super) enum Statuses {}

/// States of items, joined by commas.
pub(super) enum ItemStates {}

/// Builds the schema of a list of these words, joined by commas.
fn joined(words: &[&str]) -> RefOr<Schema> {
    let word = words.join("|");
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(format!("^ *({word})?( *, *({word})?)* *$")))
        .build()
        .into()
}

impl PartialSchema for Statuses {
    fn schema() -> RefOr<Schema> {
        joined(&Status::ALL.map(Status::as_str))
    }
}

impl ToSchema for Statuses {}

impl PartialSchema for ItemStates {
    fn schema() -> RefOr<Schema> {
        joined(&ItemState::ALL.map(ItemState::as_str))
    }
}

impl ToSchema for ItemStates {}
