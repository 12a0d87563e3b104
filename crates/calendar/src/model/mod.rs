//! The entities.

mod feed;
mod series;
mod window;
mod working_calendar;

pub(crate) use feed::{FEED_CONTENTS, WINDOWS};
pub use feed::{Feed, FeedFilter};
pub use series::{Series, SeriesException, SeriesRow};
pub(crate) use series::{add_windows, insert_windows, read_series, write_rows};
pub use window::Window;
pub(crate) use window::derive_all;
pub(crate) use working_calendar::{CalendarRow, read as read_calendars, write as write_calendars};
pub use working_calendar::{Holiday, WorkingCalendar};

/// The kind of windows.
pub const WINDOW: &str = "calendar.window";
/// The kind of series.
pub const SERIES: &str = "calendar.series";
/// The kind of working calendars.
pub const WORKING_CALENDAR: &str = "calendar.working_calendar";
/// The kind of feeds.
pub const FEED: &str = "calendar.feed";
