//! Schemas of comma lists in a query, for the API document.

use backoffice_core::input::schema;
use backoffice_core::text_schemas;

use crate::model::{ItemState, Status};

text_schemas! {
    /// Statuses of jobs, joined by commas.
    Statuses: schema::joined_words("Statuses of jobs, joined by commas.", &Status::ALL.map(Status::as_str));
    /// States of items, joined by commas.
    ItemStates: schema::joined_words("States of items, joined by commas.", &ItemState::ALL.map(ItemState::as_str));
}
