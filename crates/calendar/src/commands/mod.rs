//! The commands.

mod feed;
mod replace_working_calendar;
mod series;
mod window;

use backoffice_core::registry::Registry;

pub use feed::{CreateFeed, DeleteFeed};
pub use replace_working_calendar::{HolidayFields, ReplaceWorkingCalendar, WorkingCalendarFields};
pub use series::{
    CreateSeries, DeleteSeries, ExtendSeries, NewSeries, SeriesChanges, SeriesFields, SeriesWindows, UpdateSeries,
};
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
        .command::<ReplaceWorkingCalendar>()
        .entity::<model::Series>()
        .command::<CreateSeries>()
        .command::<UpdateSeries>()
        .command::<DeleteSeries>()
        .command::<ExtendSeries>()
        .entity::<model::Feed>()
        .command::<CreateFeed>()
        .command::<DeleteFeed>();
}
