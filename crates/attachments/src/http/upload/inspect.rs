//! Checks a file that has arrived, and reads what is derived from its bytes.

use std::io::Error as IoError;

use backoffice_core::{Error as CoreError, Result};
use tokio::task::spawn_blocking;

use super::receive::Received;
use crate::error::Error;
use crate::files::Files;
use crate::stores::Spool;
use crate::upload::{
    ContentType, ImageSize, Text, check_name, clean_name, depends_on_end, detect, extension, image_size, read_text,
};

/// A file that may be stored.
pub(super) struct Inspected {
    pub(super) spool: Spool,
    pub(super) sha256: [u8; 32],
    pub(super) name: String,
    pub(super) content_type: ContentType,
    pub(super) text: Option<Text>,
    /// Whether the text is extracted later.
    pub(super) awaits_text: bool,
    pub(super) image: Option<ImageSize>,
}

/// Inspects a file.
///
/// # Errors
/// 400 for programs, documents that browsers execute and infected files, 503 when the scanner does not respond or the file can't be read.
pub(super) async fn inspect(files: &Files, received: Received) -> Result<Inspected> {
    let name = clean_name(received.file_name.as_deref().unwrap_or_default());
    check_name(&name)?;
    if let Some(scanner) = &files.config.scan.clamd {
        scanner.scan(received.spool.path()).await?;
    }
    let content_type = content_type(&received, &extension(&name)).await?;
    let awaits_text = files.extracts(&content_type.mime_type, received.spool.length());
    let (text, image) = derived(&received.spool, &content_type).await?;
    Ok(Inspected {
        spool: received.spool,
        sha256: received.sha256,
        name,
        content_type,
        text,
        awaits_text,
        image,
    })
}

/// Recognizes the media type.
async fn content_type(received: &Received, extension: &str) -> Result<ContentType> {
    let Received {
        spool, content_type, ..
    } = received;
    let end = match depends_on_end(spool.head(), extension) {
        true => spool.end().await.map_err(|error| unreadable(&error))?,
        false => Vec::new(),
    };
    Ok(detect(spool.head(), &end, extension, content_type.as_deref())?)
}

/// Reads what is derived from the bytes.
async fn derived(spool: &Spool, content_type: &ContentType) -> Result<(Option<Text>, Option<ImageSize>)> {
    let (path, kind, length) = (spool.path().to_owned(), content_type.mime_type.clone(), spool.length());
    let read = spawn_blocking(move || {
        let text = read_text(&path, &kind, length)?;
        Ok::<_, IoError>((text, image_size(&path)))
    });
    let read = read.await.map_err(|error| CoreError::internal(error.to_string()))?;
    Ok(read.map_err(|error| unreadable(&error))?)
}

/// Logs why the file could not be read, and returns its rejection.
fn unreadable(error: &IoError) -> Error {
    tracing::error!(%error, "could not read an upload");
    Error::StorageUnavailable
}
