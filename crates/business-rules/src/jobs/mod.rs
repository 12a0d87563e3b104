//! Background jobs: rules that events start, and the end of old rows of the log.

mod erase_old;
mod run_rules;

pub(crate) use erase_old::{EVERY as ERASE_EVERY, EraseOld, SCHEDULE as ERASE_SCHEDULE};
pub(crate) use run_rules::RunRules;
