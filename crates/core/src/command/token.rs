//! Undo tokens: `<log id, 22 characters>.<32 random bytes, 43 characters>`, both base64url.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq;
use uuid::Uuid;

/// The token that undoes one action.
#[derive(Clone, PartialEq, Eq)]
pub struct UndoToken {
    /// Id of the log entry.
    pub log_id: Uuid,
    secret: [u8; 32],
}

impl std::fmt::Debug for UndoToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UndoToken")
            .field("log_id", &self.log_id)
            .finish_non_exhaustive()
    }
}

impl UndoToken {
    /// Creates the token of an entry.
    #[must_use]
    pub fn new(log_id: Uuid, secret: [u8; 32]) -> Self {
        Self { log_id, secret }
    }

    /// Creates the token of an entry from a stored secret; `None` when the bytes are not a valid secret.
    #[must_use]
    pub fn stored(log_id: Uuid, secret: &[u8]) -> Option<Self> {
        Some(Self {
            log_id,
            secret: secret.try_into().ok()?,
        })
    }

    /// Parses a token; `None` when it has another form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.trim().split_once('.')?;
        let id: [u8; 16] = URL_SAFE_NO_PAD.decode(id).ok()?.try_into().ok()?;
        let secret: [u8; 32] = URL_SAFE_NO_PAD.decode(secret).ok()?.try_into().ok()?;
        Some(Self {
            log_id: Uuid::from_bytes(id),
            secret,
        })
    }

    /// Returns the secret half, for storing.
    #[must_use]
    pub fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// Compares the secret half in constant time.
    #[must_use]
    pub fn opens(&self, stored: &[u8]) -> bool {
        self.secret.ct_eq(stored).into()
    }
}

impl std::fmt::Display for UndoToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}.{}",
            URL_SAFE_NO_PAD.encode(self.log_id.as_bytes()),
            URL_SAFE_NO_PAD.encode(self.secret)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_as_it_was_written() {
        let token = UndoToken::new(Uuid::from_u128(7), [9; 32]);

        let text = token.to_string();

        assert_eq!(text.len(), 22 + 1 + 43);
        assert_eq!(UndoToken::parse(&text), Some(token));
        assert_eq!(UndoToken::parse(&text[1..]), None);
    }
}
