//! Tokens of requests: 32 random bytes as base64url. The database has only their hashes.

use backoffice_core::ids::Ids;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

/// Length of a token in characters.
const LENGTH: usize = 43;

/// A new token.
#[derive(Debug, Clone)]
pub(crate) struct Token(SecretString);

impl Token {
    pub(crate) fn mint(ids: &Ids) -> Self {
        Self(URL_SAFE_NO_PAD.encode(ids.random::<32>()).into())
    }

    /// Returns the token that a client presents; `None` if no token has this form.
    pub(crate) fn presented(text: &str) -> Option<Self> {
        has_form(text).then(|| Self(text.into()))
    }

    /// Returns the clear token, for the person who signs up.
    pub(crate) fn clear(&self) -> &str {
        self.0.expose_secret()
    }

    pub(crate) fn hash(&self) -> Vec<u8> {
        Sha256::digest(self.clear().as_bytes()).to_vec()
    }
}

/// Returns the hash of a presented token; `None` if no token has this form.
pub(crate) fn hash_of(presented: &str) -> Option<Vec<u8>> {
    Token::presented(presented).map(|token| token.hash())
}

fn has_form(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}
