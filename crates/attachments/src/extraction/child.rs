//! The child process: reads a document from its standard input and writes the text to its standard output.

use std::ffi::OsString;
use std::io::{Error, Read, Result, Write};
use std::process::ExitCode;

use super::{DocumentKind, docx, pdf};
use crate::upload::{MAX_CHARACTERS, decode, decode_beginning};

/// The first argument of a child process.
pub(super) const COMMAND: &str = "extract-text";
/// Bytes of a text that are read: enough for the longest one in any encoding.
const MAX_TEXT: u64 = 4 * MAX_CHARACTERS as u64;
/// Memory of a child process.
#[cfg(unix)]
const MEMORY: u64 = 256 * 1024 * 1024;
/// Seconds of a processor that a child process may use.
#[cfg(unix)]
const SECONDS: u64 = 10;

/// Extracts a text if these are the arguments of a child process (without the name of the program): `extract-text` and the kind of the document.
/// A program that embeds the module calls this first in `main`, before it starts threads, and ends with the code. Returns `None` for other
/// arguments.
pub fn run_child(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter();
    if arguments.next()? != COMMAND {
        return None;
    }
    let kind = arguments.next().and_then(|kind| DocumentKind::parse(kind.to_str()?));
    let extracted = kind.ok_or_else(|| Error::other("unknown kind")).and_then(extract);
    Some(match extracted {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

fn extract(kind: DocumentKind) -> Result<()> {
    limit()?;
    let input = std::io::stdin().lock();
    let text = match kind {
        DocumentKind::Text => plain(input)?,
        DocumentKind::Pdf => pdf::text(&read(input)?)?,
        DocumentKind::Docx => docx::text(&read(input)?)?,
    };
    let end = text.char_indices().nth(MAX_CHARACTERS).map_or(text.len(), |(at, _)| at);
    std::io::stdout().write_all(&text.as_bytes()[..end])
}

/// Returns the beginning of a text.
fn plain(input: impl Read) -> Result<String> {
    let bytes = read(input.take(MAX_TEXT))?;
    let is_whole = (bytes.len() as u64) < MAX_TEXT;
    Ok(match is_whole {
        true => decode(&bytes),
        false => decode_beginning(&bytes),
    })
}

fn read(mut input: impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Limits memory and time, and forbids writing files and opening further ones.
#[cfg(unix)]
fn limit() -> Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};

    for (resource, most) in [
        (Resource::As, MEMORY),
        (Resource::Cpu, SECONDS),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::Nofile, 8),
    ] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit)?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn limit() -> Result<()> {
    Err(Error::other("the limits of a child process are not supported here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_cut_inside_of_a_character_keeps_its_encoding() {
        let text = format!("a{}", "ż".repeat(2 * MAX_CHARACTERS));

        let kept = plain(text.as_bytes()).expect("a text");

        assert_eq!(kept.len() as u64, MAX_TEXT - 1);
        assert!(text.starts_with(&kept));
    }

    #[test]
    fn a_whole_text_keeps_a_last_byte_that_could_begin_a_character() {
        let text = "Plain letters, and at the end é";
        let bytes = encoding_rs::WINDOWS_1252.encode(text).0;

        let kept = plain(&bytes[..]).expect("a text");

        assert_eq!(kept.chars().count(), text.chars().count());
    }
}
