//! Errors that a client of this module can act on.

use actix_web::http::StatusCode;
use backoffice_core::{Detail, Rejection};

/// A rejection of this module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The user does not exist for the caller.
    #[error("User not found")]
    UserNotFound,
    /// A live user of the tenant has the address.
    #[error("Email already in use")]
    EmailAlreadyExists,
    /// The tenant has no role of this name that the caller may see.
    #[error("The role does not exist in this tenant")]
    RoleMissing,
    /// Callers do not change their own role.
    #[error("You cannot change your own role")]
    CannotChangeOwnRole,
    /// Callers do not deactivate themselves.
    #[error("You cannot deactivate your own account")]
    CannotDisableSelf,
    /// The user is an administrator.
    #[error("Administrators cannot be changed here")]
    RoleNotAssignable,
    /// The user has a password.
    #[error("User already has a password")]
    UserAlreadyActive,
    /// The user is deactivated.
    #[error("User is deactivated")]
    UserDisabled,
    /// The public URL or the transport of mails is not configured.
    #[error("Invitation email is not configured")]
    InviteOriginNotConfigured,
}

impl Error {
    pub(crate) fn rejection(self) -> Rejection {
        let text = self.to_string();
        match self {
            Self::UserNotFound => Rejection::not_found(text).code("user_not_found"),
            Self::EmailAlreadyExists => Rejection::bad_request(text)
                .code("email_already_exists")
                .detail(Detail::new("email", "is already in use", "email_already_exists")),
            Self::RoleMissing => Rejection::bad_request(text).code("invalid_role").detail(Detail::new(
                "role",
                "does not exist in this tenant",
                "invalid_role",
            )),
            Self::CannotChangeOwnRole => Rejection::bad_request(text).code("cannot_change_own_role"),
            Self::CannotDisableSelf => Rejection::bad_request(text).code("cannot_disable_self"),
            Self::RoleNotAssignable => Rejection::bad_request(text).code("role_not_assignable"),
            Self::UserAlreadyActive => Rejection::conflict(text).code("user_already_active"),
            Self::UserDisabled => Rejection::conflict(text).code("user_disabled"),
            Self::InviteOriginNotConfigured => {
                Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, text).code("invite_origin_not_configured")
            }
        }
    }
}

impl From<Error> for backoffice_core::Error {
    fn from(error: Error) -> Self {
        error.rejection().into()
    }
}

/// Gives the rejection of rights that the caller does not hold the code of this module.
pub(crate) fn grantable<T>(outcome: backoffice_core::Result<T>) -> backoffice_core::Result<T> {
    outcome.map_err(|error| match error {
        backoffice_core::Error::Rejected(rejection) if rejection.status == StatusCode::FORBIDDEN => {
            rejection.code("role_not_grantable").into()
        }
        other => other,
    })
}

/// Gives the rejection of a user that a command did not find the code of this module.
pub(crate) fn found<T>(outcome: backoffice_core::Result<T>) -> backoffice_core::Result<T> {
    outcome.map_err(|error| match error {
        backoffice_core::Error::Rejected(rejection) if rejection.status == StatusCode::NOT_FOUND => {
            Error::UserNotFound.into()
        }
        other => other,
    })
}
