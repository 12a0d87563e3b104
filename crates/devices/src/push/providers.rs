//! The configured providers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use backoffice_core::config::ConfigError;
use backoffice_core::{Rejection, Result, Timestamp};
use backoffice_egress::Egress;
use secrecy::ExposeSecret;

use super::apns::{self, Apns};
use super::config::{PushConfig, PushDefaults};
use super::fcm::{self, Fcm};
use super::local::{self, Log};
use super::provider::PushProvider;
use super::recipients::Recipient;
use super::rejections::{Rejections, Service, TokenKey};
use super::remote::Remote;
use super::webhook::{self, Webhook};
use super::webpush::{self, Vapid, WebPush};

/// The configured providers.
pub(crate) struct Providers {
    all: Vec<Box<dyn PushProvider>>,
    defaults: [(&'static str, String); 3],
    vapid: Option<Arc<Vapid>>,
    rejections: Mutex<Rejections>,
}

impl Providers {
    /// Creates the configured providers; `log` is always one of them.
    ///
    /// # Errors
    /// Names the invalid setting.
    pub(crate) fn new(config: &PushConfig, egress: Egress, public_url: Option<&str>) -> Result<Self, ConfigError> {
        let remote = Arc::new(Remote::new(egress));
        let subject = config.webpush.subject.as_deref();
        let vapid = Vapid::new(&config.webpush.keys, subject, public_url)?.map(Arc::new);
        let mut all: Vec<Box<dyn PushProvider>> = vec![Box::new(Log)];
        if let Some(vapid) = &vapid {
            all.push(Box::new(WebPush::new(Arc::clone(vapid), Arc::clone(&remote))));
        }
        if let Some(fcm) = Fcm::new(&config.fcm, Arc::clone(&remote))? {
            all.push(Box::new(fcm));
        }
        if let Some(apns) = Apns::new(&config.apns, Arc::clone(&remote))? {
            all.push(Box::new(apns));
        }
        if let Some(webhook) = Webhook::new(config, remote)? {
            all.push(Box::new(webhook));
        }
        Ok(Self {
            defaults: defaults(&config.default, &all)?,
            all,
            vapid,
            rejections: Mutex::default(),
        })
    }

    /// Returns the names of the configured providers, in alphabetical order.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = self.all.iter().map(|one| one.id()).collect();
        names.sort_unstable();
        names
    }

    /// Returns a provider, if it is configured.
    pub(crate) fn find(&self, name: &str) -> Option<&dyn PushProvider> {
        self.all.iter().find(|one| one.id() == name).map(AsRef::as_ref)
    }

    /// Returns the provider of devices of a platform that are registered without one.
    pub(crate) fn default_of(&self, platform: &str) -> &str {
        let found = self.defaults.iter().find(|(name, _)| *name == platform);
        found.map_or(local::ID, |(_, provider)| provider)
    }

    /// Returns the provider of a device: its own one, or else the default of its platform.
    pub(crate) fn of_device<'a>(&'a self, own: Option<&'a str>, platform: &str) -> &'a str {
        own.unwrap_or_else(|| self.default_of(platform))
    }

    /// Returns the platforms whose devices have this provider if they have no provider of their own.
    pub(crate) fn platforms_of(&self, provider: &str) -> Vec<&'static str> {
        let found = self.defaults.iter().filter(|(_, default)| default == provider);
        found.map(|(platform, _)| *platform).collect()
    }

    /// Returns the name of the key with which browsers subscribe.
    pub(crate) fn webpush_key(&self) -> Option<&str> {
        self.vapid.as_ref().map(|vapid| vapid.kid())
    }

    /// Returns the public key with which browsers subscribe.
    pub(crate) fn vapid_public_key(&self) -> Option<&str> {
        self.vapid.as_ref().map(|vapid| vapid.public_key())
    }

    /// Returns the rule for tokens of a provider that a text violates; `None` for a provider that is not configured, whose rules are not known.
    pub(crate) fn broken_rule(&self, name: &str, token: &str) -> Option<String> {
        self.find(name)?.check(token).err()
    }

    /// Rejects a text that can't be a token of a provider.
    ///
    /// # Errors
    /// 400.
    pub(crate) fn check(&self, name: &str, token: &str) -> Result<()> {
        match self.broken_rule(name, token) {
            Some(rule) => Err(Rejection::invalid_field("pushToken", rule, "invalid_value").into()),
            None => Ok(()),
        }
    }

    /// Returns the end of the time for which a device gets no message, because its service has rejected the keys.
    pub(crate) fn stopped_until(
        &self,
        provider: &dyn PushProvider,
        recipient: &Recipient,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let (service, token) = (service(provider, recipient), token_key(provider, recipient));
        self.rejections().stopped_until(&service, &token, now)
    }

    /// Notes that the service of a device has accepted a message.
    pub(crate) fn accept(&self, provider: &dyn PushProvider, recipient: &Recipient, now: Timestamp) {
        self.rejections().accept(service(provider, recipient), now);
    }

    /// Stops the messages to the service of a device, which rejects the keys of this process whatever the token, and returns until when.
    pub(crate) fn stop(
        &self,
        provider: &dyn PushProvider,
        recipient: &Recipient,
        reason: &'static str,
        now: Timestamp,
    ) -> Timestamp {
        self.rejections().stop(service(provider, recipient), reason, now)
    }

    /// Stops the messages to a device, for whose token its service rejects the keys of this process, and returns until when.
    pub(crate) fn reject(
        &self,
        provider: &dyn PushProvider,
        recipient: &Recipient,
        reason: &'static str,
        now: Timestamp,
    ) -> Timestamp {
        let (service, token) = (service(provider, recipient), token_key(provider, recipient));
        self.rejections()
            .reject(service, (recipient.tenant, token), reason, now)
    }

    fn rejections(&self) -> MutexGuard<'_, Rejections> {
        self.rejections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the service that a device belongs to.
fn service(provider: &dyn PushProvider, recipient: &Recipient) -> Service {
    let token = recipient.token.as_ref().ok().map(ExposeSecret::expose_secret);
    (provider.id(), token.and_then(|token| provider.service(token)))
}

fn token_key(provider: &dyn PushProvider, recipient: &Recipient) -> TokenKey {
    (provider.id(), recipient.row.token_hash.clone().unwrap_or_default())
}

/// Returns the provider of each platform: the chosen one, or else the platform's own, a gateway, or `log`.
fn defaults(chosen: &PushDefaults, all: &[Box<dyn PushProvider>]) -> Result<[(&'static str, String); 3], ConfigError> {
    let is_configured = |name: &str| all.iter().any(|one| one.id() == name);
    let default = |platform: &'static str, chosen: &Option<String>, own: &[&str]| {
        if let Some(name) = chosen {
            if !is_configured(name) {
                let message = format!("the provider `{name}` is unknown or not configured");
                return Err(ConfigError::new(format!("push.default.{platform}"), message));
            }
            return Ok((platform, name.clone()));
        }
        let found = own
            .iter()
            .chain(&[webhook::ID, local::ID])
            .find(|name| is_configured(name));
        Ok((platform, found.copied().unwrap_or(local::ID).to_owned()))
    };
    Ok([
        default("ios", &chosen.ios, &[apns::ID, fcm::ID])?,
        default("android", &chosen.android, &[fcm::ID])?,
        default("web", &chosen.web, &[webpush::ID])?,
    ])
}

#[cfg(test)]
mod tests {
    use backoffice_egress::EgressConfig;
    use serde_json::{Value, json};

    use super::*;

    fn providers(section: Value) -> std::result::Result<Providers, ConfigError> {
        let config: PushConfig = serde_json::from_value(section).expect("the form of the section");
        Providers::new(&config, Egress::new(EgressConfig::default()).expect("valid"), None)
    }

    #[test]
    fn wrong_settings_are_named() {
        let hook = "https://hook.example/";
        let apns = |name: &str, value: &str| {
            let mut apns = json!({"key_file": "/missing.p8", "key_id": "A", "team_id": "B", "topic": "c"});
            apns[name] = json!(value);
            json!({"apns": apns})
        };
        for (section, key) in [
            (json!({"default": {"web": "fcm"}}), "push.default.web"),
            (json!({"default": {"ios": "unknown"}}), "push.default.ios"),
            (json!({"webhook_url": "https://10.0.0.1/"}), "push.webhook_url"),
            (json!({"webhook_url": "hook"}), "push.webhook_url"),
            (json!({"webhook_url": hook}), "push"),
            (
                json!({"webhook_url": hook, "webhook_secret": "short"}),
                "push.webhook_secret",
            ),
            (json!({"apns": {"key_id": "A"}}), "push.apns"),
            (apns("key_id", ""), "push.apns.key_id"),
            (apns("team_id", "a b"), "push.apns.team_id"),
            (apns("topic", "a\nb"), "push.apns.topic"),
            (apns("base_url", "api.push.apple.com"), "push.apns.base_url"),
            (
                apns("base_url", "https://api.push.apple.com:2197"),
                "push.apns.base_url",
            ),
            (apns("topic", "example.office"), "push.apns.key_file"),
            (
                json!({"fcm": {"credentials_file": "/missing.json", "base_url": "https://10.1.1.1"}}),
                "push.fcm.base_url",
            ),
            (
                json!({"fcm": {"credentials_file": "/missing.json"}}),
                "push.fcm.credentials_file",
            ),
            (
                json!({"webpush": {"keys": [{"kid": "a", "secret": "short"}]}}),
                "push.webpush.keys (a)",
            ),
        ] {
            let rejected = providers(section.clone()).err().map(|error| error.key);
            assert_eq!(rejected.as_deref(), Some(key), "{section}");
        }
    }

    #[test]
    fn a_stopped_service_does_not_stop_others() {
        let secret = "0123456789012345678901234567890123456789";
        let all = providers(json!({"webpush": {"keys": [{"kid": "a", "secret": secret}]}})).expect("valid");
        let (provider, now) = (all.find(webpush::ID).expect("configured"), Timestamp::UNIX_EPOCH);
        let recipient = |host: &str| {
            let point = format!("B{}", "A".repeat(86));
            let keys = json!({"p256dh": point, "auth": "AAAAAAAAAAAAAAAAAAAAAA"});
            let token = json!({"endpoint": format!("https://{host}.example/a"), "keys": keys}).to_string();
            Recipient::for_test(webpush::ID, token)
        };

        let until = all.stop(provider, &recipient("one"), "rejected_key", now);

        let stopped = |host: &str, now: Timestamp| all.stopped_until(provider, &recipient(host), now);
        assert_eq!(stopped("one", now), Some(until));
        assert_eq!(stopped("other", now), None);
        assert_eq!(stopped("one", until), None);
        all.accept(provider, &recipient("one"), now);
        assert_eq!(stopped("one", now), None);
    }
}
