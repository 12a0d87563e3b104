//! One attempt to send a message to a device.

use backoffice_core::Timestamp;
use secrecy::ExposeSecret;

use super::Providers;
use super::message::Message;
use super::outcome::Outcome;
use super::provider::{PushError, PushProvider, Target};
use super::recipients::Recipient;
use super::webpush;

/// Time in which all processes get a new key. A subscription with another key is older, and has ended, or another process knows its key already.
const RESTARTED: time::Duration = time::Duration::hours(1);

/// Returns whether a browser subscribed with another key than that of this process.
fn has_another_key(providers: &Providers, recipient: &Recipient) -> bool {
    let subscribed = recipient.row.push_key.as_deref();
    subscribed.is_some() && subscribed != providers.webpush_key()
}

/// Returns the outcome of a message that can't be sent now.
pub(crate) fn obstacle(providers: &Providers, recipient: &Recipient, now: Timestamp) -> Option<Outcome> {
    if let Err(reason) = &recipient.token {
        return Some(Outcome::Skipped(reason));
    }
    let Some(provider) = providers.find(&recipient.provider) else {
        return Some(Outcome::Skipped("provider_not_configured"));
    };
    if provider.id() == webpush::ID && has_another_key(providers, recipient) {
        let registered = recipient.row.token_updated_at.unwrap_or(Timestamp::UNIX_EPOCH);
        return Some(match registered.after(RESTARTED) < now {
            true => Outcome::Unregistered,
            false => Outcome::Skipped("another_key"),
        });
    }
    providers.stopped_until(provider, recipient, now).map(Outcome::Stopped)
}

/// Sends a message for which there is no [`obstacle`], in at most about ten seconds. Holds no connection to the database.
pub(crate) async fn attempt(
    providers: &Providers,
    recipient: &Recipient,
    message: &Message,
    now: Timestamp,
) -> Outcome {
    let Some(provider) = providers.find(&recipient.provider) else {
        return Outcome::Skipped("provider_not_configured");
    };
    let token = match &recipient.token {
        Ok(token) => token.expose_secret(),
        Err(reason) => return Outcome::Skipped(reason),
    };
    let target = Target {
        token,
        token_updated_at: recipient.row.token_updated_at,
        now,
    };
    match provider.send(target, message).await {
        Ok(()) => {
            providers.accept(provider, recipient, now);
            Outcome::Sent
        }
        Err(PushError::Unregistered) => Outcome::Unregistered,
        Err(PushError::Retry(after)) => Outcome::Retry(after),
        Err(PushError::Fatal(reason)) => Outcome::Failed(reason),
        Err(PushError::KeyRejected(reason)) => Outcome::Stopped(providers.reject(provider, recipient, reason, now)),
        Err(PushError::Config(reason)) => Outcome::Stopped(providers.stop(provider, recipient, reason, now)),
    }
}

/// Returns the provider's name for a label of a metric: clients choose the names of providers that are not configured.
pub(crate) fn label(providers: &Providers, name: &str) -> &'static str {
    providers.find(name).map_or("unknown", PushProvider::id)
}
