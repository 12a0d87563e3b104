//! Background jobs: rules that events start, and the deletion of old executions by request, of old webhooks, and of values of their headers.

mod erase_header_values;
mod erase_old;
mod run_rules;

pub(crate) use erase_header_values::{
    EVERY as ERASE_HEADER_VALUES_EVERY, EraseHeaderValues, SCHEDULE as ERASE_HEADER_VALUES_SCHEDULE,
};
pub(crate) use erase_old::{
    EVERY as ERASE_EVERY, EraseOld, EraseWebhooks, SCHEDULE as ERASE_SCHEDULE,
    WEBHOOKS_SCHEDULE as ERASE_WEBHOOKS_SCHEDULE,
};
pub(crate) use run_rules::RunRules;
