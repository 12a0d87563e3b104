//! Background work.

mod extend_all_series;

pub use extend_all_series::ExtendAllSeries;
pub(crate) use extend_all_series::{EVERY as EXTEND_EVERY, SCHEDULE as EXTEND_SCHEDULE};
