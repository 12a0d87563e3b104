//! The endpoints. All are public.

mod resend;
mod status;
mod submit;
mod verify;

use std::sync::Arc;

use backoffice_core::http::Routes;
use backoffice_core::identity::Identity;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Call, Rejection, RequestContext, Result};

use crate::mail_limits::{MAIL_BY_ADDRESS, MAIL_BY_ADDRESS_AND_DAY};
use crate::query;
use crate::sign_up::SignUp;

pub(crate) use status::{STATUS_COOKIE, cookie_token};

/// The limits that this module counts.
pub(crate) const RATE_LIMITS: &[RateLimit] = &[
    submit::SUBMIT_BY_IP,
    verify::VERIFY_BY_IP,
    status::STATUS_BY_IP,
    resend::RESEND_BY_IP,
    MAIL_BY_ADDRESS,
    MAIL_BY_ADDRESS_AND_DAY,
];

pub(crate) fn routes(routes: &mut Routes) {
    submit::routes(routes);
    status::routes(routes);
    verify::routes(routes);
    resend::routes(routes);
}

/// Returns the module's state; 404 if persons may not sign up. Handlers call it before they look at their input, which may be invalid.
fn enabled(call: &Call) -> Result<Arc<SignUp>> {
    let sign_up: Arc<SignUp> = call.provided()?;
    match sign_up.config.enabled {
        true => Ok(sign_up),
        false => Err(Rejection::not_found("Not found").into()),
    }
}

/// Returns the context in which the platform itself writes requests, with the origin of this call.
fn system(call: &Call) -> RequestContext {
    RequestContext::new(call.clone(), Arc::new(Identity::system()), query::scope())
}
