//! Images of which this node knows the rows, so that a picture from the cache costs no statement.

use std::sync::Arc;

use backoffice_core::bounded_cache::BoundedCache;
use backoffice_core::cache::TenantCache;
use backoffice_core::command::Tx;
use backoffice_core::context::Call;
use backoffice_core::{Result, Scope, Timestamp};
use serde_json::Value;
use time::Duration;
use uuid::Uuid;

use crate::model::{ATTACHMENT, Attachment, PARTITION};

/// Most images of a tenant; those used least recently are dropped.
const MOST_IMAGES: u64 = 256;
/// Bytes of all of them, as they are estimated.
const BYTES: usize = 512 * 1024;
/// Time for which an image is known whose record must exist, because the versions of its kind are not read here.
const RECORD_EXISTS: Duration = Duration::SECOND;

/// An image, without tags, assignments and fields. The place of its bytes may have changed since, because moving files changes no version.
#[derive(Debug)]
pub(crate) struct KnownImage {
    pub(crate) row: Attachment,
    /// Whether everybody may read it.
    pub(crate) is_public: bool,
    /// When the record of the file existed; `None` if the file does not depend on a record.
    record_existed_at: Option<Timestamp>,
}

impl KnownImage {
    fn holds(&self, now: Timestamp) -> bool {
        self.record_existed_at
            .is_none_or(|at| at <= now && now < at.after(RECORD_EXISTS))
    }
}

/// Images of a tenant whose rows have not changed.
#[derive(Debug)]
pub struct ImagesOfTenant(BoundedCache<Uuid, Arc<KnownImage>>);

/// The images of all tenants, which the module provides.
pub type KnownImages = TenantCache<ImagesOfTenant>;

pub(crate) fn new_cache() -> KnownImages {
    TenantCache::new(&[ATTACHMENT, PARTITION], |_| BYTES)
}

impl ImagesOfTenant {
    /// Returns a known image.
    pub(crate) fn find(&self, id: Uuid, now: Timestamp) -> Option<Arc<KnownImage>> {
        self.0.get(&id).filter(|known| known.holds(now))
    }

    /// Keeps an image whose row was read after this value was requested, and after `record_existed_at` if it depends on its record.
    pub(crate) fn keep(&self, row: &Attachment, is_public: bool, record_existed_at: Option<Timestamp>) {
        // What users store with a file may be long, and a picture does not show it.
        let row = Attachment {
            tags: Vec::new(),
            assignments: Value::Null,
            custom_fields: Value::Null,
            ..row.clone()
        };
        let known = KnownImage {
            row,
            is_public,
            record_existed_at,
        };
        self.0.insert(known.row.id, Arc::new(known));
    }
}

/// Returns the known images of a tenant. Rows that are read from now on may be added: when one of them changes, the value is dropped, on this
/// node with the commit and on others up to a second later (decision 10).
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn images_of(call: &Call, tenant: Uuid) -> Result<Arc<ImagesOfTenant>> {
    let cache = call.provided::<KnownImages>()?;
    if let Some(known) = cache.find(tenant) {
        return Ok(known);
    }
    let mut connection = call.database().read(&Scope::tenant(tenant)).await?;
    let none = || ImagesOfTenant(BoundedCache::new(MOST_IMAGES));
    cache
        .get(&mut connection, tenant, move |_, _| Box::pin(async move { Ok(none()) }))
        .await
}

/// Drops the images of the transaction's tenant on this node when the transaction is committed.
///
/// # Errors
/// When the module was not started.
pub(crate) fn forget(tx: &mut Tx<'_>) -> Result<()> {
    let (cache, tenant) = (tx.context().call().provided::<KnownImages>()?, tx.tenant());
    tx.after_commit(move || cache.forget(tenant));
    Ok(())
}
