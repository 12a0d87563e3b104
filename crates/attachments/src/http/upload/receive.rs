//! Receives the body of an upload.

use actix_web::http::header::HeaderMap;
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

/// Most bytes of a file that is received.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Of any file.
    largest: u64,
    /// That the quota of the tenant leaves at present.
    left: u64,
    /// Whether the request has an `Idempotency-Key`. If it is a repeated one, its file is among those that use the quota, which only the whole body shows.
    may_repeat: bool,
}

impl Bounds {
    /// Creates the bounds for a request with these headers.
    pub(super) fn new(files: &Files, usage: Usage, headers: &HeaderMap) -> Self {
        Self {
            largest: files.config.max_upload,
            left: u64::try_from(usage.quota.saturating_sub(usage.used)).unwrap_or(0),
            may_repeat: headers.contains_key("idempotency-key"),
        }
    }

    /// Rejects a body that can't fit before it is read.
    pub(super) fn check_length(self, declared: Option<u64>) -> Result<(), Error> {
        self.check(declared.unwrap_or(0).saturating_sub(OVERHEAD))
    }

    /// Rejects a file of this length, or of more. Requests that may be repeated ones spool bytes beyond the quota: at most the largest file for each slot
    /// of the caller and the tenant, until the end of the request.
    fn check(self, length: u64) -> Result<(), Error> {
        if length > self.largest {
            return Err(Error::TooLarge);
        }
        if self.exceeds_quota(length) && !self.may_repeat {
            return Err(Error::QuotaExceeded);
        }
        Ok(())
    }

    /// Returns whether the quota leaves fewer bytes.
    pub(super) const fn exceeds_quota(self, length: u64) -> bool {
        length > self.left
    }
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
    bounds: Bounds,
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
        received = Some(receive_file(call, files, part, bounds).await?);
    }
    Ok((form, received))
}

async fn receive_file(call: &Call, files: &Files, mut part: Part<'_, UploadForm>, bounds: Bounds) -> Result<Received> {
    let unavailable = |error: std::io::Error| {
        tracing::error!(%error, "could not write an upload");
        Error::StorageUnavailable
    };
    let ids = call.platform().ids();
    let mut spool = Spool::create(&files.spool, ids, call.now).await.map_err(unavailable)?;
    while let Some(bytes) = part.chunk().await? {
        bounds.check(spool.length() + bytes.len() as u64)?;
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
