//! The commands.

mod replace_working_calendar;
mod window;

use backoffice_core::registry::Registry;

pub use replace_working_calendar::{HolidayFields, ReplaceWorkingCalendar, WorkingCalendarFields};
pub(crate) use window::write_windows;
pub use window::{CreateWindow, DeleteWindow, NewWindow, UpdateWindow, WindowChanges, WindowFields};

use crate::model;

pub(crate) fn register(registry: &mut Registry) {
    registry
        .entity::<model::Window>()
        .command::<CreateWindow>()
        .command::<UpdateWindow>()
        .command::<DeleteWindow>()
        .entity::<model::WorkingCalendar>()
        .command::<ReplaceWorkingCalendar>();
}
