//! Images in requested sizes: rendered on threads of their own, and kept in a folder.

mod cache;
mod png;
mod render;
mod size;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::web::Bytes;
use backoffice_core::blocking::Pool;
use backoffice_core::bounded_cache::BoundedCache;
use backoffice_core::shares::Shares;
use backoffice_core::{Error as CoreError, Result};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::sync::Semaphore;
use uuid::Uuid;

use cache::ImageCache;
pub(crate) use size::ImageBox;

use crate::config::AttachmentsConfig;
use crate::error::Error;
use crate::files::unreadable;
use crate::stores::Driver;

/// Images that wait for a thread.
const QUEUE: usize = 64;
/// Images of the files of one tenant that wait or are rendered at once, so that the queue has positions for others.
const MOST_OF_TENANT: usize = 48;
/// Images that wait or are rendered at once for one user or API key.
const MOST_OF_PRINCIPAL: usize = 32;
/// Images that wait or are rendered at once for the visitors from one network.
const MOST_OF_NETWORK: usize = 16;
/// Threads that render. One processor, if there are several, is left to other requests: threads of low priority are not interrupted at once.
const MOST_THREADS: usize = 4;
/// Time for one image, with all waits.
const DEADLINE: Duration = Duration::from_secs(15);
/// For this time a file that could not be rendered is not tried again.
const FAILED: Duration = Duration::from_secs(60);
/// Files that are known to fail.
const MOST_FAILED: u64 = 10_000;
/// Largest file that is rendered.
const MAX_SOURCE: u64 = 25 * 1024 * 1024;
/// Most pixels of an image that is rendered.
const MAX_PIXELS: u64 = 40_000_000;
/// Version of the renderer, which changes when the bytes of its images do.
pub(crate) const RENDERER: u32 = 2;
/// Bytes of a permit of the semaphore.
const UNIT: u64 = 64 * 1024;

/// The file from which an image is rendered.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) tenant: Uuid,
    pub(crate) id: Uuid,
    pub(crate) storage_key: String,
    pub(crate) store: Driver,
    pub(crate) file_size: i64,
    pub(crate) width: i32,
    pub(crate) height: i32,
}

/// A requested image of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Variant {
    pub(crate) tenant: Uuid,
    pub(crate) id: Uuid,
    pub(crate) size: ImageBox,
}

/// The caller for whom an image is rendered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Requester {
    /// A user or an API key.
    Principal(Uuid),
    /// A visitor from a network.
    Visitor(String),
}

impl Requester {
    /// Returns the number of images that are rendered for this caller at once.
    const fn most(&self) -> usize {
        match self {
            Self::Principal(_) => MOST_OF_PRINCIPAL,
            Self::Visitor(_) => MOST_OF_NETWORK,
        }
    }
}

/// Bytes of an image that is read into memory; others are sent from their file, so that slow clients hold no memory.
const SMALL: u64 = 64 * 1024;
/// Bytes by which the type of an image is recognized.
const HEAD: usize = 16;

/// A rendered image.
#[derive(Debug)]
pub(crate) enum Image {
    /// A small one, or one that could not be kept.
    Memory(Bytes),
    /// One in the cache, which may be removed there while it is sent.
    File { file: File, length: u64, head: [u8; HEAD] },
}

impl Image {
    /// Opens an image; blocks.
    fn open(path: &Path) -> std::io::Result<Self> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        if length <= SMALL {
            let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
            file.read_to_end(&mut bytes)?;
            return Ok(Self::Memory(bytes.into()));
        }
        let mut head = [0; HEAD];
        file.read_exact(&mut head)?;
        Ok(Self::File { file, length, head })
    }

    /// Returns the number of bytes.
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }

    /// Returns the media type.
    pub(crate) fn content_type(&self) -> &'static str {
        render::content_type_of(match self {
            Self::Memory(bytes) => bytes,
            Self::File { head, .. } => head,
        })
    }
}

/// The outcome of a render, which all requests that wait for it share.
type Outcome = Result<Bytes, Error>;
type Rendering = Shared<BoxFuture<'static, Outcome>>;

/// Renders and keeps images.
#[derive(Clone)]
pub(crate) struct Images(Arc<Inner>);

struct Inner {
    cache: ImageCache,
    pool: Pool<()>,
    memory: Arc<Semaphore>,
    units: u64,
    of_tenants: Shares<Uuid>,
    of_requesters: Shares<Requester>,
    renderings: Mutex<HashMap<Variant, Rendering>>,
    failed: BoundedCache<Variant, Error>,
}

impl std::fmt::Debug for Images {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Images").finish_non_exhaustive()
    }
}

impl Images {
    pub(crate) fn new(config: &AttachmentsConfig, folder: PathBuf) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let units = (config.render_memory / UNIT).max(1);
        Self(Arc::new(Inner {
            cache: ImageCache::new(folder, config.image_cache),
            pool: Pool::new("render", cores.saturating_sub(1).clamp(1, MOST_THREADS), QUEUE, 1),
            memory: Arc::new(Semaphore::new(usize::try_from(units).unwrap_or(Semaphore::MAX_PERMITS))),
            units,
            of_tenants: Shares::default(),
            of_requesters: Shares::default(),
            renderings: Mutex::default(),
            failed: BoundedCache::builder(MOST_FAILED).time_to_live(FAILED).build(),
        }))
    }

    /// Reads the names and sizes of the images that earlier processes kept.
    pub(crate) fn find_kept(&self) {
        self.0.cache.find_kept();
    }

    /// Removes the images of a file.
    pub(crate) async fn forget(&self, tenant: Uuid, id: Uuid) {
        self.0.cache.forget(tenant, id).await;
    }

    /// Returns an image that is in the cache.
    pub(crate) async fn kept(&self, variant: Variant) -> Option<Image> {
        let kept = self.0.cache.read(variant).await?;
        metrics::counter!("attachments_image_cache_hits_total").increment(1);
        Some(kept)
    }

    /// Returns the files whose images are in the cache, with their tenants.
    pub(crate) fn kept_files(&self) -> Vec<(Uuid, Uuid)> {
        self.0.cache.files()
    }

    /// Returns an image of a file in a size. Equal requests at the same time share one computation, which begins after `admit`.
    ///
    /// # Errors
    /// 400 for files that can't be rendered, 404 when the bytes are missing, 503 when too many images are waiting, in all or for this caller, or the
    /// store does not respond, 500 when the computation fails; those of `admit`.
    pub(crate) async fn get<F>(&self, source: &Source, size: ImageBox, requester: Requester, admit: F) -> Result<Image>
    where
        F: AsyncFnOnce(&Requester) -> Result<()>,
    {
        let pixels = u64::from(source.width.unsigned_abs()) * u64::from(source.height.unsigned_abs());
        if pixels > MAX_PIXELS || source.file_size.unsigned_abs() > MAX_SOURCE {
            return Err(Error::ImageTooLarge.into());
        }
        let variant = Variant {
            tenant: source.tenant,
            id: source.id,
            size,
        };
        if let Some(kept) = self.kept(variant).await {
            return Ok(kept);
        }
        if let Some(failed) = self.0.failed.get(&variant) {
            return Err(failed.into());
        }
        if !self.renderings().contains_key(&variant) {
            admit(&requester).await?;
        }
        let bytes = self.shared(source, variant, requester).await?;
        if bytes.len() as u64 <= SMALL {
            return Ok(Image::Memory(bytes));
        }
        let kept = self.0.cache.read(variant).await;
        Ok(kept.unwrap_or(Image::Memory(bytes)))
    }

    fn renderings(&self) -> MutexGuard<'_, HashMap<Variant, Rendering>> {
        self.0.renderings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins the computation of an image, or begins it.
    fn shared(&self, source: &Source, variant: Variant, requester: Requester) -> Rendering {
        let (inner, source) = (Arc::clone(&self.0), source.clone());
        self.join(variant, async move { inner.render(&source, variant, requester).await })
    }

    /// Joins the computation of an image, or begins it with this work. It goes on in a task of its own, so that it survives the request that began it.
    fn join<F>(&self, variant: Variant, work: F) -> Rendering
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let mut renderings = self.renderings();
        if let Some(rendering) = renderings.get(&variant) {
            return rendering.clone();
        }
        let images = self.clone();
        let task = tokio::spawn(async move {
            // Created by the task: a runtime that shuts down drops it at once, while the mutex is locked.
            let under_way = UnderWay { images, variant };
            let inner = &under_way.images.0;
            let rendered = tokio::time::timeout(DEADLINE, work).await;
            let outcome = rendered.unwrap_or(Err(Error::RenderBusy));
            if let Err(error) = outcome
                && !matches!(error, Error::RenderBusy | Error::UnreadableAtPresent)
            {
                inner.failed.insert(variant, error);
            }
            let word = if outcome.is_ok() { "rendered" } else { "failed" };
            metrics::counter!("attachments_renders_total", "outcome" => word).increment(1);
            outcome
        });
        let rendering = task
            .map(|ended| ended.unwrap_or(Err(Error::RenderFailed)))
            .boxed()
            .shared();
        renderings.insert(variant, rendering.clone());
        rendering
    }
}

/// A computation that requests can join until its task ends, even by a panic.
struct UnderWay {
    images: Images,
    variant: Variant,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.images.renderings().remove(&self.variant);
    }
}

impl Inner {
    async fn render(&self, source: &Source, variant: Variant, requester: Requester) -> Outcome {
        let most = requester.most();
        let of_requester = self.of_requesters.take(requester, most);
        let _of_requester = of_requester.ok_or(Error::RenderBusy)?;
        let of_tenant = self.of_tenants.take(variant.tenant, MOST_OF_TENANT);
        let _of_tenant = of_tenant.ok_or(Error::RenderBusy)?;
        let position = self.pool.queue_position().ok_or(Error::RenderBusy)?;
        let permit = self.pool.acquire(position).await.map_err(|_| Error::RenderFailed)?;
        let read = source.store.read(&source.storage_key, MAX_SOURCE).await;
        let file = read.map_err(|error| unreadable(&source.store, source.id, &error))?;
        let failed = |error: CoreError| {
            tracing::error!(%error, attachment = %source.id, "could not render an image");
            Error::RenderFailed
        };
        let header = move |(): &mut ()| {
            let bytes = render::memory(&file, variant.size);
            (file, bytes)
        };
        let (file, bytes) = self.pool.run(&permit, header).await.map_err(failed)?;
        let units = u32::try_from((bytes? / UNIT + 1).min(self.units)).unwrap_or(u32::MAX);
        let memory = Arc::clone(&self.memory).acquire_many_owned(units).await;
        let memory = memory.map_err(|_| Error::RenderFailed)?;
        let work = move |(): &mut ()| {
            // Released when the memory is, even if no request waits any more.
            let _memory = memory;
            render::render(&file, variant.size)
        };
        let started = started();
        let image = self.pool.run(&permit, work).await.map_err(failed)??;
        metrics::histogram!("attachments_render_seconds").record(started.elapsed().as_secs_f64());
        let image = Bytes::from(image);
        self.cache.keep(variant, image.clone()).await;
        Ok(image)
    }
}

#[expect(clippy::disallowed_methods, reason = "measures a duration; no business code sees it")]
fn started() -> std::time::Instant {
    std::time::Instant::now()
}

#[cfg(test)]
mod tests {
    use super::size::CropType;
    use super::*;

    #[tokio::test]
    async fn an_image_is_computed_again_after_a_panic() {
        let images = Images::new(&AttachmentsConfig::default(), std::env::temp_dir());
        let size = ImageBox {
            width: Some(10),
            height: None,
            crop: CropType::Cover,
        };
        let variant = Variant {
            tenant: Uuid::from_u128(1),
            id: Uuid::from_u128(2),
            size,
        };

        let first = images.join(variant, async { panic!("a defect") }).await;
        let second = images.join(variant, async { Ok(Bytes::from_static(b"image")) }).await;

        assert_eq!(first, Err(Error::RenderFailed));
        assert_eq!(second, Ok(Bytes::from_static(b"image")));
        assert!(images.renderings().is_empty());
    }
}
