//! JSON documents that clients store (`metadata`, settings, filters): their maximum size and depth, and their texts in responses.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::error::Detail;

mod transcode;

pub use transcode::{StoredJson, parse_stored};

/// Longest document that a client may store, in bytes of its JSON text without white space.
pub const MOST_BYTES: usize = 64 * 1024;
/// Deepest nesting of such a document; a plain value has depth 0.
pub const DEEPEST: usize = 16;
/// Longest response, in bytes.
pub const MOST_RESPONSE_BYTES: usize = 8 * 1024 * 1024;

/// Checks a document that a client wants to store.
///
/// # Errors
/// `too_long` for a document of more than [`MOST_BYTES`], `invalid_value` for one that is nested deeper than [`DEEPEST`].
pub fn check(path: &str, document: &Value) -> Result<(), Detail> {
    check_size(path, document)?;
    check_depth(path, document)
}

/// Checks only the nesting of a document, for documents whose size is checked together with others.
///
/// # Errors
/// `invalid_value` for a document that is nested deeper than [`DEEPEST`].
pub fn check_depth(path: &str, document: &Value) -> Result<(), Detail> {
    if depth_exceeds(document, DEEPEST) {
        let message = format!("must not be nested deeper than {DEEPEST} levels");
        return Err(Detail::new(path, message, "invalid_value"));
    }
    Ok(())
}

/// Checks only the size of a document, for documents whose type or whose parts bound the depth.
///
/// # Errors
/// `too_long` for a document of more than [`MOST_BYTES`].
pub fn check_size(path: &str, document: &impl Serialize) -> Result<(), Detail> {
    // Writing fails only at the limit.
    if serde_json::to_writer(Bounded(MOST_BYTES), document).is_ok() {
        return Ok(());
    }
    let message = format!("must be at most {} KiB of JSON", MOST_BYTES / 1024);
    Err(Detail::new(path, message, "too_long"))
}

fn depth_exceeds(document: &Value, levels: usize) -> bool {
    let deeper = |inner: &Value| match levels.checked_sub(1) {
        Some(left) => depth_exceeds(inner, left),
        None => true,
    };
    match document {
        Value::Array(items) => levels == 0 || items.iter().any(deeper),
        Value::Object(fields) => levels == 0 || fields.values().any(deeper),
        _ => false,
    }
}

/// Accepts this many bytes, and fails after that.
struct Bounded(usize);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, level| {
            if level % 2 == 0 {
                json!([inner])
            } else {
                json!({"a": inner})
            }
        })
    }

    #[test]
    fn f3_a_document_has_a_largest_size() {
        let of_bytes = |bytes: usize| json!("x".repeat(bytes - 2));
        let code = |document: &Value| check("metadata", document).map_err(|detail| detail.code.into_owned());

        assert_eq!(code(&of_bytes(MOST_BYTES)), Ok(()));
        assert_eq!(code(&of_bytes(MOST_BYTES + 1)), Err("too_long".to_owned()));
    }

    #[test]
    fn f3_a_document_has_a_deepest_level() {
        let code = |document: &Value| check("metadata", document).map_err(|detail| detail.code.into_owned());

        assert_eq!(code(&nested(DEEPEST)), Ok(()));
        assert_eq!(code(&nested(DEEPEST + 1)), Err("invalid_value".to_owned()));
    }
}
