//! Subscriptions of browsers, as `PushSubscription.toJSON()` of the Push API writes them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use url::Url;

/// A subscription. It has no `Debug`, because it is a token.
pub(crate) struct Subscription {
    endpoint: Url,
    public_key: Vec<u8>,
    secret: Vec<u8>,
}

#[derive(Deserialize)]
struct Document {
    endpoint: String,
    keys: Keys,
}

#[derive(Deserialize)]
struct Keys {
    p256dh: String,
    auth: String,
}

/// Bytes of a public key: a point of P-256 that is not compressed.
const PUBLIC_KEY: usize = 65;
/// Bytes of the shared secret.
const SECRET: usize = 16;

impl Subscription {
    /// Reads a subscription.
    ///
    /// # Errors
    /// The rule that the text violates. It contains nothing of the text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let document: Document = serde_json::from_str(text)
            .map_err(|_| "must be the JSON of a PushSubscription: {endpoint, keys: {p256dh, auth}}".to_owned())?;
        let endpoint = Url::parse(&document.endpoint).map_err(|_| "the endpoint must be a URL".to_owned())?;
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).unwrap_or_default();
        let (public_key, secret) = (decode(&document.keys.p256dh), decode(&document.keys.auth));
        if public_key.len() != PUBLIC_KEY || public_key.first() != Some(&4) {
            return Err("keys.p256dh must be a public key of 65 bytes in base64url".to_owned());
        }
        if secret.len() != SECRET {
            return Err("keys.auth must be 16 bytes in base64url".to_owned());
        }
        Ok(Self {
            endpoint,
            public_key,
            secret,
        })
    }

    /// Returns the address of the push service.
    pub(crate) const fn endpoint(&self) -> &Url {
        &self.endpoint
    }

    /// Returns the public key of the browser.
    pub(super) fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    /// Returns the secret that the browser shares with the sender.
    pub(super) fn secret(&self) -> &[u8] {
        &self.secret
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rejection(text: &str) -> String {
        Subscription::parse(text).err().unwrap_or_default()
    }

    #[test]
    fn only_the_json_of_a_subscription_is_accepted() {
        let key = URL_SAFE_NO_PAD.encode([4; PUBLIC_KEY]);
        let keys = |p256dh: &str, auth: &str| {
            json!({"endpoint": "https://push.example/a", "keys": {"p256dh": p256dh, "auth": auth}}).to_string()
        };

        assert_eq!(rejection(&keys(&key, "AAAAAAAAAAAAAAAAAAAAAA")), "");
        assert_eq!(rejection(&keys(&format!("{key}="), "AAAAAAAAAAAAAAAAAAAAAA==")), "");
        for (text, part) in [
            ("a-token".to_owned(), "PushSubscription"),
            (
                json!({"endpoint": "https://push.example/a"}).to_string(),
                "PushSubscription",
            ),
            (keys("AAAA", "AAAAAAAAAAAAAAAAAAAAAA"), "p256dh"),
            (
                keys(&URL_SAFE_NO_PAD.encode([3; PUBLIC_KEY]), "AAAAAAAAAAAAAAAAAAAAAA"),
                "p256dh",
            ),
            (keys(&key, "AAAA"), "keys.auth"),
            (keys(&key, "AAAAAAAAAAAAAAAAAAAAAA").replace("https://", ""), "endpoint"),
        ] {
            let rejected = rejection(&text);
            assert!(rejected.contains(part), "{text}: {rejected}");
        }
    }
}
