//! The text of text files.

use std::path::Path;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};

/// Largest file of which the text is read while it is uploaded.
const MAX_BYTES: u64 = 1024 * 1024;
/// Most characters of a text.
pub(crate) const MAX_CHARACTERS: usize = 1024 * 1024;
/// Characters of the part that lists show.
const FIRST_CHARACTERS: usize = 20_000;

/// A text in two parts: what lists show, and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) first: String,
    pub(crate) rest: Option<String>,
}

/// Reads the text of a file of this media type and length; blocks. `None` if it has none, or is blank.
pub(crate) fn read_text(path: &Path, mime_type: &str, length: u64) -> std::io::Result<Option<Text>> {
    if !is_read_at_once(mime_type, length) {
        return Ok(None);
    }
    Ok(parts(&decode(&std::fs::read(path)?)))
}

/// Returns whether an upload reads the text of a file of this media type and length itself.
pub(crate) fn is_read_at_once(mime_type: &str, length: u64) -> bool {
    let is_text = mime_type.starts_with("text/") || mime_type == "application/json";
    is_text && length <= MAX_BYTES
}

/// Decodes UTF-8, UTF-16 with a byte order mark, or an 8-bit encoding that is guessed.
pub(crate) fn decode(bytes: &[u8]) -> String {
    if let Some((encoding, _)) = encoding_rs::Encoding::for_bom(bytes) {
        return encoding.decode(bytes).0.into_owned();
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, Utf8Detection::Allow);
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

/// Decodes the beginning of a longer text like [`decode`]. Its last character may be cut.
pub(crate) fn decode_beginning(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => decode(&bytes[..error.valid_up_to()]),
        _ => decode(bytes),
    }
}

/// Trims a text and splits it. The database can't store the character zero.
pub(crate) fn parts(text: &str) -> Option<Text> {
    let text: String = text
        .trim()
        .chars()
        .filter(|c| *c != '\0')
        .take(MAX_CHARACTERS)
        .collect();
    if text.is_empty() {
        return None;
    }
    let split = text.char_indices().nth(FIRST_CHARACTERS).map(|(at, _)| at);
    let rest = split.map(|at| text[at..].to_owned());
    let first = text[..split.unwrap_or(text.len())].to_owned();
    Some(Text { first, rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_decoded_trimmed_and_split() {
        let utf16: Vec<u8> = "\u{feff}zażółć".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decode(&utf16), "zażółć");
        assert_eq!(decode("\u{feff}a".as_bytes()), "a");
        let polish = encoding_rs::WINDOWS_1250
            .encode("Zażółć gęślą jaźń, proszę bardzo, to jest zdanie po polsku")
            .0;
        assert!(decode(&polish).starts_with("Zażółć gęślą"));

        assert_eq!(parts(" \n\0 "), None);
        let long = parts(&format!(" {}b", "ż".repeat(20_000))).expect("a text");
        assert_eq!((long.first.chars().count(), long.rest.as_deref()), (20_000, Some("b")));
    }
}
