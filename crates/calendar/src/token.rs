//! Tokens of feeds: 32 random bytes as base64url. Only a hash is stored.

use backoffice_core::ids::Ids;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// Number of random bytes.
const BYTES: usize = 32;
/// Number of characters.
const LENGTH: usize = 43;

/// A new token. Its text exists only here and in the response that shows it.
#[derive(Clone)]
pub(crate) struct FeedToken {
    pub(crate) text: String,
    pub(crate) hash: Vec<u8>,
}

impl std::fmt::Debug for FeedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FeedToken").finish_non_exhaustive()
    }
}

impl FeedToken {
    /// Draws a token.
    pub(crate) fn draw(ids: &Ids) -> Self {
        let text = URL_SAFE_NO_PAD.encode(ids.random::<BYTES>());
        Self {
            hash: Sha256::digest(text.as_bytes()).to_vec(),
            text,
        }
    }
}

/// Returns the hash of a presented token; `None` if it does not have the form of one.
pub(crate) fn hash_of(text: &str) -> Option<Vec<u8>> {
    let is_token = text.len() == LENGTH
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    is_token.then(|| Sha256::digest(text.as_bytes()).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_by_its_hash() {
        let token = FeedToken::draw(&Ids::default());

        assert_eq!(hash_of(&token.text), Some(token.hash.clone()));
        assert!(!format!("{token:?}").contains(&token.text));
        assert_eq!(hash_of(&token.text[1..]), None);
        assert_eq!(hash_of(&token.text.replace(&token.text[..1], "ä")), None);
    }
}
