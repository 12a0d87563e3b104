//! The endpoints.

mod admin;
mod items;
mod own;
mod push;

use backoffice_core::http::Routes;
use backoffice_core::rate_limit::RateLimit;

/// The limits that this module counts.
pub(crate) const RATE_LIMITS: &[RateLimit] = &[own::REGISTER_BY_USER, push::TEST_BY_DEVICE];

pub(crate) fn routes(routes: &mut Routes) {
    own::routes(routes);
    admin::routes(routes);
    push::routes(routes);
}
