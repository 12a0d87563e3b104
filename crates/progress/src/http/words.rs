//! Schemas of comma lists in a query, for the API document.

use backoffice_core::input::schema;
use backoffice_core::text_schemas;
use utoipa::openapi::ObjectBuilder;

use crate::model::{ItemState, Status};

text_schemas! {
    /// Statuses of jobs, joined by commas.
    Statuses: joined("Statuses of jobs, joined by commas.", &Status::ALL.map(Status::as_str));
    /// States of items, joined by commas.
    ItemStates: joined("States of items, joined by commas.", &ItemState::ALL.map(ItemState::as_str));
}

/// Builds the schema of a list of these words, joined by commas.
fn joined(about: &str, words: &[&str]) -> ObjectBuilder {
    let word = words.join("|");
    schema::pattern(about, format!("^ *({word})?( *, *({word})?)* *$"))
}
