//! The endpoints.

mod lookups;
mod organizations;
mod switcher;
mod tenants;

use backoffice_core::http::Routes;
use backoffice_core::rate_limit::RateLimit;

/// The rate limits of the endpoints.
pub(crate) const RATE_LIMITS: &[RateLimit] = &[lookups::LIMIT];

pub(crate) fn routes(routes: &mut Routes) {
    lookups::routes(routes);
    tenants::routes(routes);
    organizations::routes(routes);
    switcher::routes(routes);
}
