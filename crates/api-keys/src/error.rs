//! Errors that a client of this module can act on.

use backoffice_core::{Rejection, Timestamp};

/// A rejection of this module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A role with the super-administrator flag.
    #[error("Super administrator roles cannot be given to an API key")]
    SuperAdminRole,
    /// Another key of the tenant has the same random prefix.
    #[error("The key could not be created; try again")]
    PrefixTaken,
    /// A key can't outlive the key that creates it.
    #[error("Invalid input")]
    OutlivesCreator {
        /// The expiry of the key that creates this one.
        latest: Timestamp,
    },
}

impl Error {
    fn rejection(&self) -> Rejection {
        let text = self.to_string();
        match self {
            Self::SuperAdminRole => Rejection::bad_request(text),
            Self::PrefixTaken => Rejection::conflict(text).code("key_prefix_taken"),
            Self::OutlivesCreator { latest } => {
                let rule = format!("must be at most {latest}, the expiry of the key that creates it");
                Rejection::invalid_field("expiresAt", rule, "out_of_range")
            }
        }
    }
}

impl From<Error> for backoffice_core::Error {
    fn from(error: Error) -> Self {
        error.rejection().into()
    }
}
