//! Reads of alerts.

mod counts;
mod filter;
mod items;
mod marks;

pub(crate) use counts::{Summary, count, summarize};
pub(crate) use filter::{AlertFilter, Viewer};
pub(crate) use items::{Item, find, list};
pub(crate) use marks::{lock_alert, mark_all, mark_one, marks_of, readers_of, unmark_one};
