//! Files in a folder.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_web::web::Bytes;
use backoffice_core::Error as CoreError;
use backoffice_core::http::Pieces;
use futures_util::StreamExt;
use futures_util::stream;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::Spool;
use super::spool::incomplete;
use crate::config::create_private;

/// Bytes of a piece while few files are read at once.
const PIECE: u64 = 64 * 1024;
/// Bytes of a piece while more are: a piece stays in memory until the client has taken it, and many clients may be slow.
const SMALL_PIECE: u64 = 32 * 1024;
/// Files that are read at once in pieces of full size.
const FEW: usize = 32;

/// Pieces that are read at once. More threads would not read faster, and every other request would wait for its turn among them.
const READS: usize = 8;

/// Counts the files that this process reads at once, which decides how much memory the pieces of each may take, and bounds how many pieces are read at
/// once.
#[derive(Debug, Clone)]
pub(crate) struct Readers {
    files: Arc<AtomicUsize>,
    /// A permit is held while a piece is read, and not while the client takes it.
    reads: Arc<Semaphore>,
}

impl Default for Readers {
    fn default() -> Self {
        Self {
            files: Arc::default(),
            reads: Arc::new(Semaphore::new(READS)),
        }
    }
}

/// A file that is being read; it no longer counts when this is dropped.
#[derive(Debug)]
struct Reading(Readers);

/// A folder with files. Their keys are paths of ids below it.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    root: PathBuf,
    readers: Readers,
}

impl Local {
    pub(crate) const fn new(root: PathBuf, readers: Readers) -> Self {
        Self { root, readers }
    }

    /// Returns what counts the files that are read.
    pub(crate) const fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Returns the folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the length of a file; `None` if it does not exist.
    pub(crate) async fn length(&self, key: &str) -> Result<Option<u64>> {
        let (root, key) = (self.root.clone(), key.to_owned());
        blocking(move || match inside(&root, &key).and_then(std::fs::symlink_metadata) {
            Ok(found) => Ok(Some(found.len())),
            Err(error) if [ErrorKind::NotFound, ErrorKind::InvalidInput].contains(&error.kind()) => Ok(None),
            Err(error) => Err(error),
        })
        .await
    }

    /// Stores an upload under a key. When this returns, the file and its name are on the disk; before, nothing is visible under the key.
    pub(crate) async fn put(&self, key: &str, spool: Spool) -> Result<()> {
        let (root, key) = (self.root.clone(), key.to_owned());
        blocking(move || {
            create_private(&root)?;
            let path = inside(&root, &key)?;
            let folder = path.parent().unwrap_or(&root);
            create_synced(&root, folder)?;
            spool.persist(&path)?;
            sync(folder)
        })
        .await
    }

    /// Stores a file of a few bytes under a key.
    pub(crate) async fn put_bytes(&self, key: &str, bytes: [u8; 16]) -> Result<()> {
        let (root, own) = (self.root.clone(), key.to_owned());
        blocking(move || {
            create_private(&root)?;
            let path = inside(&root, &own)?;
            create_synced(&root, path.parent().unwrap_or(&root))?;
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(path)?;
            file.write_all(&bytes)?;
            file.sync_all()
        })
        .await
    }

    /// Removes a file, and an incomplete copy of it; one that does not exist is removed.
    pub(crate) async fn remove(&self, key: &str) -> Result<()> {
        let (root, key) = (self.root.clone(), key.to_owned());
        blocking(move || {
            let path = inside(&root, &key)?;
            for path in [incomplete(&path), path] {
                match std::fs::remove_file(path) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            Ok(())
        })
        .await
    }

    /// Opens a file and returns its length.
    pub(crate) async fn open(&self, key: &str) -> Result<(File, u64)> {
        let (root, key) = (self.root.clone(), key.to_owned());
        blocking(move || {
            let file = File::open(inside(&root, &key)?)?;
            let length = file.metadata()?.len();
            Ok((file, length))
        })
        .await
    }

    /// Reads a whole file of at most `most` bytes.
    pub(crate) async fn read(&self, key: &str, most: u64) -> Result<Vec<u8>> {
        let (file, length) = self.open(key).await?;
        if length > most {
            return Err(Error::new(ErrorKind::FileTooLarge, "the file is too large"));
        }
        blocking(move || {
            let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
            file.take(most).read_to_end(&mut bytes)?;
            Ok(bytes)
        })
        .await
    }
}

impl Readers {
    /// Returns the bytes of a range of an open file, piece by piece.
    pub(crate) fn pieces(&self, file: File, range: Range<u64>) -> Pieces {
        let state = (file, range.start, range.end, Reading::new(self));
        stream::try_unfold(state, |(file, at, end, reading)| async move {
            if at >= end {
                return Ok(None);
            }
            let permit = Arc::clone(&reading.0.reads).acquire_owned().await.map_err(failed)?;
            let length = usize::try_from((end - at).min(reading.0.piece())).unwrap_or(0);
            let read = spawn_blocking(move || {
                let _permit = permit;
                let (mut file, mut piece) = (file, vec![0; length]);
                file.seek(SeekFrom::Start(at))?;
                file.read_exact(&mut piece)?;
                Ok((piece, file))
            });
            let read: Result<(Vec<u8>, File)> = read.await.map_err(failed)?;
            let (piece, file) = read.map_err(failed)?;
            Ok(Some((Bytes::from(piece), (file, at + length as u64, end, reading))))
        })
        .boxed()
    }

    /// Returns the most bytes of the next piece of a file.
    fn piece(&self) -> u64 {
        if self.files.load(Ordering::Relaxed) <= FEW {
            PIECE
        } else {
            SMALL_PIECE
        }
    }
}

impl Reading {
    fn new(readers: &Readers) -> Self {
        readers.files.fetch_add(1, Ordering::Relaxed);
        Self(readers.clone())
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.files.fetch_sub(1, Ordering::Relaxed);
    }
}

fn failed(error: impl std::fmt::Display) -> CoreError {
    CoreError::internal(format!("could not read a file: {error}"))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    spawn_blocking(work).await.map_err(Error::other)?
}

/// Returns the path of a key. Rejects keys that are no plain path, and symbolic links on the way.
fn inside(root: &Path, key: &str) -> Result<PathBuf> {
    let mut path = root.to_path_buf();
    for part in key.split('/') {
        let is_plain = part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if part.is_empty() || !is_plain {
            return Err(Error::new(ErrorKind::InvalidInput, "not a key of an object"));
        }
        path.push(part);
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => {
                return Err(Error::new(ErrorKind::InvalidInput, "a symbolic link is in the way"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(path)
}

/// Creates a folder below the root, with its parents, so that it is still there after a crash.
fn create_synced(root: &Path, folder: &Path) -> Result<()> {
    if folder == root || folder.is_dir() {
        return Ok(());
    }
    let parent = folder.parent().unwrap_or(root);
    create_synced(root, parent)?;
    create_private(folder)?;
    sync(parent)
}

/// Writes the entries of a folder to the disk.
fn sync(folder: &Path) -> Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_smaller_while_many_files_are_read() {
        let readers = Readers::default();

        let few: Vec<Reading> = (0..FEW).map(|_| Reading::new(&readers)).collect();
        assert_eq!(readers.piece(), PIECE);
        let one_more = Reading::new(&readers);
        assert_eq!(readers.piece(), SMALL_PIECE);

        drop(one_more);
        assert_eq!(readers.piece(), PIECE);
        drop(few);
        assert_eq!(readers.files.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn files_whose_clients_wait_do_not_keep_others_from_being_read() {
        let path = std::env::temp_dir().join(format!("bo-readers-{}", std::process::id()));
        let length = 3 * SMALL_PIECE;
        std::fs::write(&path, vec![7; usize::try_from(length).expect("short")]).expect("written");
        let readers = Readers::default();
        let open = || readers.pieces(File::open(&path).expect("there"), 0..length);
        let mut waiting: Vec<Pieces> = (0..4 * READS).map(|_| open()).collect();
        for pieces in &mut waiting {
            pieces.next().await.expect("a piece").expect("read");
        }

        assert_eq!(readers.reads.available_permits(), READS);
        let whole: Vec<_> = open().map(|piece| piece.expect("read").len() as u64).collect().await;
        assert_eq!(whole.iter().sum::<u64>(), length);
        drop(waiting);
        std::fs::remove_file(path).expect("removed");
    }

    #[test]
    fn a_key_stays_below_the_root_and_passes_no_link() {
        let root = std::env::temp_dir().join(format!("bo-local-{}", std::process::id()));
        std::fs::create_dir_all(root.join("real")).expect("created");
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc", root.join("link")).expect("linked");

        assert!(inside(&root, "real/019a-b_C").is_ok());
        for key in ["../x", "", "a//b", "/etc/passwd", "real/..", "real/a.b"] {
            assert!(inside(&root, key).is_err(), "{key}");
        }
        #[cfg(unix)]
        assert!(inside(&root, "link/passwd").is_err());
        std::fs::remove_dir_all(&root).expect("removed");
    }
}
