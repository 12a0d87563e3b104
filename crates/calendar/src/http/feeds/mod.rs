//! Endpoints of feeds: those of their users, and the public one that calendar programs read.

mod content;
mod manage;
mod read;

use backoffice_core::http::Routes;
use backoffice_core::rate_limit::RateLimit;

/// The limits that this module counts.
pub(crate) const RATE_LIMITS: &[RateLimit] = &[read::FEED_BY_IP];

pub(super) fn routes(routes: &mut Routes) {
    manage::routes(routes);
    read::routes(routes);
}
