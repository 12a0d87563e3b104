//! Provider `webhook`: signed requests (Standard Webhooks) to a gateway of one's own.

use std::sync::Arc;

use aws_lc_rs::hmac;
use backoffice_core::config::{ConfigError, read_secret};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::Request;
use http::header::CONTENT_TYPE;
use secrecy::ExposeSecret;
use serde_json::json;
use url::Url;

use super::config::PushConfig;
use super::message::Message;
use super::provider::{PushError, PushProvider, Target};
use super::remote::{Remote, configured_address};

/// The name of the provider.
pub(crate) const ID: &str = "webhook";
const ADDRESS: &str = "push.webhook_url";
const SECRET: &str = "push.webhook_secret";
const PREFIX: &str = "whsec_";

/// Sends to a gateway.
pub(crate) struct Webhook {
    url: Url,
    key: hmac::Key,
    remote: Arc<Remote>,
}

impl Webhook {
    /// Reads the address and the secret; `None` if no address is configured.
    ///
    /// # Errors
    /// When the address is not a URL, or the secret is missing, unreadable, or has another form.
    pub(crate) fn new(config: &PushConfig, remote: Arc<Remote>) -> Result<Option<Self>, ConfigError> {
        let Some(address) = &config.webhook_url else {
            return Ok(None);
        };
        let url = configured_address(remote.egress(), ADDRESS, address)?;
        let (value, file) = (config.webhook_secret.as_ref(), config.webhook_secret_file.as_ref());
        let secret = read_secret("push", "webhook_secret", value, file)?;
        let encoded = secret.expose_secret().strip_prefix(PREFIX);
        let bytes = encoded.and_then(|text| STANDARD.decode(text).ok());
        let bytes = bytes.filter(|bytes| (24..=64).contains(&bytes.len())).ok_or_else(|| {
            let message = "must be `whsec_` and 24 to 64 bytes in base64; `openssl rand -base64 32` creates them";
            ConfigError::new(SECRET, message)
        })?;
        Ok(Some(Self {
            url,
            key: hmac::Key::new(hmac::HMAC_SHA256, &bytes),
            remote,
        }))
    }

    async fn push(&self, target: Target<'_>, message: &Message) -> Result<(), PushError> {
        let mut data = message.content();
        data["token"] = json!(target.token);
        let body = json!({"type": "push.message", "timestamp": target.now, "data": data}).to_string();
        let (id, seconds) = (message.id.to_string(), target.now.get().unix_timestamp().to_string());
        let signed = hmac::sign(&self.key, format!("{id}.{seconds}.{body}").as_bytes());
        let request = Request::post(self.url.as_str())
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds)
            .header("webhook-signature", format!("v1,{}", STANDARD.encode(signed)))
            .body(body.into_bytes())
            .map_err(|_| PushError::Config("invalid_address"))?;
        self.remote.send(request, target.now).await?.outcome()
    }
}

impl PushProvider for Webhook {
    fn id(&self) -> &'static str {
        ID
    }

    fn check(&self, _token: &str) -> Result<(), String> {
        Ok(())
    }

    fn send<'a>(&'a self, target: Target<'a>, message: &'a Message) -> BoxFuture<'a, Result<(), PushError>> {
        self.push(target, message).boxed()
    }
}
