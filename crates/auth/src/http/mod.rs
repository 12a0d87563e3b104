//! The endpoints, by resource.

mod browser;
mod caller;
mod consents;
mod cookies;
pub(crate) mod fields;
mod flag;
mod invitations;
mod locale;
mod navigation;
mod reset;
mod role_acl;
mod roles;
mod session;
mod sidebar;
mod user_acl;
mod users;
pub(crate) mod visitor;

use backoffice_core::http::Routes;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Detail, Rejection, Result};
use uuid::Uuid;

/// The rate limits of the endpoints.
pub(crate) const RATE_LIMITS: &[RateLimit] = &[
    browser::AUTOLOGIN_BY_IP,
    invitations::RESEND_BY_TARGET,
    invitations::INVITE_BY_ACTOR,
    reset::RESET_BY_IP,
    reset::RESET_BY_ACCOUNT,
    reset::VALIDATE_BY_IP,
    reset::VALIDATE_BY_TOKEN,
    reset::CONFIRM_BY_IP,
    reset::CONFIRM_BY_TOKEN,
    session::LOGIN_BY_IP,
    session::LOGIN_BY_ACCOUNT_AND_IP,
    session::LOGIN_BY_ACCOUNT,
    session::REFRESH_BY_IP,
    session::REFRESH_BY_TOKEN,
];

pub(crate) fn routes(routes: &mut Routes) {
    session::routes(routes);
    reset::routes(routes);
    invitations::routes(routes);
    browser::routes(routes);
    locale::routes(routes);
    caller::routes(routes);
    consents::routes(routes);
    roles::routes(routes);
    role_acl::routes(routes);
    users::routes(routes);
    user_acl::routes(routes);
    sidebar::routes(routes);
    navigation::routes(routes);
}

/// Parses a required id; `message` is the error text of the endpoint.
fn required_id(id: Option<&str>, message: &'static str) -> Result<Uuid> {
    id.and_then(|id| id.trim().parse().ok()).ok_or_else(|| {
        let detail = Detail::new("id", "must be a UUID", "invalid_value");
        Rejection::bad_request(message).detail(detail).into()
    })
}
