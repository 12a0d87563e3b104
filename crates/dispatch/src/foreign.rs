//! What this module knows of other modules' tables: `calendar_windows`.

/// Kind of the unavailability windows of the calendar.
pub(crate) const WINDOW: &str = "calendar.window";
