//! The endpoints, by resource.

mod browser;
mod caller;
mod consents;
mod cookies;
mod fields;
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

pub(crate) use caller::checked_name;

use backoffice_core::http::Routes;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::text::{NO_CONTROL_CHARACTERS, has_control_characters};
use serde::Serialize;
use utoipa::ToSchema;
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

/// Confirmation of a write.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
struct Done {
    /// Always true.
    ok: bool,
}

const OK: Done = Done { ok: true };

/// The id of the created resource.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
struct NewId {
    id: Uuid,
}

/// Trims a text and checks its length in characters; rejects control characters.
fn text(path: &'static str, value: &str, longest: usize) -> Result<String, backoffice_core::Detail> {
    let value = value.trim();
    if value.is_empty() {
        return Err(backoffice_core::Detail::new(path, "must not be blank", "required"));
    }
    if value.chars().count() > longest {
        return Err(backoffice_core::Detail::new(
            path,
            format!("must be at most {longest} characters"),
            "too_long",
        ));
    }
    if has_control_characters(value) {
        return Err(backoffice_core::Detail::new(
            path,
            NO_CONTROL_CHARACTERS,
            "invalid_value",
        ));
    }
    Ok(value.to_owned())
}

fn invalid(detail: backoffice_core::Detail) -> backoffice_core::Error {
    backoffice_core::Rejection::invalid(vec![detail]).into()
}
