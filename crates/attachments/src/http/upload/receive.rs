//! Receives the body of an upload.

use backoffice_core::Result;
use backoffice_core::context::Call;
use backoffice_core::http::{Multipart, Part};

use crate::error::Error;
use crate::files::Files;
use crate::query::usage::Usage;
use crate::stores::Spool;
use crate::upload::{Form, UploadForm};

/// Bytes of a body besides its file.
const OVERHEAD: u64 = 1024 * 1024;

/// Rejects a body that can't fit before it is read.
pub(super) fn check_length(files: &Files, declared: Option<u64>, usage: Usage) -> Result<()> {
    let Some(declared) = declared else { return Ok(()) };
    let least = declared.saturating_sub(OVERHEAD);
    let left = u64::try_from(usage.quota.saturating_sub(usage.used)).unwrap_or(0);
    if least > files.config.max_upload {
        return Err(Error::TooLarge.into());
    }
    if least > left {
        return Err(Error::QuotaExceeded.into());
    }
    Ok(())
}

/// A file that has arrived.
pub(super) struct Received {
    pub(super) spool: Spool,
    pub(super) sha256: [u8; 32],
    pub(super) file_name: Option<String>,
    pub(super) content_type: Option<String>,
}

/// Reads the whole body. The file is written to a spool file while it arrives; other parts stay in memory.
pub(super) async fn receive(
    call: &Call,
    files: &Files,
    body: &mut Multipart<UploadForm>,
    most: u64,
) -> Result<(Form, Option<Received>)> {
    let (mut form, mut received) = (Form::default(), None);
    while let Some(part) = body.next().await? {
        if part.name != "file" {
            let name = part.name.clone();
            form.take(&name, part.text().await?);
            continue;
        }
        if received.is_some() {
            return Err(Error::MultipleFiles.into());
        }
        received = Some(receive_file(call, files, part, most).await?);
    }
    Ok((form, received))
}

async fn receive_file(call: &Call, files: &Files, mut part: Part<'_, UploadForm>, most: u64) -> Result<Received> {
    let unavailable = |error: std::io::Error| {
        tracing::error!(%error, "could not write an upload");
        Error::StorageUnavailable
    };
    let ids = call.platform().ids();
    let mut spool = Spool::create(&files.spool, ids, call.now).await.map_err(unavailable)?;
    while let Some(bytes) = part.chunk().await? {
        if spool.length() + bytes.len() as u64 > most {
            return Err(Error::TooLarge.into());
        }
        spool.write(&bytes).await.map_err(unavailable)?;
    }
    spool.flush().await.map_err(unavailable)?;
    if spool.length() == 0 {
        return Err(Error::EmptyFile.into());
    }
    metrics::counter!("attachments_uploaded_bytes_total").increment(spool.length());
    Ok(Received {
        sha256: part.sha256().unwrap_or_default(),
        file_name: part.file_name.clone(),
        content_type: part.content_type.clone(),
        spool,
    })
}
