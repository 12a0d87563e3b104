//! Starts child processes, sends them documents and reads the texts.

use std::io::{Error, ErrorKind, Result};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use backoffice_core::http::Pieces;
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, Command};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::DocumentKind;
use super::child::COMMAND;
use crate::upload::MAX_CHARACTERS;

/// Time of an extraction, with the reading of the document.
const LONGEST: Duration = Duration::from_secs(10);
/// Child processes at once in this process.
const CHILDREN: usize = 2;

/// Extracts texts with a program.
#[derive(Debug)]
pub(crate) struct Extractor {
    program: PathBuf,
    children: Semaphore,
}

impl Extractor {
    pub(crate) fn new(program: PathBuf) -> Self {
        Self {
            program,
            children: Semaphore::new(CHILDREN),
        }
    }

    /// Returns the text of a document.
    ///
    /// # Errors
    /// If the document can't be read or parsed, or takes too much time or memory.
    pub(crate) async fn extract(&self, kind: DocumentKind, document: Pieces) -> Result<String> {
        let _permit = self.children.acquire().await.map_err(Error::other)?;
        match timeout(LONGEST, self.run(kind, document)).await {
            Ok(extracted) => extracted,
            Err(_elapsed) => Err(Error::new(ErrorKind::TimedOut, "the extraction took too long")),
        }
    }

    /// The child is killed when this ends before it.
    async fn run(&self, kind: DocumentKind, document: Pieces) -> Result<String> {
        let mut child = Command::new(&self.program)
            .args([COMMAND, kind.name()])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::other("the child process has no pipes"));
        };
        let mut text = Vec::new();
        let mut output = output.take(4 * MAX_CHARACTERS as u64);
        let (sent, read) = tokio::join!(send(document, input), output.read_to_end(&mut text));
        sent?;
        read?;
        if !child.wait().await?.success() {
            return Err(Error::other("the document can't be parsed within the limits"));
        }
        String::from_utf8(text).map_err(Error::other)
    }
}

/// Sends the document. A child that needs no more of it closes the pipe.
async fn send(mut document: Pieces, mut input: ChildStdin) -> Result<()> {
    while let Some(piece) = document.next().await {
        match input
            .write_all(&piece.map_err(|error| Error::other(error.to_string()))?)
            .await
        {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    input.shutdown().await
}
