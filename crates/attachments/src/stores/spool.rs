//! Uploads that are still arriving.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use backoffice_core::Timestamp;
use backoffice_core::ids::Ids;
use tokio::task::spawn_blocking;

use crate::config::create_private;

/// Bytes that are collected before they are written.
const BUFFER: usize = 256 * 1024;
/// First bytes by which the type of a file is recognized.
const HEAD: usize = 8 * 1024;
/// Last bytes by which the type of an archive is recognized.
const END: u64 = 64 * 1024;

/// The name of the file that a process locks as long as it uses its folder.
const LOCK: &str = "lock";

/// A folder of this process, which other processes on the same folder do not use. It is removed with everything in it when the process ends, or at the next start after a crash.
#[derive(Debug)]
pub(crate) struct SpoolFolder {
    path: PathBuf,
    _lock: File,
}

impl SpoolFolder {
    /// Creates a folder below `parent`, and removes those of processes that no longer run.
    pub(crate) fn create(parent: &Path) -> Result<Self> {
        create_private(parent)?;
        for entry in std::fs::read_dir(parent)?.flatten() {
            if is_abandoned(&entry.path()) {
                // Another process may be removing it too.
                let _removed = std::fs::remove_dir_all(entry.path());
            }
        }
        for number in 0.. {
            let path = parent.join(format!("{}-{number}", std::process::id()));
            match private_dir().create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => {
                    created?;
                    let lock = File::create(path.join(LOCK))?;
                    lock.lock()?;
                    return Ok(Self { path, _lock: lock });
                }
            }
        }
        Err(Error::other("no name is free"))
    }
}

impl Drop for SpoolFolder {
    fn drop(&mut self) {
        let _removed = std::fs::remove_dir_all(&self.path);
    }
}

/// Returns a builder of folders that only this user may open.
fn private_dir() -> DirBuilder {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Returns whether a folder was left by a process that no longer runs. A folder whose lock does not exist is just being created.
fn is_abandoned(folder: &Path) -> bool {
    let Ok(lock) = File::open(folder.join(LOCK)) else {
        return false;
    };
    !matches!(lock.try_lock(), Err(TryLockError::WouldBlock | TryLockError::Error(_)))
}

/// A file that is arriving. It is removed when it is dropped, unless it was stored.
#[derive(Debug)]
pub(crate) struct Spool {
    path: PathBuf,
    file: Option<File>,
    buffer: Vec<u8>,
    head: Vec<u8>,
    length: u64,
    is_stored: bool,
    _folder: Arc<SpoolFolder>,
}

impl Spool {
    /// Creates an empty file.
    pub(crate) async fn create(folder: &Arc<SpoolFolder>, ids: &Ids, now: Timestamp) -> Result<Self> {
        let path = folder.path.join(ids.at(now).to_string());
        let own = path.clone();
        let open = spawn_blocking(move || {
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.open(own)
        });
        let file = open.await.map_err(Error::other)??;
        Ok(Self {
            path,
            file: Some(file),
            buffer: Vec::new(),
            head: Vec::new(),
            length: 0,
            is_stored: false,
            _folder: Arc::clone(folder),
        })
    }

    /// Returns the number of bytes.
    pub(crate) const fn length(&self) -> u64 {
        self.length
    }

    /// Returns the first 8 KiB.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Reads the last 64 KiB of the complete file, in another thread.
    pub(crate) async fn end(&self) -> Result<Vec<u8>> {
        let (path, start) = (self.path.clone(), self.length.saturating_sub(END));
        let read = spawn_blocking(move || {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(start))?;
            let mut end = Vec::new();
            file.take(END).read_to_end(&mut end)?;
            Ok::<_, Error>(end)
        });
        read.await.map_err(Error::other)?
    }

    /// Returns the path of the file, for reads.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds bytes.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.length += bytes.len() as u64;
        let missing = (HEAD - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..missing]);
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER {
            self.flush().await?;
        }
        Ok(())
    }

    /// Writes what was collected, in another thread.
    pub(crate) async fn flush(&mut self) -> Result<()> {
        let Some(mut file) = self.file.take() else {
            return Err(Error::new(ErrorKind::BrokenPipe, "an earlier write failed"));
        };
        let mut buffer = std::mem::take(&mut self.buffer);
        let write = spawn_blocking(move || {
            let written = file.write_all(&buffer);
            buffer.clear();
            written.map(|()| (file, buffer))
        });
        let (file, buffer) = write.await.map_err(Error::other)??;
        self.file = Some(file);
        self.buffer = buffer;
        Ok(())
    }

    /// Moves the complete file to its place; blocks. A reader of the place sees nothing or the whole file.
    pub(super) fn persist(mut self, place: &Path) -> Result<()> {
        let file = self.file.take();
        let file = file.ok_or_else(|| Error::new(ErrorKind::BrokenPipe, "an earlier write failed"))?;
        file.sync_all()?;
        match std::fs::rename(&self.path, place) {
            Ok(()) => self.is_stored = true,
            Err(error) if error.kind() == ErrorKind::CrossesDevices => copy(&self.path, place)?,
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if !self.is_stored {
            let _removed = std::fs::remove_file(&self.path);
        }
    }
}

/// Returns where a copy lies until it is complete.
pub(super) fn incomplete(place: &Path) -> PathBuf {
    place.with_extension("part")
}

/// Copies a file to another file system, under another name until it is complete.
fn copy(from: &Path, place: &Path) -> Result<()> {
    let aside = incomplete(place);
    let copied = std::fs::copy(from, &aside)
        .and_then(|_| File::open(&aside)?.sync_all())
        .and_then(|()| std::fs::rename(&aside, place));
    if copied.is_err() {
        let _removed = std::fs::remove_file(&aside);
    }
    copied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_process_that_no_longer_runs_is_removed() {
        let parent = std::env::temp_dir().join(format!("bo-spool-{}", std::process::id()));
        let running = SpoolFolder::create(&parent).expect("created");
        let crashed = parent.join("crashed");
        create_private(&crashed).expect("created");
        File::create(crashed.join(LOCK)).expect("created");
        File::create(crashed.join("upload")).expect("created");

        let next = SpoolFolder::create(&parent).expect("created");

        assert!(!crashed.exists());
        assert!(running.path.exists() && next.path.exists());
        drop((running, next));
        assert_eq!(std::fs::read_dir(&parent).expect("read").count(), 0);
        std::fs::remove_dir_all(&parent).expect("removed");
    }
}
