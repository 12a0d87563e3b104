//! Provider `webpush`: RFC 8030 with encrypted messages (RFC 8291) and a signed identification of the sender (RFC 8292).

mod encryption;
mod subscription;
mod vapid;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::Request;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};

use super::message::Message;
use super::provider::{PushError, PushProvider, Target};
use super::remote::Remote;
pub(crate) use subscription::Subscription;
pub(crate) use vapid::Vapid;

/// The name of the provider.
pub(crate) const ID: &str = "webpush";
/// Seconds for which a push service keeps a message for a device that is not reachable.
const TTL: &str = "86400";
/// Longest message, in bytes: what remains of the 4096 bytes of a request that every push service accepts (RFC 8291, section 4).
const MOST: usize = 3993;

/// Sends to the push services of browsers.
pub(crate) struct WebPush {
    vapid: Arc<Vapid>,
    remote: Arc<Remote>,
}

impl WebPush {
    pub(crate) fn new(vapid: Arc<Vapid>, remote: Arc<Remote>) -> Self {
        Self { vapid, remote }
    }

    async fn push(&self, target: Target<'_>, message: &Message) -> Result<(), PushError> {
        let subscription = Subscription::parse(target.token).map_err(|_| PushError::Fatal("invalid_token"))?;
        let text = message.within(MOST, Message::content);
        let encrypted =
            encryption::encrypt(&subscription, &text).map_err(|_| PushError::Fatal("invalid_subscription"))?;
        let authorization = self.vapid.authorization(subscription.endpoint(), target.now);
        let authorization = authorization.ok_or(PushError::Config("signing_failed"))?;
        let urgency = if message.is_urgent() { "high" } else { "normal" };
        let mut request = Request::post(subscription.endpoint().as_str())
            .header(AUTHORIZATION, authorization)
            .header(CONTENT_TYPE, "application/octet-stream")
            .header(CONTENT_ENCODING, "aes128gcm")
            .header("ttl", TTL)
            .header("urgency", urgency);
        if let Some(topic) = &message.topic {
            request = request.header("topic", topic);
        }
        let request = request
            .body(encrypted)
            .map_err(|_| PushError::Fatal("invalid_address"))?;
        let response = self.remote.send(request, target.now).await?;
        match response.status.as_u16() {
            404 | 410 => Err(PushError::Unregistered),
            401 | 403 => Err(PushError::KeyRejected("rejected_key")),
            _ => response.outcome(),
        }
    }
}

impl PushProvider for WebPush {
    fn id(&self) -> &'static str {
        ID
    }

    fn check(&self, token: &str) -> Result<(), String> {
        let subscription = Subscription::parse(token)?;
        let checked = self.remote.egress().check(subscription.endpoint());
        checked.map_err(|reason| format!("the endpoint can't be used: {reason}"))
    }

    /// Clients choose the push service: one that rejects the keys must not stop the messages to others.
    fn service(&self, token: &str) -> Option<String> {
        let subscription = Subscription::parse(token).ok()?;
        Some(subscription.endpoint().origin().ascii_serialization())
    }

    fn send<'a>(&'a self, target: Target<'a>, message: &'a Message) -> BoxFuture<'a, Result<(), PushError>> {
        self.push(target, message).boxed()
    }
}
