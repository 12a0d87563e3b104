//! Provider `fcm`: Firebase Cloud Messaging, HTTP v1.

use std::sync::Arc;

use backoffice_core::Timestamp;
use backoffice_core::config::ConfigError;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::Request;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use url::form_urlencoded;

use super::config::FcmConfig;
use super::message::Message;
use super::provider::{PushError, PushProvider, Target};
use super::remote::{Remote, Response, configured_address, of_configured_address};

/// The name of the provider.
pub(crate) const ID: &str = "fcm";
const CREDENTIALS: &str = "push.fcm.credentials_file";
const SCOPE: &str = "https://www.googleapis.com/auth/firebase.messaging";
/// Longest message, in bytes; the service accepts 4096 bytes of text and data.
const MOST: usize = 3800;
/// A token is replaced this long before it expires.
const EARLY: time::Duration = time::Duration::minutes(2);
/// Time for which no token is requested after a failure, so that the messages that wait for one fail together.
const PAUSE: time::Duration = time::Duration::seconds(5);

/// Sends with the rights of a service account.
pub(crate) struct Fcm {
    url: String,
    account: String,
    token_uri: String,
    key: EncodingKey,
    remote: Arc<Remote>,
    /// The outcome of the last request for an access token, and the end of its use. Held while one is fetched, so that it is fetched once.
    access: Mutex<Option<(Access, Timestamp)>>,
}

/// An access token, or the reason why there is none.
type Access = Result<String, PushError>;

/// The fields of a service account's key that are used.
#[derive(Deserialize)]
struct Account {
    project_id: String,
    client_email: String,
    private_key: String,
    #[serde(default = "google")]
    token_uri: String,
}

fn google() -> String {
    "https://oauth2.googleapis.com/token".to_owned()
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: i64,
}

impl Fcm {
    /// Reads the key of the service account; `None` if none is configured.
    ///
    /// # Errors
    /// When no request may be sent to an address, or the file can't be read or is not such a key.
    pub(crate) fn new(config: &FcmConfig, remote: Arc<Remote>) -> Result<Option<Self>, ConfigError> {
        let Some(file) = &config.credentials_file else {
            return Ok(None);
        };
        configured_address(remote.egress(), "push.fcm.base_url", &config.base_url)?;
        let invalid = |text: String| ConfigError::new(CREDENTIALS, format!("{}: {text}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| invalid(error.to_string()))?;
        let account: Account = serde_json::from_str(&text)
            .map_err(|_| invalid("is not the key of a service account; Firebase offers it as JSON".to_owned()))?;
        let key = EncodingKey::from_rsa_pem(account.private_key.as_bytes())
            .map_err(|_| invalid("`private_key` is not an RSA key in PEM".to_owned()))?;
        configured_address(remote.egress(), CREDENTIALS, &account.token_uri)?;
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.');
        if account.project_id.is_empty() || !account.project_id.chars().all(is_part) {
            return Err(invalid("`project_id` is not the id of a project".to_owned()));
        }
        let base = config.base_url.trim_end_matches('/');
        Ok(Some(Self {
            url: format!("{base}/v1/projects/{}/messages:send", account.project_id),
            account: account.client_email,
            token_uri: account.token_uri,
            key,
            remote,
            access: Mutex::new(None),
        }))
    }

    /// Sends a message. A service may end an access token before its time: a message that it rejects is sent once more with a new token.
    async fn push(&self, target: Target<'_>, message: &Message) -> Result<(), PushError> {
        let access = self.access_token(target.now).await?;
        let response = self.post(&access, target, message).await?;
        let outcome = outcome(&response);
        if response.status.as_u16() != 401 || !matches!(outcome, Err(PushError::Config(_))) {
            return outcome;
        }
        self.forget(&access).await;
        let access = self.access_token(target.now).await?;
        let response = self.post(&access, target, message).await?;
        if response.status.as_u16() == 401 {
            self.forget(&access).await;
        }
        self::outcome(&response)
    }

    async fn post(&self, access: &str, target: Target<'_>, message: &Message) -> Result<Response, PushError> {
        let body = message.within(MOST, |message| body(target.token, message));
        let request = Request::post(&self.url)
            .header(AUTHORIZATION, format!("Bearer {access}"))
            .header(CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(|_| PushError::Config("invalid_address"))?;
        let sent = self.remote.send(request, target.now).await;
        sent.map_err(of_configured_address)
    }

    /// Lets the next message fetch a new access token, unless another one has done so.
    async fn forget(&self, access: &str) {
        let mut kept = self.access.lock().await;
        kept.take_if(|(kept, _)| kept.as_ref().is_ok_and(|kept| kept == access));
    }

    /// Returns the access token, and fetches one if there is none that stays valid for a while.
    async fn access_token(&self, now: Timestamp) -> Access {
        let mut access = self.access.lock().await;
        if let Some((known, until)) = &*access
            && now < *until
        {
            return known.clone();
        }
        let (granted, lasts) = match self.grant(now).await {
            Ok(granted) => (
                Ok(granted.access_token),
                time::Duration::seconds(granted.expires_in) - EARLY,
            ),
            Err(error) => (Err(error), PAUSE),
        };
        *access = Some((granted.clone(), now.after(lasts)));
        granted
    }

    async fn grant(&self, now: Timestamp) -> Result<Granted, PushError> {
        let issued = now.get().unix_timestamp();
        let claims = json!({
            "iss": self.account, "scope": SCOPE, "aud": self.token_uri, "iat": issued, "exp": issued + 3600,
        });
        let assertion = encode(&Header::new(Algorithm::RS256), &claims, &self.key)
            .map_err(|_| PushError::Config("signing_failed"))?;
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
            .append_pair("assertion", &assertion)
            .finish();
        let request = Request::post(&self.token_uri)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form.into_bytes())
            .map_err(|_| PushError::Config("invalid_address"))?;
        let sent = self.remote.send(request, now).await;
        let response = sent.map_err(of_configured_address)?;
        match response.outcome() {
            Ok(()) => serde_json::from_slice(&response.body).map_err(|_| PushError::Retry(None)),
            Err(PushError::Retry(after)) => Err(PushError::Retry(after)),
            Err(_) => Err(PushError::Config("rejected_key")),
        }
    }
}

fn body(token: &str, message: &Message) -> Value {
    let mut data = serde_json::Map::new();
    let content = message.content();
    for name in ["notificationId", "type", "linkHref", "severity"] {
        if let Some(text) = content[name].as_str() {
            data.insert(name.to_owned(), json!(text));
        }
    }
    let mut android = json!({"ttl": "86400s", "priority": if message.is_urgent() { "high" } else { "normal" }});
    if let Some(topic) = &message.topic {
        android["collapse_key"] = json!(topic);
    }
    json!({"message": {
        "token": token, "notification": {"title": message.title, "body": message.body}, "data": data, "android": android,
    }})
}

fn outcome(response: &Response) -> Result<(), PushError> {
    let error: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let details = error["error"]["details"].as_array();
    let code = details.and_then(|details| details.iter().find_map(|detail| detail["errorCode"].as_str()));
    match (response.status.as_u16(), code) {
        (_, Some("UNREGISTERED" | "SENDER_ID_MISMATCH")) => Err(PushError::Unregistered),
        // The service behind the token, such as APNs, rejects the keys that the project has for it.
        (_, Some("THIRD_PARTY_AUTH_ERROR")) => Err(PushError::KeyRejected("rejected_key")),
        (401 | 403, _) => Err(PushError::Config("rejected_key")),
        (404, _) => Err(PushError::Config("unknown_project")),
        _ => response.outcome(),
    }
}

impl PushProvider for Fcm {
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
