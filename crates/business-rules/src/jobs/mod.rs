//! Background jobs: rules that events start, and the deletion of old executions by request and webhooks.

mod erase_old;
mod run_rules;

pub(crate) use erase_old::{EVERY as ERASE_EVERY, EraseOld, SCHEDULE as ERASE_SCHEDULE};
pub(crate) use run_rules::RunRules;
