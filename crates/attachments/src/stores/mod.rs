//! Where the bytes of files lie.

mod cleanup;
mod local;
mod spool;

pub(crate) use cleanup::{background, remove_now, stage, sweep_soon};
pub(crate) use local::{Local, pieces};
pub(crate) use spool::{Spool, SpoolFolder};

use serde_json::Value;

use crate::config::Folders;

/// Opens stores.
#[derive(Debug)]
pub(crate) struct Stores {
    folders: Folders,
}

impl Stores {
    pub(crate) const fn new(folders: Folders) -> Self {
        Self { folders }
    }

    /// Opens the store with this driver and these settings; `None` if this process can't.
    pub(crate) fn open(&self, driver: &str, config: &Value) -> Option<Local> {
        let code = config.get("code").and_then(Value::as_str)?;
        (driver == "local").then(|| Local::new(self.folders.of_partition(code)))
    }
}
