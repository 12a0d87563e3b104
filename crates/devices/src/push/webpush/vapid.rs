//! Identification of the sender to push services (RFC 8292).

use aws_lc_rs::agreement::{ECDH_P256, PrivateKey};
use aws_lc_rs::hmac;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use backoffice_core::Timestamp;
use backoffice_core::config::{ConfigError, SecretKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use secrecy::ExposeSecret;
use serde::Serialize;
use url::Url;

/// The setting with the keys.
const KEYS: &str = "push.webpush.keys";
/// The setting with the contact of the sender.
const SUBJECT: &str = "push.webpush.subject";
/// Lifetime of a signed identification; push services accept a day at most.
const LIFETIME: time::Duration = time::Duration::hours(12);

/// The key with which the platform identifies itself.
#[derive(Debug)]
pub(crate) struct Vapid {
    kid: String,
    public: String,
    signing: EncodingKey,
    subject: Option<String>,
}

/// The claims, in the order of the RFC.
#[derive(Serialize)]
struct Claims<'a> {
    aud: String,
    exp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<&'a str>,
}

impl Vapid {
    /// Derives the key from the first secret; `None` without keys. `public_url` stands in for the subject if it is an https address.
    ///
    /// # Errors
    /// When a secret is too short or can't be read, or the subject is neither an https address nor a mail address.
    pub(crate) fn new(
        keys: &[SecretKey],
        subject: Option<&str>,
        public_url: Option<&str>,
    ) -> Result<Option<Self>, ConfigError> {
        let named = SecretKey::named(KEYS, keys)?;
        let is_contact = |text: &str| text.starts_with("https://") || text.starts_with("mailto:");
        if subject.is_some_and(|subject| !is_contact(subject)) {
            return Err(ConfigError::new(
                SUBJECT,
                "must begin with `mailto:` or `https://`, for example `mailto:office@example.com`",
            ));
        }
        let Some((kid, secret)) = named.into_iter().next() else {
            return Ok(None);
        };
        let derived = derive(secret.expose_secret().as_bytes());
        let (public, signing) =
            derived.ok_or_else(|| ConfigError::new(KEYS, "no key can be derived from the secret"))?;
        let subject = subject.or(public_url.filter(|url| is_contact(url))).map(str::to_owned);
        Ok(Some(Self {
            kid,
            public: URL_SAFE_NO_PAD.encode(public),
            signing,
            subject,
        }))
    }

    /// Returns the name of the key.
    pub(crate) fn kid(&self) -> &str {
        &self.kid
    }

    /// Returns the public key, with which browsers subscribe: a point that is not compressed, in base64url.
    pub(crate) fn public_key(&self) -> &str {
        &self.public
    }

    /// Returns the value of the header `Authorization` for the push service of an endpoint.
    pub(super) fn authorization(&self, endpoint: &Url, now: Timestamp) -> Option<String> {
        let claims = Claims {
            aud: endpoint.origin().ascii_serialization(),
            exp: now.after(LIFETIME).get().unix_timestamp(),
            sub: self.subject.as_deref(),
        };
        let token = encode(&Header::new(Algorithm::ES256), &claims, &self.signing).ok()?;
        Some(format!("vapid t={token}, k={}", self.public))
    }
}

/// Derives a pair of keys from a secret, so that a secret may be any text and serves one purpose only. Returns the public key and the key that signs.
fn derive(secret: &[u8]) -> Option<(Vec<u8>, EncodingKey)> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    // A code is a private key unless it is 0 or not below the order of the curve, of which the probability is 2^-32.
    let private = (0..=u8::MAX).find_map(|number| {
        let code = hmac::sign(&key, &[b"push.webpush.keys P-256 ".as_slice(), &[number]].concat());
        let private = PrivateKey::from_private_key(&ECDH_P256, code.as_ref()).ok()?;
        Some((code, private))
    });
    let (code, private) = private?;
    let public = private.compute_public_key().ok()?.as_ref().to_vec();
    let signing = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let pair = EcdsaKeyPair::from_private_key_and_public_key(signing, code.as_ref(), &public).ok()?;
    let document = pair.to_pkcs8v1().ok()?;
    Some((public, EncodingKey::from_ec_der(document.as_ref())))
}

#[cfg(test)]
mod tests {
    use p256::ecdsa::signature::Verifier;
    use p256::ecdsa::{Signature, VerifyingKey};

    use super::*;

    /// Verifies a signed token with an implementation that the module does not use, and returns its claims.
    fn verified(authorization: &str) -> String {
        let (token, key) = authorization
            .strip_prefix("vapid t=")
            .and_then(|rest| rest.split_once(", k="))
            .expect("a form");
        let (signed, signature) = token.rsplit_once('.').expect("a token");
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).expect("base64url");
        let key = VerifyingKey::from_sec1_bytes(&decode(key)).expect("a key");
        let signature = Signature::from_slice(&decode(signature)).expect("a signature");
        key.verify(signed.as_bytes(), &signature).expect("a valid signature");
        String::from_utf8(decode(signed.split_once('.').expect("a token").1)).expect("a text")
    }

    fn key(kid: &str, secret: &str) -> SecretKey {
        SecretKey {
            kid: kid.to_owned(),
            secret: Some(secret.to_owned().into()),
            secret_file: None,
        }
    }

    const SECRET: &str = "0123456789012345678901234567890123456789";

    #[test]
    fn the_example_of_rfc_8292_verifies_and_has_the_claims_that_are_signed_here() {
        let example = "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1\
            YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA, \
            k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs";
        let claims = verified(example);
        let vapid = Vapid::new(&[key("a", SECRET)], Some("mailto:push@example.com"), None);
        let vapid = vapid.expect("valid").expect("a key");
        let endpoint = Url::parse("https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV").expect("a URL");
        let expires = Timestamp::UNIX_EPOCH.after(time::Duration::seconds(1453523768));

        let own = vapid
            .authorization(&endpoint, expires.before(LIFETIME))
            .expect("signed");

        assert_eq!(verified(&own), claims);
        assert_eq!(own.split('.').next(), example.split('.').next(), "the header");
    }

    #[test]
    fn each_secret_has_a_key_of_its_own_and_no_debug_output_shows_it() {
        let keys = |first: &str| [key("new", first), key("old", SECRET)];
        let other = "abcdefghijabcdefghijabcdefghijabcdefghij";
        let vapid = |first: &str| {
            Vapid::new(&keys(first), None, Some("https://office.example"))
                .expect("valid")
                .expect("a key")
        };

        assert_eq!(vapid(other).public_key(), vapid(other).public_key());
        assert_ne!(
            vapid(other).public_key(),
            vapid("0123456789012345678901234567890123456780").public_key()
        );
        assert_eq!(
            URL_SAFE_NO_PAD
                .decode(vapid(other).public_key())
                .expect("base64url")
                .len(),
            65
        );
        assert!(!format!("{:?}", vapid(other)).contains(other));
        assert!(Vapid::new(&[], None, None).expect("valid").is_none());
    }

    #[test]
    fn a_subject_must_be_a_contact() {
        let rejected = Vapid::new(&[key("a", SECRET)], Some("office"), None).expect_err("rejected");

        assert!(rejected.to_string().contains("push.webpush.subject"), "{rejected}");
    }
}
