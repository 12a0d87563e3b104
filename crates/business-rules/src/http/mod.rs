//! The endpoints.

mod call_options;
mod entity_types;
mod execute;
mod logs;
mod members;
mod rules;
mod sets;
mod webhooks;

use backoffice_core::http::Routes;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Error, Rejection};

pub(crate) use execute::{ExecutionSlots, RunningExecutions};

/// The limits that this module counts.
pub(crate) const RATE_LIMITS: &[RateLimit] = &[execute::BY_ACTOR];

/// Text of the 400 for an invalid rule or set.
const INVALID: &str = "Validation failed";

pub(crate) fn routes(routes: &mut Routes) {
    rules::routes(routes);
    sets::routes(routes);
    members::routes(routes);
    execute::routes(routes);
    logs::routes(routes);
    entity_types::routes(routes);
    call_options::routes(routes);
    webhooks::routes(routes);
}

/// Words a 400 with violated rules as this module does.
fn worded(error: Error) -> Error {
    match error {
        Error::Rejected(rejection) if !rejection.details.is_empty() && rejection.message == "Invalid input" => {
            Rejection {
                message: INVALID.into(),
                ..*rejection
            }
            .into()
        }
        other => other,
    }
}
