//! Provider `apns`: the Apple Push Notification service over HTTP/2, with tokens that a key signs.

use std::sync::{Arc, Mutex, PoisonError};

use backoffice_core::Timestamp;
use backoffice_core::config::ConfigError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::Request;
use http::header::AUTHORIZATION;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::config::ApnsConfig;
use super::message::Message;
use super::provider::{PushError, PushProvider, Target};
use super::remote::{Remote, Response, configured_address, of_configured_address};

/// The name of the provider.
pub(crate) const ID: &str = "apns";
const SECTION: &str = "push.apns";
/// Longest message, in bytes.
const MOST: usize = 4096;
/// Longest token, in characters.
const LONGEST_TOKEN: usize = 200;
/// The service accepts tokens of at most an hour, and new ones every 20 minutes.
const RENEWED: time::Duration = time::Duration::minutes(40);
/// Time for which the service keeps a message for a device that is not reachable.
const KEPT: time::Duration = time::Duration::days(1);

/// Sends with tokens that a key signs.
pub(crate) struct Apns {
    base: String,
    topic: String,
    team: String,
    header: Header,
    key: EncodingKey,
    remote: Arc<Remote>,
    /// The signed token and the end of its use.
    signed: Mutex<Option<(String, Timestamp)>>,
}

/// The body of a rejection.
#[derive(Debug, Default, Deserialize)]
struct Reason {
    #[serde(default)]
    reason: String,
    /// Milliseconds since which a token is not valid.
    timestamp: Option<i64>,
}

impl Apns {
    /// Reads the key; `None` if nothing is configured.
    ///
    /// # Errors
    /// When a setting is missing or invalid, or the file can't be read or has no key.
    pub(crate) fn new(config: &ApnsConfig, remote: Arc<Remote>) -> Result<Option<Self>, ConfigError> {
        let set = (&config.key_file, &config.key_id, &config.team_id, &config.topic);
        let (file, key_id, team, topic) = match set {
            (None, None, None, None) => return Ok(None),
            (Some(file), Some(key_id), Some(team), Some(topic)) => (file, key_id, team, topic),
            _ => {
                let message = "needs all of `key_file`, `key_id`, `team_id` and `topic`, or none";
                return Err(ConfigError::new(SECTION, message));
            }
        };
        let host = match config.sandbox {
            true => "https://api.sandbox.push.apple.com",
            false => "https://api.push.apple.com",
        };
        let base = config.base_url.as_deref().unwrap_or(host).trim_end_matches('/');
        configured_address(remote.egress(), "push.apns.base_url", base)?;
        for (name, value) in [("key_id", key_id), ("team_id", team), ("topic", topic)] {
            if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_graphic()) {
                let message = "must not be empty, and must consist of visible ASCII characters";
                return Err(ConfigError::new(format!("{SECTION}.{name}"), message));
            }
        }
        let invalid = |text: String| ConfigError::new("push.apns.key_file", format!("{}: {text}", file.display()));
        let text = std::fs::read(file).map_err(|error| invalid(error.to_string()))?;
        let key = EncodingKey::from_ec_pem(&text)
            .map_err(|_| invalid("is not a key in PEM; Apple offers it as a `.p8` file".to_owned()))?;
        let header = Header {
            kid: Some(key_id.clone()),
            ..Header::new(Algorithm::ES256)
        };
        Ok(Some(Self {
            base: base.to_owned(),
            topic: topic.clone(),
            team: team.clone(),
            header,
            key,
            remote,
            signed: Mutex::new(None),
        }))
    }

    async fn push(&self, target: Target<'_>, message: &Message) -> Result<(), PushError> {
        if !is_token(target.token) {
            return Err(PushError::Fatal("invalid_token"));
        }
        let signed = self.signed(target.now)?;
        let expires = target.now.after(KEPT).get().unix_timestamp();
        let mut request = Request::post(format!("{}/3/device/{}", self.base, target.token))
            .version(http::Version::HTTP_2)
            .header(AUTHORIZATION, format!("bearer {signed}"))
            .header("apns-id", message.id.to_string())
            .header("apns-topic", &self.topic)
            .header("apns-push-type", "alert")
            .header("apns-priority", if message.is_urgent() { "10" } else { "5" })
            .header("apns-expiration", expires.to_string());
        if let Some(topic) = &message.topic {
            request = request.header("apns-collapse-id", topic);
        }
        let request = request
            .body(message.within(MOST, body))
            .map_err(|_| PushError::Config("invalid_address"))?;
        let sent = self.remote.send_http2(request, target.now).await;
        let response = sent.map_err(of_configured_address)?;
        self.outcome(&response, target.token_updated_at)
    }

    fn signed(&self, now: Timestamp) -> Result<String, PushError> {
        let mut kept = self.signed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((token, until)) = &*kept
            && now < *until
        {
            return Ok(token.clone());
        }
        let claims = json!({"iss": self.team, "iat": now.get().unix_timestamp()});
        let token = encode(&self.header, &claims, &self.key).map_err(|_| PushError::Config("signing_failed"))?;
        *kept = Some((token.clone(), now.after(RENEWED)));
        Ok(token)
    }

    fn outcome(&self, response: &Response, registered: Option<Timestamp>) -> Result<(), PushError> {
        let given: Reason = serde_json::from_slice(&response.body).unwrap_or_default();
        let ended_later = || match (given.timestamp, registered) {
            (Some(ended), Some(registered)) => ended >= registered.unix_millis(),
            _ => true,
        };
        match (response.status.as_u16(), given.reason.as_str()) {
            (400, "BadDeviceToken") => Err(PushError::Unregistered),
            (410, _) if ended_later() => Err(PushError::Unregistered),
            // The application was installed again after the token had ended.
            (410, _) => Err(PushError::Fatal("rejected_by_provider")),
            (403, "ExpiredProviderToken") => {
                *self.signed.lock().unwrap_or_else(PoisonError::into_inner) = None;
                Err(PushError::Retry(None))
            }
            (403, _) | (400, "BadTopic" | "MissingTopic" | "TopicDisallowed") => Err(PushError::Config("rejected_key")),
            _ => response.outcome(),
        }
    }
}

/// Returns whether a text is hexadecimal, as every token is.
fn is_token(text: &str) -> bool {
    (1..=LONGEST_TOKEN).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn body(message: &Message) -> Value {
    let mut body = message.content();
    if let Some(members) = body.as_object_mut() {
        members.retain(|name, value| !matches!(name.as_str(), "title" | "body") && !value.is_null());
    }
    body["aps"] = json!({"alert": {"title": message.title, "body": message.body}, "sound": "default"});
    body
}

impl PushProvider for Apns {
    fn id(&self) -> &'static str {
        ID
    }

    fn check(&self, token: &str) -> Result<(), String> {
        match is_token(token) {
            true => Ok(()),
            false => Err(format!("must be at most {LONGEST_TOKEN} hexadecimal digits")),
        }
    }

    fn send<'a>(&'a self, target: Target<'a>, message: &'a Message) -> BoxFuture<'a, Result<(), PushError>> {
        self.push(target, message).boxed()
    }
}
