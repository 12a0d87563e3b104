//! The commands.

mod derive_instants;
mod feed;
mod replace_working_calendar;
mod series;
mod update_series;
mod window;

use backoffice_core::Patch;
use backoffice_core::input::Validator;
use backoffice_core::registry::Registry;
use uuid::Uuid;

pub(crate) use derive_instants::DeriveInstants;
pub use feed::{CreateFeed, DeleteFeed};
pub use replace_working_calendar::{HolidayFields, ReplaceWorkingCalendar, WorkingCalendarFields};
pub use series::{CreateSeries, DeleteSeries, NewSeries, SeriesChanges, SeriesFields, SeriesWindows};
pub use update_series::UpdateSeries;
pub(crate) use window::write_windows;
pub use window::{CreateWindow, DeleteWindow, NewWindow, UpdateWindow, WindowChanges, WindowFields};

use crate::model;

/// Rejects an `id` in a body that is not a UUID. The handler compares it with the id in the path.
fn validate_id(id: &Patch<String>, validator: &mut Validator) {
    let is_valid = match id {
        Patch::Keep => true,
        Patch::Set(text) => text.parse::<Uuid>().is_ok(),
        Patch::Clear => false,
    };
    if !is_valid {
        validator.reject("id", "must be the id of the path, or absent", "id_mismatch");
    }
}

pub(crate) fn register(registry: &mut Registry) {
    registry
        .entity::<model::Window>()
        .command::<CreateWindow>()
        .command::<UpdateWindow>()
        .command::<DeleteWindow>()
        .entity::<model::WorkingCalendar>()
        .command::<ReplaceWorkingCalendar>()
        .command::<DeriveInstants>()
        .entity::<model::Series>()
        .command::<CreateSeries>()
        .command::<UpdateSeries>()
        .command::<DeleteSeries>()
        .entity::<model::Feed>()
        .command::<CreateFeed>()
        .command::<DeleteFeed>();
}
