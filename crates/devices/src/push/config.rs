//! Section `push` of the configuration.

use std::path::PathBuf;

use backoffice_core::config::SecretKey;
use secrecy::SecretString;
use serde::Deserialize;

/// Section `push`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PushConfig {
    /// The providers of devices that are registered without one.
    pub default: PushDefaults,
    /// Provider `webpush`: browsers.
    pub webpush: WebPushConfig,
    /// Provider `fcm`: Firebase Cloud Messaging.
    pub fcm: FcmConfig,
    /// Provider `apns`: the Apple Push Notification service.
    pub apns: ApnsConfig,
    /// Provider `webhook`: the address to which messages are sent. Default: none.
    pub webhook_url: Option<String>,
    /// The secret that signs these requests: `whsec_` and 24 to 64 bytes in base64.
    pub webhook_secret: Option<SecretString>,
    /// A file with that secret.
    pub webhook_secret_file: Option<PathBuf>,
}

/// Section `push.default`. By default the configured provider of the platform: `apns`, `fcm` or `webpush`, else `webhook`, else `log`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PushDefaults {
    /// The provider of devices of platform `ios`.
    pub ios: Option<String>,
    /// The provider of devices of platform `android`.
    pub android: Option<String>,
    /// The provider of devices of platform `web`.
    pub web: Option<String>,
}

/// Section `push.webpush`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebPushConfig {
    /// The key that identifies the platform to push services; only the first one is used. Created by `init`.
    pub keys: Vec<SecretKey>,
    /// The contact for push services, `mailto:` or `https://`. Default: `app.public_url` if it is an https address.
    pub subject: Option<String>,
}

/// Section `push.fcm`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FcmConfig {
    /// The file with the key of a service account, as Firebase offers it. Default: none.
    pub credentials_file: Option<PathBuf>,
    /// The address of the service. Default `https://fcm.googleapis.com`.
    pub base_url: String,
}

impl Default for FcmConfig {
    fn default() -> Self {
        Self {
            credentials_file: None,
            base_url: "https://fcm.googleapis.com".to_owned(),
        }
    }
}

/// Section `push.apns`. Either none or all of `key_file`, `key_id`, `team_id` and `topic` are set.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApnsConfig {
    /// The file with the signing key (`.p8`).
    pub key_file: Option<PathBuf>,
    /// The id of that key.
    pub key_id: Option<String>,
    /// The id of the team.
    pub team_id: Option<String>,
    /// The id of the application.
    pub topic: Option<String>,
    /// Whether messages go to the sandbox. Default false.
    pub sandbox: bool,
    /// The address of the service. Default: that of Apple.
    pub base_url: Option<String>,
}
