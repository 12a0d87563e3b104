//! Rendered images in a folder: a bounded number of bytes in all, and of images of each file. Those used least recently are removed first.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::web::Bytes;
use backoffice_core::bounded_cache::BoundedCache;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::size::CropType;
use super::{Image, ImageBox, RENDERER, Variant};
use crate::config::create_private;

/// Most images of a file.
const MOST_OF_FILE: usize = 64;
/// Most bytes of images in memory: those that were sent last. A page of pictures costs no file access then.
const MOST_IN_MEMORY: u64 = 8 * 1024 * 1024;
/// Bytes that an image takes in memory besides its own.
const OVERHEAD: usize = 256;

/// The folder and what is in it.
#[derive(Debug, Clone)]
pub(super) struct ImageCache {
    folder: Arc<PathBuf>,
    most_bytes: u64,
    index: Arc<Mutex<Index>>,
    /// Small images that were read. One that left the index is not used any more.
    memory: BoundedCache<Variant, Bytes>,
}

/// What is in the folder, in the order of the last use.
#[derive(Debug, Default)]
struct Index {
    uses: u64,
    bytes: u64,
    by_use: BTreeMap<u64, Variant>,
    /// In the order of tenants and files.
    entries: BTreeMap<Variant, Entry>,
    of_files: HashMap<(Uuid, Uuid), usize>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    bytes: u64,
    last_use: u64,
}

impl Index {
    /// Records a use; false if the image is not in the folder.
    fn used(&mut self, variant: Variant) -> bool {
        self.uses += 1;
        let Some(entry) = self.entries.get_mut(&variant) else {
            return false;
        };
        self.by_use.remove(&entry.last_use);
        entry.last_use = self.uses;
        self.by_use.insert(self.uses, variant);
        true
    }

    /// Adds an image, as the one used last.
    fn add(&mut self, variant: Variant, bytes: u64) {
        self.remove(variant);
        self.uses += 1;
        let last_use = self.uses;
        self.entries.insert(variant, Entry { bytes, last_use });
        self.by_use.insert(last_use, variant);
        self.bytes += bytes;
        *self.of_files.entry((variant.tenant, variant.id)).or_default() += 1;
    }

    fn remove(&mut self, variant: Variant) {
        let Some(entry) = self.entries.remove(&variant) else {
            return;
        };
        self.by_use.remove(&entry.last_use);
        self.bytes -= entry.bytes;
        let file = (variant.tenant, variant.id);
        if let Some(count) = self.of_files.get_mut(&file) {
            *count -= 1;
            if *count == 0 {
                self.of_files.remove(&file);
            }
        }
    }

    /// Returns the images of a file. Costs no more for an index with many files.
    fn of_file(&self, tenant: Uuid, id: Uuid) -> impl Iterator<Item = (Variant, Entry)> {
        // The first size in the order of sizes.
        let size = ImageBox {
            width: None,
            height: None,
            crop: CropType::Cover,
        };
        let of_file = self.entries.range(Variant { tenant, id, size }..);
        of_file
            .take_while(move |(variant, _)| (variant.tenant, variant.id) == (tenant, id))
            .map(|(variant, entry)| (*variant, *entry))
    }

    /// Removes the images that are too many and returns them.
    fn surplus(&mut self, most_bytes: u64, latest: Variant) -> Vec<Variant> {
        let mut surplus = Vec::new();
        let file = (latest.tenant, latest.id);
        if self.of_files.get(&file).is_some_and(|count| *count > MOST_OF_FILE) {
            let oldest = self.of_file(file.0, file.1).min_by_key(|(_, entry)| entry.last_use);
            surplus.extend(oldest.map(|(variant, _)| variant));
            for variant in &surplus {
                self.remove(*variant);
            }
        }
        while self.bytes > most_bytes
            && let Some((_, oldest)) = self.by_use.first_key_value()
        {
            let oldest = *oldest;
            self.remove(oldest);
            surplus.push(oldest);
        }
        surplus
    }
}

impl ImageCache {
    pub(super) fn new(folder: PathBuf, most_bytes: u64) -> Self {
        let weigh = |_: &Variant, image: &Bytes| u32::try_from(image.len() + OVERHEAD).unwrap_or(u32::MAX);
        Self {
            folder: Arc::new(folder),
            most_bytes,
            index: Arc::default(),
            memory: BoundedCache::builder(MOST_IN_MEMORY).weigher(weigh).build(),
        }
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn folder_of(&self, tenant: Uuid, id: Uuid) -> PathBuf {
        self.folder.join(tenant.to_string()).join(id.to_string())
    }

    fn path(&self, variant: Variant) -> PathBuf {
        let name = format!("{}-v{RENDERER}", variant.size.name());
        self.folder_of(variant.tenant, variant.id).join(name)
    }

    /// Returns an image, if it is in the cache.
    pub(super) async fn read(&self, variant: Variant) -> Option<Image> {
        if !self.index().used(variant) {
            return None;
        }
        if let Some(bytes) = self.memory.get(&variant) {
            return Some(Image::Memory(bytes));
        }
        let path = self.path(variant);
        let read = spawn_blocking(move || Image::open(&path)).await.ok()?;
        match read {
            Ok(image) => {
                if let Image::Memory(bytes) = &image {
                    self.memory.insert(variant, bytes.clone());
                }
                Some(image)
            }
            Err(error) => {
                tracing::debug!(%error, "an image is missing in the cache");
                self.index().remove(variant);
                None
            }
        }
    }

    /// Keeps an image; under another name until it is complete. If that fails, it is rendered again the next time.
    pub(super) async fn keep(&self, variant: Variant, image: Bytes) {
        let (path, length) = (self.path(variant), image.len() as u64);
        if length > self.most_bytes {
            return;
        }
        let written = spawn_blocking(move || write(&path, &image)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(%error, "could not keep an image");
            return;
        }
        let surplus = {
            let mut index = self.index();
            index.add(variant, length);
            index.surplus(self.most_bytes, variant)
        };
        self.report();
        for variant in &surplus {
            self.memory.invalidate(variant);
        }
        let paths: Vec<PathBuf> = surplus.into_iter().map(|variant| self.path(variant)).collect();
        if !paths.is_empty() {
            let removed = spawn_blocking(move || paths.iter().for_each(|path| drop(fs::remove_file(path))));
            // Its outcome does not matter: the index no longer has them.
            let _ended = removed.await;
        }
    }

    /// Returns the files with images, and their tenants.
    pub(super) fn files(&self) -> Vec<(Uuid, Uuid)> {
        self.index().of_files.keys().copied().collect()
    }

    /// Removes the images of a file.
    pub(super) async fn forget(&self, tenant: Uuid, id: Uuid) {
        {
            let mut index = self.index();
            let variants: Vec<Variant> = index.of_file(tenant, id).map(|(variant, _)| variant).collect();
            for variant in variants {
                index.remove(variant);
                self.memory.invalidate(&variant);
            }
        }
        self.report();
        let folder = self.folder_of(tenant, id);
        let removed = spawn_blocking(move || fs::remove_dir_all(folder)).await;
        if let Ok(Err(error)) = removed
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "could not remove the images of a file");
        }
    }

    /// Reads what is in the folder, in another thread; what is rendered meanwhile is known already.
    pub(super) fn find_kept(&self) {
        let cache = self.clone();
        let find = move || {
            for tenant in entries(&cache.folder) {
                for file in entries(&tenant) {
                    for image in entries(&file) {
                        cache.find(&tenant, &file, &image);
                    }
                }
            }
            cache.report();
        };
        if let Err(error) = std::thread::Builder::new().name("images".to_owned()).spawn(find) {
            tracing::warn!(%error, "could not look for kept images");
        }
    }

    /// Adds an image that is in the folder; removes one of another renderer, or an unfinished one.
    fn find(&self, tenant: &Path, file: &Path, image: &Path) {
        let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let id = |path: &Path| name(path)?.parse::<Uuid>().ok();
        let suffix = format!("-v{RENDERER}");
        let size = name(image).and_then(|name| ImageBox::of_name(name.strip_suffix(&suffix)?));
        let (Some(tenant), Some(id), Some(size)) = (id(tenant), id(file), size) else {
            drop(fs::remove_file(image));
            return;
        };
        let variant = Variant { tenant, id, size };
        let Ok(metadata) = fs::metadata(image) else { return };
        let surplus = {
            let mut index = self.index();
            if index.entries.contains_key(&variant) {
                return;
            }
            index.add(variant, metadata.len());
            index.surplus(self.most_bytes, variant)
        };
        for variant in surplus {
            drop(fs::remove_file(self.path(variant)));
        }
    }

    fn report(&self) {
        metrics::gauge!("attachments_image_cache_bytes").set(self.index().bytes as f64);
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
}

fn write(path: &Path, image: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        create_private(folder)?;
    }
    let aside = path.with_extension("part");
    fs::write(&aside, image)?;
    fs::rename(&aside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(id: u128, width: u32) -> Variant {
        let size = ImageBox {
            width: Some(width),
            height: None,
            crop: CropType::Cover,
        };
        Variant {
            tenant: Uuid::from_u128(1),
            id: Uuid::from_u128(id),
            size,
        }
    }

    #[tokio::test]
    async fn att_20_the_least_recently_used_go_first() {
        let folder = std::env::temp_dir().join(format!("bo-images-{}", std::process::id()));
        let cache = ImageCache::new(folder.clone(), 1000);
        let image = Bytes::from_static(&[7; 10]);
        for width in 1..=64 {
            cache.keep(variant(1, width), image.clone()).await;
        }
        assert!(cache.read(variant(1, 1)).await.is_some(), "used last");

        cache.keep(variant(1, 65), image.clone()).await;

        assert_eq!(cache.index().entries.len(), 64, "of one file");
        assert!(cache.read(variant(1, 2)).await.is_none());
        assert!(cache.read(variant(1, 1)).await.is_some());
        assert!(cache.memory.get(&variant(1, 1)).is_some());
        for id in 2..=50 {
            cache.keep(variant(id, 1), image.clone()).await;
        }
        assert_eq!(cache.index().bytes, 1000, "of all files");
        assert!(cache.read(variant(1, 3)).await.is_none());
        let later = ImageCache::new(folder.clone(), 1000);
        for tenant in entries(&folder) {
            for file in entries(&tenant) {
                entries(&file).for_each(|image| later.find(&tenant, &file, &image));
            }
        }
        assert_eq!(later.index().bytes, 1000, "found again");
        assert!(later.read(variant(50, 1)).await.is_some());
        later.forget(Uuid::from_u128(1), Uuid::from_u128(50)).await;
        assert_eq!(later.index().bytes, 990);
        assert!(later.read(variant(50, 1)).await.is_none());
        assert!(later.memory.get(&variant(50, 1)).is_none());
        assert!(!later.folder_of(Uuid::from_u128(1), Uuid::from_u128(50)).exists());
        fs::remove_dir_all(folder).expect("removed");
    }
}
