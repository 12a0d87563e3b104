//! What the endpoints share: configuration, stores, and what bounds concurrent uploads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use backoffice_core::batches::Batches;
use backoffice_core::{Platform, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use crate::config::AttachmentsConfig;
use crate::error::Error;
use crate::extraction::{DocumentKind, Extractor, OcrProvider};
use crate::images::Images;
use crate::query::attachments::Stored;
use crate::stores::{SpoolFolder, Stores};
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
    of_tenants: Arc<Mutex<HashMap<Uuid, usize>>>,
}

/// A place among the uploads of the process and of a tenant; released when dropped.
#[derive(Debug)]
pub(crate) struct UploadPermit {
    of_tenants: Arc<Mutex<HashMap<Uuid, usize>>>,
    tenant: Uuid,
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
            of_tenants: Arc::default(),
        }
    }

    /// Takes a place for an upload.
    ///
    /// # Errors
    /// 503 `uploads_busy` when the process or the tenant has no more.
    pub(crate) fn upload_permit(&self, tenant: Uuid) -> Result<UploadPermit> {
        let of_process = Arc::clone(&self.uploads).try_acquire_owned().map_err(|_| Error::Busy)?;
        let mut of_tenants = self.of_tenants.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = of_tenants.entry(tenant).or_default();
        if *taken >= self.config.per_tenant {
            return Err(Error::Busy.into());
        }
        *taken += 1;
        Ok(UploadPermit {
            of_tenants: Arc::clone(&self.of_tenants),
            tenant,
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

impl Drop for UploadPermit {
    fn drop(&mut self) {
        let mut of_tenants = self.of_tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = of_tenants.get_mut(&self.tenant) {
            *taken -= 1;
            if *taken == 0 {
                of_tenants.remove(&self.tenant);
            }
        }
    }
}
