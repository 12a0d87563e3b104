//! The job that extracts the text of a file after its upload.

use backoffice_core::events::announce;
use backoffice_core::http::Pieces;
use backoffice_core::jobs::{Chunk, Job, Queue, Step, Work};
use backoffice_core::{Call, Error, Result, Scope};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{DocumentKind, ScannedDocument};
use crate::files::Files;
use crate::query::extraction::{self, PendingFile};
use crate::upload::{Text, parts};

/// Attempts after which a file counts as one without a readable text.
const ATTEMPTS: i32 = 3;

/// Extracts the text of a file that waits for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ExtractText {
    /// The file.
    pub(crate) file: Uuid,
}

impl Job for ExtractText {
    const KIND: &'static str = "attachments.attachment.extract_text";
    const QUEUE: Queue = Queue::Network;

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, tenant) = (work.call().clone(), work.tenant());
        let found = {
            let connection = call.database().read_briefly(&Scope::tenant(tenant)).await?;
            extraction::pending(&connection, tenant, self.file).await?
        };
        let Some(file) = found else { return Ok(Step::Done) };
        let (text, state) = match extract(&call, &file).await {
            Ok(text) => (text, "done"),
            Err(error) if work.attempt() < ATTEMPTS => return Err(error),
            Err(error) => {
                tracing::warn!(%error, attachment = %self.file, "the text of a file could not be extracted");
                (None, "failed")
            }
        };
        let mut chunk = work.begin(&Scope::tenant(tenant)).await?;
        self.store(&call, tenant, &mut chunk, text, state).await?;
        chunk.finish().await?;
        Ok(Step::Done)
    }
}

impl ExtractText {
    /// Stores the text, and announces it. A file that was deleted meanwhile is left alone.
    async fn store(
        &self,
        call: &Call,
        tenant: Uuid,
        chunk: &mut Chunk<'_>,
        text: Option<Text>,
        state: &str,
    ) -> Result<()> {
        let connection = chunk.connection();
        let stored = extraction::store(connection, tenant, self.file, text.as_ref(), state).await?;
        if let Some(file) = stored {
            announce(connection, call, tenant, None, &[file.event("updated")]).await?;
        }
        Ok(())
    }
}

/// Reads the object and extracts its text; `None` for a blank one.
async fn extract(call: &Call, file: &PendingFile) -> Result<Option<Text>> {
    let files = call.provided::<Files>()?;
    let length = file.file_size.unsigned_abs();
    let parser = DocumentKind::of(&file.mime_type, length).zip(files.extractor.as_ref());
    let ocr = files.ocr(call.platform(), file.requires_ocr, &file.mime_type, length);
    if parser.is_none() && ocr.is_none() {
        return Err(Error::internal("texts are not extracted"));
    }
    let failed = |error: std::io::Error| Error::internal(error.to_string());
    if let Some((kind, extractor)) = parser {
        let (contents, _) = contents(&files, file).await?;
        let text = parts(&extractor.extract(kind, contents).await.map_err(failed)?);
        if text.is_some() {
            return Ok(text);
        }
    }
    let Some(ocr) = ocr else { return Ok(None) };
    let (contents, length) = contents(&files, file).await?;
    let document = ScannedDocument {
        mime_type: &file.mime_type,
        length,
        model: file.ocr_model.as_deref(),
        contents,
    };
    Ok(parts(&ocr.text(call, document).await?))
}

/// Opens the object. Returns its bytes and their number.
async fn contents(files: &Files, file: &PendingFile) -> Result<(Pieces, u64)> {
    let store = files.stores.open(&file.store)?;
    let opened = store.open(&file.storage_key, file.file_size.unsigned_abs()).await;
    let (opened, length) = opened.map_err(|error| store.failed(&error))?;
    let pieces = opened.pieces(0..length).await.map_err(|error| store.failed(&error))?;
    Ok((pieces, length))
}
