//! The endpoints.

mod availability;
mod bodies;
mod parameters;
mod reasons;
mod windows;
mod working_calendar;

use backoffice_core::http::Routes;

pub(crate) fn routes(routes: &mut Routes) {
    windows::routes(routes);
    availability::routes(routes);
    reasons::routes(routes);
    working_calendar::routes(routes);
}
