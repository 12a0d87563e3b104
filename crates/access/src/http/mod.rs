//! The endpoints.

mod activity;
mod invitations;
mod items;
mod role;
mod users;

use backoffice_core::http::Routes;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Error as CoreError, RequestContext, Result};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::error::Error;

pub(crate) const RATE_LIMITS: &[RateLimit] = &[
    invitations::INVITE_BY_ACTOR,
    invitations::INVITE_BY_ADDRESS,
    invitations::RESEND_BY_TARGET,
];

pub(crate) fn routes(routes: &mut Routes) {
    users::routes(routes);
    invitations::routes(routes);
    role::routes(routes);
    activity::routes(routes);
}

/// Path of a user.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct UserPath {
    /// The id.
    #[param(value_type = Uuid)]
    id: String,
}

impl UserPath {
    /// Returns the id; a malformed one is the id of no user.
    fn id(&self) -> Result<Uuid, CoreError> {
        self.id.parse().map_err(|_| Error::UserNotFound.into())
    }
}

/// Returns whether mails with links can be sent, before anything is written.
fn check_configured(ctx: &RequestContext) -> Result<(), Error> {
    match backoffice_auth::is_mail_configured(ctx.call()) {
        true => Ok(()),
        false => Err(Error::InviteOriginNotConfigured),
    }
}
