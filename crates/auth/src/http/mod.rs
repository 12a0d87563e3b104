//! What all endpoints share: their list, their rate limits and the texts of their inputs.

pub(crate) mod fields;

use backoffice_core::http::Routes;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Detail, Rejection, Result};
use uuid::Uuid;

use crate::mails::jobs;
use crate::{consents, navigation, roles, sessions, sidebar, users};

/// The rate limits of the endpoints, and of the notices that jobs send.
pub(crate) const RATE_LIMITS: &[RateLimit] = &[
    sessions::http::AUTOLOGIN_BY_IP,
    users::http::RESEND_BY_TARGET,
    users::http::INVITE_BY_ACTOR,
    users::http::RESET_BY_IP,
    users::http::RESET_BY_ACCOUNT,
    users::http::VALIDATE_BY_IP,
    users::http::VALIDATE_BY_TOKEN,
    users::http::CONFIRM_BY_IP,
    users::http::CONFIRM_BY_TOKEN,
    sessions::http::LOGIN_BY_IP,
    sessions::http::LOGIN_BY_ACCOUNT_AND_IP,
    sessions::http::LOGIN_BY_ACCOUNT,
    sessions::http::REFRESH_BY_IP,
    sessions::http::REFRESH_BY_TOKEN,
    jobs::PASSWORD_NOTICES,
    jobs::ADDRESS_NOTICES,
];

pub(crate) fn routes(routes: &mut Routes) {
    sessions::http::routes(routes);
    users::http::routes(routes);
    roles::http::routes(routes);
    consents::http::routes(routes);
    sidebar::http::routes(routes);
    navigation::http::routes(routes);
}

/// Parses the required id in the parameter `name`; `message` is the error text of the endpoint.
pub(crate) fn required_id(name: &'static str, id: Option<&str>, message: &'static str) -> Result<Uuid> {
    id.and_then(|id| id.trim().parse().ok()).ok_or_else(|| {
        let detail = Detail::new(name, "must be a UUID", "invalid_value");
        Rejection::bad_request(message).detail(detail).into()
    })
}
