//! What the endpoints share: configuration, stores, and the slots of concurrent uploads.

use std::io::{Error as IoError, ErrorKind};
use std::sync::Arc;

use backoffice_core::batches::Batches;
use backoffice_core::shares::{Share, Shares};
use backoffice_core::{Platform, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use crate::config::AttachmentsConfig;
use crate::error::Error;
use crate::extraction::{DocumentKind, Extractor, OcrProvider};
use crate::images::Images;
use crate::query::attachments::Stored;
use crate::stores::{Driver, SpoolFolder, Stores};
use crate::upload::is_read_at_once;

/// The files of this process.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) config: AttachmentsConfig,
    pub(crate) stores: Stores,
    pub(crate) spool: Arc<SpoolFolder>,
    pub(crate) images: Images,
    /// Files of a tenant by their ids, for requests of their bytes.
    pub(crate) by_id: Batches<Uuid, Uuid, Stored>,
    /// Extracts texts after uploads, if that is configured.
    pub(crate) extractor: Option<Extractor>,
    uploads: Arc<Semaphore>,
    of_tenants: Shares<Uuid>,
    of_principals: Shares<Uuid>,
}

/// A slot among the uploads of the process, of a tenant and of a principal; released when dropped.
#[derive(Debug)]
pub(crate) struct UploadPermit {
    _of_principal: Share<Uuid>,
    _of_tenant: Share<Uuid>,
    _of_process: OwnedSemaphorePermit,
}

impl Files {
    pub(crate) fn new(config: AttachmentsConfig, stores: Stores, spool: SpoolFolder, images: Images) -> Self {
        let program = config.extract_program.clone().filter(|_| config.extract_text);
        Self {
            extractor: program.map(Extractor::new),
            uploads: Arc::new(Semaphore::new(config.max_concurrent_uploads)),
            config,
            stores,
            spool: Arc::new(spool),
            images,
            by_id: Batches::default(),
            of_tenants: Shares::default(),
            of_principals: Shares::default(),
        }
    }

    /// Takes a slot for an upload.
    ///
    /// # Errors
    /// 503 `uploads_busy` when the process, the tenant or the principal has no more.
    pub(crate) fn upload_permit(&self, tenant: Uuid, principal: Uuid) -> Result<UploadPermit> {
        let of_principal = self.of_principals.take(principal, self.config.per_principal());
        let of_principal = of_principal.ok_or(Error::Busy)?;
        let of_tenant = self
            .of_tenants
            .take(tenant, self.config.per_tenant)
            .ok_or(Error::Busy)?;
        let of_process = Arc::clone(&self.uploads).try_acquire_owned().map_err(|_| Error::Busy)?;
        Ok(UploadPermit {
            _of_principal: of_principal,
            _of_tenant: of_tenant,
            _of_process: of_process,
        })
    }

    /// Returns whether the text of a file of this media type and length is extracted after its upload.
    pub(crate) fn extracts(&self, mime_type: &str, length: u64) -> bool {
        self.extractor.is_some() && !is_read_at_once(mime_type, length) && DocumentKind::of(mime_type, length).is_some()
    }

    /// Returns what recognizes the text of a file of this media type and length, in a partition that requires it or not.
    pub(crate) fn ocr(
        &self,
        platform: &Platform,
        is_required: bool,
        mime_type: &str,
        length: u64,
    ) -> Option<OcrProvider> {
        let is_read = is_required && OcrProvider::reads(mime_type, length);
        OcrProvider::named(platform, self.config.ocr.provider.as_deref()).filter(|_| is_read)
    }

    /// Returns the quota of a tenant without one of its own.
    pub(crate) fn default_quota(&self) -> i64 {
        i64::try_from(self.config.tenant_quota).unwrap_or(i64::MAX)
    }
}

/// Counts and logs that the bytes of a file could not be read. Returns its rejection: the bytes are missing, or a bucket does not respond.
pub(crate) fn unreadable(store: &Driver, id: Uuid, error: &IoError) -> Error {
    let error_text = store.failed(error);
    tracing::error!(error = %error_text, attachment = %id, "the bytes of a file can't be read");
    match (store, error.kind()) {
        (Driver::S3(_), kind) if kind != ErrorKind::NotFound => Error::UnreadableAtPresent,
        _ => {
            metrics::counter!("attachments_missing_total").increment(1);
            Error::BytesMissing
        }
    }
}
