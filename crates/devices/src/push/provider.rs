//! What all providers of push messages have in common.

use std::time::Duration;

use backoffice_core::Timestamp;
use futures_util::future::BoxFuture;

use super::message::Message;

/// A provider of push messages.
pub(crate) trait PushProvider: Send + Sync {
    /// The name that devices are registered with.
    fn id(&self) -> &'static str;

    /// Checks that a text may be a token of this provider, without a request to the provider.
    ///
    /// # Errors
    /// The rule that the text violates, for the client.
    fn check(&self, token: &str) -> Result<(), String>;

    /// Returns the service that the token belongs to, if the provider is several services that accept or reject keys independently of each other.
    fn service(&self, _token: &str) -> Option<String> {
        None
    }

    /// Sends a message, in at most ten seconds.
    ///
    /// # Errors
    /// Why the provider did not accept it.
    fn send<'a>(&'a self, target: Target<'a>, message: &'a Message) -> BoxFuture<'a, Result<(), PushError>>;
}

/// The device that a message is for. It has no `Debug`, because a token must not be logged.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The token.
    pub(crate) token: &'a str,
    /// The time at which the device registered the token.
    pub(crate) token_updated_at: Option<Timestamp>,
    /// The present instant.
    pub(crate) now: Timestamp,
}

/// Why a provider did not accept a message. The codes are stored with the delivery and contain nothing of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PushError {
    /// The token is no longer valid: the device loses it.
    Unregistered,
    /// A later attempt may succeed, at the earliest after this time.
    Retry(Option<Duration>),
    /// No attempt with this message and token will succeed.
    Fatal(&'static str),
    /// The service rejects the keys of the platform for this token: they are wrong, or the client registered a token that belongs to other keys.
    KeyRejected(&'static str),
    /// The keys or settings of the provider are wrong: no message will be accepted until an operator has repaired them.
    Config(&'static str),
}
