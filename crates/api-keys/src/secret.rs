//! The form of a key: `bo_`, 8 hexadecimal digits, `_`, 32 random bytes as base64url. The part before the second `_` is the prefix,
//! which may be shown; of the whole key only a hash is stored.

use backoffice_core::ids::Ids;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use uuid::Uuid;

const PREFIX_LENGTH: usize = 11;
const LENGTH: usize = PREFIX_LENGTH + 1 + 43;

/// A new key. Its text exists only here and in the response that shows it.
#[derive(Debug, Clone)]
pub struct NewSecret {
    /// The whole key.
    pub text: SecretString,
    pub(crate) prefix: String,
    pub(crate) hash: [u8; 32],
}

impl NewSecret {
    /// Draws a key.
    #[must_use]
    pub fn draw(ids: &Ids) -> Self {
        let prefix = format!("bo_{:08x}", u32::from_be_bytes(ids.random()));
        let text = format!("{prefix}_{}", URL_SAFE_NO_PAD.encode(ids.random::<32>()));
        Self {
            hash: Sha256::digest(text.as_bytes()).into(),
            text: text.into(),
            prefix,
        }
    }
}

/// A presented text that has the form of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Presented<'a> {
    pub(crate) prefix: &'a str,
    pub(crate) hash: [u8; 32],
}

impl<'a> Presented<'a> {
    /// Parses a text; `None` if it does not have the form of a key.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let (prefix, rest) = text.split_at_checked(PREFIX_LENGTH)?;
        let digits = prefix.strip_prefix("bo_")?;
        let random = rest.strip_prefix('_')?;
        let is_key = text.len() == LENGTH
            && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
            && random
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        is_key.then(|| Self {
            prefix,
            hash: Sha256::digest(text.as_bytes()).into(),
        })
    }

    /// Returns the id under which the identity behind the key is cached, derived from the hash of the whole key.
    pub(crate) fn cache_id(&self) -> Uuid {
        let mut half = [0; 16];
        half.copy_from_slice(&self.hash[..16]);
        Uuid::from_bytes(half)
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_key_that_was_drawn_is_recognized() {
        let drawn = NewSecret::draw(&Ids::default());

        let presented = Presented::read(drawn.text.expose_secret()).expect("a key");

        assert_eq!((presented.prefix, presented.hash), (drawn.prefix.as_str(), drawn.hash));
        assert_eq!(drawn.prefix.len(), 11);
    }

    #[test]
    fn another_form_is_no_key() {
        let drawn = NewSecret::draw(&Ids::default());
        let text = drawn.text.expose_secret();
        let upper = text.replacen("bo_", "BO_", 1);
        let shorter = &text[..text.len() - 1];
        let longer = format!("{text}A");
        let digits = format!("bo_GGGGGGGG{}", &text[11..]);
        let random = format!("{shorter}+");

        for other in [
            "",
            "bo_",
            "ä".repeat(30).as_str(),
            &upper,
            shorter,
            &longer,
            &digits,
            &random,
        ] {
            assert!(Presented::read(other).is_none(), "{other}");
        }
    }
}
