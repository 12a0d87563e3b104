//! What a client of this module can act on.

use backoffice_core::{Detail, Rejection};

/// A refusal of this module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The organization does not exist for the caller, or a key of the whole tenant would be wider than the caller.
    #[error("Organization out of scope")]
    OrganizationOutOfScope,
    /// Neither the body nor the selection nor the caller says where the key belongs.
    #[error("Organization required")]
    OrganizationRequired,
    /// A role with the super-administrator flag.
    #[error("Super administrator roles cannot be given to an API key")]
    SuperAdminRole,
    /// Another key of the tenant happens to have the same prefix.
    #[error("The key could not be made, try again")]
    PrefixTaken,
    /// The end of the key's life is not where it may be.
    #[error("Invalid input")]
    ExpiresAt {
        /// What it must be.
        rule: String,
        /// Word for programs.
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
