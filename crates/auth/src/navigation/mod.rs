//! The navigation of the administration: the entries of this module, and the menu composed of the entries of all modules.

mod compose;
mod entries;
pub(crate) mod http;

pub(crate) use compose::{Group, Item, Viewer};
pub(crate) use entries::{NAV_TITLES, NAVIGATION};
