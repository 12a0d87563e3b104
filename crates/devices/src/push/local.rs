//! The provider `log`, for development: it sends nothing.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

use super::message::Message;
use super::provider::{PushError, PushProvider, Target};

/// The name of the provider.
pub(crate) const ID: &str = "log";

/// Writes a line to the log, without token and text.
#[derive(Debug)]
pub(crate) struct Log;

impl PushProvider for Log {
    fn id(&self) -> &'static str {
        ID
    }

    fn check(&self, _token: &str) -> Result<(), String> {
        Ok(())
    }

    fn send<'a>(&'a self, _target: Target<'a>, message: &'a Message) -> BoxFuture<'a, Result<(), PushError>> {
        tracing::info!(delivery.id = %message.id, message.kind = %message.kind, "push message");
        ready(Ok(())).boxed()
    }
}
