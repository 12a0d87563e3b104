//! Access tokens: JWTs bound to a session. They name the user and the session; rights come from the database.

use std::time::Duration;

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use backoffice_core::bounded_cache::BoundedCache;
use backoffice_core::config::{ConfigError, SecretKey};
use backoffice_core::http::wire_tenant;
use backoffice_core::ids::{Ids, PLATFORM_TENANT};
use backoffice_core::{Error, Result, Timestamp};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::config::{JwtAlgorithm, JwtConfig};

const TYPE: &str = "at+jwt";
/// Allowed difference between the clocks of nodes, in seconds.
const LEEWAY: i64 = 5;
/// Most tokens whose valid signature one process remembers.
const REMEMBERED: u64 = 4096;

struct Key {
    kid: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
}

/// Creates and reads access tokens.
pub(crate) struct Tokens {
    keys: Vec<Key>,
    algorithm: Algorithm,
    issuer: String,
    audience: String,
    validation: Validation,
    /// Tokens with a valid signature, which stays valid: the keys change only with the process. Times are compared on every use.
    verified: BoundedCache<String, Verified>,
}

/// A token with a valid signature, which may not be valid yet or have expired.
#[derive(Debug, Clone, Copy)]
struct Verified {
    bearer: Bearer,
    not_before: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Claims {
    iss: String,
    aud: String,
    sub: Uuid,
    sid: Uuid,
    tenant_id: Option<Uuid>,
    organization_id: Option<Uuid>,
    iat: i64,
    nbf: i64,
    exp: i64,
    jti: Uuid,
}

/// The content of a valid token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bearer {
    pub(crate) user: Uuid,
    pub(crate) session: Uuid,
    pub(crate) tenant: Uuid,
    /// The first instant at which the token is rejected.
    pub(crate) expires_at: Timestamp,
}

/// The holder of a new token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holder {
    pub(crate) user: Uuid,
    pub(crate) session: Uuid,
    pub(crate) tenant: Uuid,
    pub(crate) organization: Option<Uuid>,
}

impl Tokens {
    pub(crate) fn new(config: &JwtConfig) -> Result<Self, ConfigError> {
        let mut keys = Vec::new();
        for (kid, secret) in SecretKey::pair("auth.jwt.keys", &config.keys)? {
            let secret = secret.expose_secret().as_bytes();
            let (encoding, decoding) = match config.algorithm {
                JwtAlgorithm::Hs256 => (EncodingKey::from_secret(secret), DecodingKey::from_secret(secret)),
                JwtAlgorithm::EdDsa => ed25519(secret)?,
            };
            keys.push(Key {
                kid,
                encoding,
                decoding,
            });
        }
        let algorithm = match config.algorithm {
            JwtAlgorithm::Hs256 => Algorithm::HS256,
            JwtAlgorithm::EdDsa => Algorithm::EdDSA,
        };
        let mut validation = Validation::new(algorithm);
        validation.set_issuer(&[&config.issuer]);
        validation.set_audience(&[&config.audience]);
        validation.set_required_spec_claims(&["exp", "nbf", "iss", "aud", "sub"]);
        // Times are compared with the platform's clock, below.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        Ok(Self {
            keys,
            algorithm,
            issuer: config.issuer.clone(),
            audience: config.audience.clone(),
            validation,
            verified: BoundedCache::new(REMEMBERED),
        })
    }

    /// Creates a token that lives this long.
    pub(crate) fn create(&self, ids: &Ids, holder: Holder, now: Timestamp, life: Duration) -> Result<String> {
        let Some(key) = self.keys.first() else {
            return Err(Error::internal("no signing key"));
        };
        let mut header = Header::new(self.algorithm);
        header.typ = Some(TYPE.to_owned());
        header.kid = Some(key.kid.clone());
        let seconds = now.get().unix_timestamp();
        let claims = Claims {
            iss: self.issuer.clone(),
            aud: self.audience.clone(),
            sub: holder.user,
            sid: holder.session,
            tenant_id: wire_tenant(holder.tenant),
            organization_id: holder.organization,
            iat: seconds,
            nbf: seconds,
            exp: seconds + i64::try_from(life.as_secs()).unwrap_or(0),
            jti: ids.at(now),
        };
        encode(&header, &claims, &key.encoding).map_err(|error| Error::internal(format!("signing failed: {error}")))
    }

    /// Returns the content of the token, if its signature is valid and `now` is within its period of validity.
    pub(crate) fn read(&self, token: &str, now: Timestamp) -> Option<Bearer> {
        if let Some(known) = self.verified.get(token) {
            return known.at(now);
        }
        let verified = self.verify(token)?;
        let bearer = verified.at(now)?;
        self.verified.insert(token.to_owned(), verified);
        Some(bearer)
    }

    fn verify(&self, token: &str) -> Option<Verified> {
        let header = decode_header(token).ok()?;
        if header.typ.as_deref() != Some(TYPE) || header.alg != self.algorithm {
            return None;
        }
        // Critical extensions (RFC 7515, section 4.1.11); this reader supports none.
        if header.crit.is_some() {
            return None;
        }
        let kid = header.kid?;
        let key = self.keys.iter().find(|key| key.kid == kid)?;
        let claims = decode::<Claims>(token, &key.decoding, &self.validation).ok()?.claims;
        Some(Verified {
            bearer: Bearer {
                user: claims.sub,
                session: claims.sid,
                tenant: claims.tenant_id.unwrap_or(PLATFORM_TENANT),
                expires_at: Timestamp::UNIX_EPOCH.after(time::Duration::seconds(claims.exp.saturating_add(LEEWAY))),
            },
            not_before: claims.nbf,
        })
    }
}

/// Returns the pair of keys whose seed is derived from the secret, so that a secret may be longer than a seed and serves one purpose only.
fn ed25519(secret: &[u8]) -> Result<(EncodingKey, DecodingKey), ConfigError> {
    /// PKCS#8 version 1 around an Ed25519 seed (RFC 8410, section 7).
    const PKCS8: [u8; 16] = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];
    let seed = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), b"auth.jwt.keys Ed25519");
    let pair = Ed25519KeyPair::from_seed_unchecked(seed.as_ref())
        .map_err(|error| ConfigError::new("auth.jwt.keys", error.to_string()))?;
    let private = [PKCS8.as_slice(), seed.as_ref()].concat();
    Ok((
        EncodingKey::from_ed_der(&private),
        DecodingKey::from_ed_der(pair.public_key().as_ref()),
    ))
}

impl Verified {
    fn at(self, now: Timestamp) -> Option<Bearer> {
        let seconds = now.get().unix_timestamp();
        (self.not_before <= seconds + LEEWAY && now < self.bearer.expires_at).then_some(self.bearer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kid: &str, byte: char) -> SecretKey {
        SecretKey {
            kid: kid.to_owned(),
            secret: Some(byte.to_string().repeat(40).into()),
            secret_file: None,
        }
    }

    fn tokens(keys: Vec<SecretKey>) -> Tokens {
        signed_by(JwtAlgorithm::Hs256, keys)
    }

    fn signed_by(algorithm: JwtAlgorithm, keys: Vec<SecretKey>) -> Tokens {
        Tokens::new(&JwtConfig {
            keys,
            algorithm,
            ..JwtConfig::default()
        })
        .expect("keys")
    }

    fn now() -> Timestamp {
        Timestamp::parse("2026-11-20T08:00:00Z").expect("an instant")
    }

    fn holder() -> Holder {
        Holder {
            user: Uuid::from_u128(1),
            session: Uuid::from_u128(2),
            tenant: Uuid::from_u128(3),
            organization: None,
        }
    }

    #[test]
    fn a_token_lives_from_its_start_to_its_end() {
        let tokens = tokens(vec![key("a", 'x')]);
        let token = tokens
            .create(&Ids::default(), holder(), now(), Duration::from_secs(60))
            .expect("signed");

        let read = |seconds| tokens.read(&token, now().after(time::Duration::seconds(seconds)));

        assert_eq!(
            read(0),
            Some(Bearer {
                user: holder().user,
                session: holder().session,
                tenant: holder().tenant,
                expires_at: now().after(time::Duration::seconds(65)),
            })
        );
        assert!(read(64).is_some());
        assert!(read(65).is_none());
        assert!(read(-6).is_none());
    }

    #[test]
    fn one_changed_byte_another_key_or_no_signature_is_rejected() {
        let ours = tokens(vec![key("a", 'x')]);
        let token = ours
            .create(&Ids::default(), holder(), now(), Duration::from_secs(60))
            .expect("signed");
        for index in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ascii");
            // The last character of a part carries bits that are ignored.
            let boundary = index + 1 == token.len() || token.as_bytes()[index + 1] == b'.';
            assert!(
                changed == token || boundary || ours.read(&changed, now()).is_none(),
                "byte {index}"
            );
        }
        assert!(tokens(vec![key("a", 'y')]).read(&token, now()).is_none());
        assert!(tokens(vec![key("b", 'x')]).read(&token, now()).is_none());
        let unsigned = token
            .rsplit_once('.')
            .map(|(head, _)| format!("{head}."))
            .expect("three parts");
        assert!(ours.read(&unsigned, now()).is_none());
    }

    #[test]
    fn the_old_key_still_verifies_after_a_rotation() {
        let before = tokens(vec![key("a", 'x')]);
        let token = before
            .create(&Ids::default(), holder(), now(), Duration::from_secs(60))
            .expect("signed");

        assert!(tokens(vec![key("b", 'y'), key("a", 'x')]).read(&token, now()).is_some());
        assert!(tokens(vec![key("b", 'y')]).read(&token, now()).is_none());
    }

    #[test]
    fn acc_6_a_token_is_signed_by_the_configured_algorithm_and_no_other() {
        let create = |tokens: &Tokens| {
            tokens
                .create(&Ids::default(), holder(), now(), Duration::from_secs(60))
                .expect("signed")
        };
        let ed = |keys| signed_by(JwtAlgorithm::EdDsa, keys);
        let (symmetric, asymmetric) = (tokens(vec![key("a", 'x')]), ed(vec![key("a", 'x')]));
        let token = create(&asymmetric);

        assert_eq!(decode_header(&token).expect("a header").alg, Algorithm::EdDSA);
        assert!(asymmetric.read(&token, now()).is_some());
        assert!(ed(vec![key("a", 'x')]).read(&token, now()).is_some(), "another node");
        assert!(ed(vec![key("b", 'y'), key("a", 'x')]).read(&token, now()).is_some());
        assert!(ed(vec![key("a", 'y')]).read(&token, now()).is_none(), "another key");
        assert!(symmetric.read(&token, now()).is_none());
        assert!(asymmetric.read(&create(&symmetric), now()).is_none());
        let (signed, signature) = token.rsplit_once('.').expect("three parts");
        let changed = signature.replacen(|one: char| one != 'A', "A", 1);
        assert!(asymmetric.read(&format!("{signed}.{changed}"), now()).is_none());
    }

    #[test]
    fn a_public_key_is_not_a_secret_of_the_other_algorithm() {
        let asymmetric = signed_by(JwtAlgorithm::EdDsa, vec![key("a", 'x')]);
        let token = asymmetric
            .create(&Ids::default(), holder(), now(), Duration::from_secs(60))
            .expect("signed");
        let seed = hmac::sign(
            &hmac::Key::new(hmac::HMAC_SHA256, "x".repeat(40).as_bytes()),
            b"auth.jwt.keys Ed25519",
        );
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.as_ref()).expect("a pair");
        let claims = decode::<Claims>(&token, &asymmetric.keys[0].decoding, &asymmetric.validation)
            .expect("ours")
            .claims;
        let mut header = Header::new(Algorithm::HS256);
        header.typ = Some(TYPE.to_owned());
        header.kid = Some("a".to_owned());

        let forged = encode(&header, &claims, &EncodingKey::from_secret(pair.public_key().as_ref()));

        assert!(asymmetric.read(&forged.expect("signed"), now()).is_none());
    }

    #[test]
    fn a_short_secret_is_rejected() {
        let short = SecretKey {
            kid: "a".to_owned(),
            secret: Some("short".to_owned().into()),
            secret_file: None,
        };

        assert!(
            Tokens::new(&JwtConfig {
                keys: vec![short],
                ..JwtConfig::default()
            })
            .is_err()
        );
        assert!(Tokens::new(&JwtConfig::default()).is_err());
    }
}
