//! Errors that a client of this module can act on.

use backoffice_core::{Detail, Rejection};

/// A rejection of this module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The organization does not exist for the caller, or a key of the whole tenant would exceed the caller's organizations.
    #[error("Organization out of scope")]
    OrganizationOutOfScope,
    /// Neither the body nor the selection nor the caller determines where the key belongs.
    #[error("Organization required")]
    OrganizationRequired,
    /// A role with the super-administrator flag.
    #[error("Super administrator roles cannot be given to an API key")]
    SuperAdminRole,
    /// Another key of the tenant has the same random prefix.
    #[error("The key could not be created; try again")]
    PrefixTaken,
    /// The time of expiry is missing or out of range.
    #[error("Invalid input")]
    ExpiresAt {
        /// The broken rule.
        rule: String,
        /// The error code.
        code: &'static str,
    },
}

impl Error {
    fn rejection(&self) -> Rejection {
        let text = self.to_string();
        match self {
            Self::OrganizationOutOfScope => Rejection::forbidden(text),
            Self::OrganizationRequired => Rejection::bad_request(text).code("organization_required"),
            Self::SuperAdminRole => Rejection::bad_request(text),
            Self::PrefixTaken => Rejection::conflict(text).code("key_prefix_taken"),
            Self::ExpiresAt { rule, code } => Rejection::invalid(vec![Detail::new("expiresAt", rule.clone(), code)]),
        }
    }
}

impl From<Error> for backoffice_core::Error {
    fn from(error: Error) -> Self {
        error.rejection().into()
    }
}
