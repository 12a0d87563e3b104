//! The length of a password that a user types to sign in, or to confirm a change.

use secrecy::{ExposeSecret, SecretString};
use unicode_normalization::UnicodeNormalization as _;

/// Longest password in bytes: as long as the 256 characters of the longest password can be.
const LONGEST: usize = 1024;
/// Longest text in bytes, which bounds the work of its normalization. Forms that are not composed have up to three times as many bytes.
const LONGEST_TEXT: usize = 4 * LONGEST;

/// Returns whether the text has the length of a password: 1 to 1024 bytes in NFC, the form in which passwords are hashed. So a password can be typed in
/// every form of its characters.
pub(crate) fn has_typed_length(password: &SecretString) -> bool {
    let text = password.expose_secret();
    let composed = || text.nfc().map(char::len_utf8).sum::<usize>();
    !text.is_empty() && text.len() <= LONGEST_TEXT && composed() <= LONGEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_composed_form_is_measured_and_the_text_is_bounded() {
        let has_length = |text: String| has_typed_length(&SecretString::from(text));

        assert!(!has_length(String::new()));
        assert!(has_length("x".repeat(1024)) && !has_length("x".repeat(1025)));
        // A letter with two marks has five bytes, and three when it is composed.
        assert!(has_length("s\u{323}\u{307}".repeat(256)));
        assert!(!has_length("s\u{323}\u{307}".repeat(342)));
        // The Kelvin sign is a K of one byte when it is normalized.
        assert!(has_length("\u{212a}".repeat(1024)) && !has_length("\u{212a}".repeat(1025)));
    }
}
