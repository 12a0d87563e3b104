//! The endpoints.

mod availability;
mod bodies;
mod feeds;
mod reasons;
mod series;
mod windows;
mod working_calendar;

use backoffice_core::http::Routes;

pub(crate) use feeds::RATE_LIMITS;
pub(crate) use windows::series_of;

pub(crate) fn routes(routes: &mut Routes) {
    windows::routes(routes);
    series::routes(routes);
    availability::routes(routes);
    reasons::routes(routes);
    working_calendar::routes(routes);
    feeds::routes(routes);
}
