//! The space of a page of files in a response of at most 8 MiB.

use std::io::{self, Write};

use serde::Serialize;

use super::items::FileItem;

/// Bytes of JSON for the texts, tags and assignments of a page. What remains of 8 MiB is enough for the other fields.
const SPACE: usize = 7 * 1024 * 1024;

/// Leaves out the texts, and then the assignments, that no longer fit into the response, in the order of the page. Such files are `truncated`.
pub(super) fn leave_out<'f>(files: impl Iterator<Item = &'f mut FileItem>) {
    let mut left = SPACE;
    for file in files {
        left = left.saturating_sub(length(&file.tags));
        let fits = |left: &mut usize, needed: usize| {
            let remaining = left.checked_sub(needed);
            *left = remaining.unwrap_or(*left);
            remaining.is_some()
        };
        if !fits(&mut left, length(&file.assignments)) {
            file.assignments = serde_json::Value::Array(Vec::new());
            file.truncated = true;
        }
        if file.content.is_some() && !fits(&mut left, length(&file.content)) {
            file.content = None;
            file.content_truncated = true;
            file.truncated = true;
        }
    }
}

/// Returns the number of bytes of a value as JSON.
fn length(value: &impl Serialize) -> usize {
    let mut length = Length(0);
    serde_json::to_writer(&mut length, value).map_or(usize::MAX, |()| length.0)
}

/// Counts what is written.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_take_more_bytes_than_their_text() {
        assert_eq!(length(&"a\u{1b}\u{1b}"), r#""a\u001b\u001b""#.len());
    }
}
