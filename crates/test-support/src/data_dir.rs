//! The folder of the files of an application.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder of its own for each application; removed when dropped. It is created when something is written.
#[derive(Debug)]
pub(crate) struct DataDir(PathBuf);

impl DataDir {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("backoffice-data-{}-{number}", std::process::id())))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        // Most applications write nothing.
        let _missing = std::fs::remove_dir_all(&self.0);
    }
}
