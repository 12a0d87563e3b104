//! The server's log, for the errors that contain its end.

use std::{
    fs,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use crate::{Error, home::Home};

/// Returns the error of a server that did not start, with the end of its log.
pub(crate) fn not_started(home: &Home, reason: String) -> Error {
    Error::Start {
        reason,
        log: home.log(),
        tail: tail(&home.log()).unwrap_or_default(),
    }
}

/// Returns the last lines of the log, at most 4 KiB.
fn tail(log: &Path) -> io::Result<String> {
    let mut file = fs::File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(4096)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}
