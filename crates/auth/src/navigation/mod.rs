//! The navigation of the administration: what this module adds to it, and how the entries of all modules become one menu.

mod compose;
mod entries;

pub(crate) use compose::{Group, Item, Viewer};
pub(crate) use entries::{NAV_TITLES, NAVIGATION};
