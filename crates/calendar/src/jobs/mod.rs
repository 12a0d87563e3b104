//! Background work.

mod derive_all_instants;
mod extend_all_series;
mod forget_feeds;

pub use derive_all_instants::derive_if_newer;
pub(crate) use derive_all_instants::{DeriveAllInstants, background};
pub use extend_all_series::ExtendAllSeries;
pub(crate) use extend_all_series::{EVERY as EXTEND_EVERY, SCHEDULE as EXTEND_SCHEDULE};
pub(crate) use forget_feeds::ForgetFeeds;
