//! Schemas of words and of comma lists of them, for the API document.

use backoffice_core::identity::ActorKind;
use backoffice_core::input::schema;
use backoffice_core::text_schemas;

use crate::model::{ItemState, Status};

text_schemas! {
    /// Status of a job.
    JobStatus: schema::words(Status::ALL.map(Status::as_str));
    /// Who requested a job.
    JobActorKind: schema::words(ActorKind::ALL.map(ActorKind::as_str));
    /// State of an item.
    JobItemState: schema::words(ItemState::ALL.map(ItemState::as_str));
    /// Statuses of jobs, joined by commas.
    Statuses: schema::joined_words("Statuses of jobs, joined by commas.", &Status::ALL.map(Status::as_str));
    /// States of items, joined by commas.
    ItemStates: schema::joined_words("States of items, joined by commas.", &ItemState::ALL.map(ItemState::as_str));
}
