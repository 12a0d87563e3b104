//! Callers of tests that run without the module of accounts.

use backoffice_core::identity::{Authenticated, Authenticator, Credential, Identity};
use backoffice_core::{Result, Runtime, Timestamp};
use futures_util::future::BoxFuture;

/// A substitute for the module that authenticates users. The function returns the identity of a bearer token, or `None` if the token is invalid.
pub struct Tokens<F>(pub F);

impl<F> Authenticator for Tokens<F>
where
    F: Fn(&str) -> Option<Identity> + Send + Sync + 'static,
{
    fn accepts(&self, credential: Credential<'_>) -> bool {
        matches!(credential, Credential::Bearer(_))
    }

    fn authenticate<'a>(
        &'a self,
        _runtime: &'a Runtime,
        credential: Credential<'a>,
        _now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Authenticated>>> {
        let identity = match credential {
            Credential::Bearer(token) => (self.0)(token),
            _ => None,
        };
        Box::pin(async move { Ok(identity.map(Authenticated::from)) })
    }
}
