//! Where the bytes of files lie.

mod cleanup;
mod local;
mod probes;
mod s3;
mod spool;

use std::fs::File;
use std::io::{Error as IoError, ErrorKind, Result as IoResult};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use backoffice_core::bounded_cache::BoundedCache;
use backoffice_core::http::Pieces;
use backoffice_core::vault::Vault;
use backoffice_core::{Error as CoreError, Result};
use backoffice_egress::{Client, ClientOptions, Egress};
use secrecy::ExposeSecret;
use uuid::Uuid;

use crate::config::Folders;
use crate::error::Error;
use crate::model::{CREDENTIALS, StoreSettings};
pub use cleanup::CleanUp;
pub(crate) use cleanup::{clean_up, note_upload, remove_now, stage, sweep, sweep_soon};
pub(crate) use local::{Local, Readers};
pub(crate) use probes::{is_same_place, probe};
use s3::PartMemory;
pub(crate) use s3::{AuthMode, Credentials, REDACTED, S3, S3Settings, violation};
pub(crate) use spool::{Spool, SpoolFolder};

/// Buckets whose connections are kept.
const KEPT_BUCKETS: u64 = 256;
/// Time for which the connections of an unused bucket are kept.
const KEPT: Duration = Duration::from_secs(600);
/// Pairs of stores of which a process knows whether they are the same place, and the time for which it knows that.
const KNOWN_PAIRS: u64 = 1000;
const KNOWN: Duration = Duration::from_secs(600);
/// The addresses from which a machine gets credentials of its own.
const METADATA: [&str; 3] = ["169.254.169.254", "169.254.170.2", "169.254.170.23"];

/// Opens stores.
#[derive(Debug)]
pub(crate) struct Stores {
    folders: Folders,
    vault: Arc<Vault>,
    egress: Egress,
    clients: [OnceLock<Client>; 2],
    buckets: BoundedCache<(Uuid, Uuid), Bucket>,
    /// Whether two stores are the same place, as a probe has shown.
    same_places: BoundedCache<[Uuid; 2], bool>,
    memory: Arc<PartMemory>,
    readers: Readers,
}

/// An opened bucket, and the settings with which it was opened.
#[derive(Debug, Clone)]
struct Bucket {
    settings: StoreSettings,
    s3: S3,
}

/// An opened store.
#[derive(Debug, Clone)]
pub(crate) enum Driver {
    /// A folder.
    Local(Local),
    /// A bucket.
    S3(S3),
}

/// The bytes of a file, not read yet.
#[derive(Debug)]
pub(crate) enum Opened {
    /// An open file.
    File(File, Readers),
    /// An object, by its key.
    Object(S3, String),
}

impl Stores {
    pub(crate) fn new(folders: Folders, vault: Arc<Vault>, egress: Egress) -> Self {
        Self {
            folders,
            vault,
            egress,
            clients: Default::default(),
            buckets: BoundedCache::builder(KEPT_BUCKETS).time_to_idle(KEPT).build(),
            same_places: BoundedCache::builder(KNOWN_PAIRS).time_to_live(KNOWN).build(),
            memory: Arc::new(PartMemory::new()),
            readers: Readers::default(),
        }
    }

    /// Returns what decides about the addresses of endpoints.
    pub(crate) const fn egress(&self) -> &Egress {
        &self.egress
    }

    /// Returns what counts the files that are read.
    pub(crate) const fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Opens a store.
    ///
    /// # Errors
    /// 500 when its settings or credentials can't be read.
    pub(crate) fn open(&self, settings: &StoreSettings) -> Result<Driver> {
        let opened = match settings.driver.as_str() {
            "local" => self.open_local(settings),
            _ => self.open_bucket(settings),
        };
        opened.map_err(|error| {
            tracing::error!(%error, store = %settings.store_id, "a store can't be opened");
            Error::Misconfigured.into()
        })
    }

    fn open_local(&self, settings: &StoreSettings) -> Result<Driver> {
        let code = settings.config.get("code").and_then(|code| code.as_str());
        let code = code.ok_or_else(|| CoreError::internal("a local store has no code"))?;
        Ok(Driver::Local(Local::new(
            self.folders.of_partition(code),
            self.readers.clone(),
        )))
    }

    fn open_bucket(&self, settings: &StoreSettings) -> Result<Driver> {
        let key = (settings.store_tenant_id, settings.store_id);
        if let Some(bucket) = self.buckets.get(&key)
            && bucket.settings == *settings
        {
            return Ok(Driver::S3(bucket.s3));
        }
        let own: S3Settings = serde_json::from_value(settings.config.clone())?;
        let credentials = self.credentials(settings)?;
        let s3 = S3::new(
            &own,
            &credentials,
            self.client(own.auth_mode)?,
            settings.store_tenant_id,
            Arc::clone(&self.memory),
        )?;
        let bucket = Bucket {
            settings: settings.clone(),
            s3: s3.clone(),
        };
        self.buckets.insert(key, bucket);
        Ok(Driver::S3(s3))
    }

    /// Opens the credentials of a store.
    pub(crate) fn credentials(&self, settings: &StoreSettings) -> Result<Credentials> {
        let Some(sealed) = &settings.credentials else {
            return Ok(Credentials::default());
        };
        let place = CREDENTIALS.of(settings.store_id);
        let opened = self.vault.open(settings.store_tenant_id, place, sealed)?;
        Credentials::from_bytes(opened.expose_secret())
    }

    /// Returns the client for requests that are signed in this way.
    fn client(&self, mode: AuthMode) -> Result<Client> {
        let failed = |error: backoffice_core::config::ConfigError| CoreError::internal(error.to_string());
        let kept = &self.clients[usize::from(mode == AuthMode::Ambient)];
        if let Some(client) = kept.get() {
            return Ok(client.clone());
        }
        let egress = match mode {
            AuthMode::AccessKeys => self.egress.clone(),
            AuthMode::Ambient => {
                let metadata = METADATA.map(str::to_owned);
                self.egress.also_allowing("authMode", &metadata).map_err(failed)?
            }
        };
        let options = ClientOptions {
            http2: false,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(30),
            // The bytes of an object may take long; the other requests have limits of their own.
            timeout: None,
        };
        let client = egress.client(options).map_err(failed)?;
        Ok(kept.get_or_init(|| client).clone())
    }
}

impl Driver {
    /// Returns its name.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Local(_) => "local",
            Self::S3(_) => "s3",
        }
    }

    /// Counts and describes an error of this store.
    pub(crate) fn failed(&self, error: &IoError) -> CoreError {
        metrics::counter!("attachments_store_errors_total", "driver" => self.name()).increment(1);
        CoreError::internal(format!("a store failed ({}): {error}", self.name()))
    }

    /// Returns the length of an object; `None` if it does not exist.
    pub(crate) async fn length(&self, key: &str) -> IoResult<Option<u64>> {
        match self {
            Self::Local(local) => local.length(key).await,
            Self::S3(s3) => s3.length(key).await,
        }
    }

    /// Returns the length of an object that should exist.
    pub(crate) async fn existing_length(&self, key: &str) -> IoResult<u64> {
        let missing = || IoError::new(ErrorKind::NotFound, "the object does not exist");
        self.length(key).await?.ok_or_else(missing)
    }

    /// Stores an upload under a key. When this returns, it is kept; before, nothing is visible under the key. `begun` receives the id of an upload in
    /// parts before its first part.
    pub(crate) async fn put<F>(&self, key: &str, spool: Spool, begun: F) -> IoResult<()>
    where
        F: AsyncFnOnce(&str) -> Result<()>,
    {
        match self {
            Self::Local(local) => local.put(key, spool).await,
            Self::S3(s3) => s3.put(key, &spool, begun).await,
        }
    }

    /// Stores an object of 16 bytes under a key.
    pub(crate) async fn put_bytes(&self, key: &str, bytes: [u8; 16]) -> IoResult<()> {
        match self {
            Self::Local(local) => local.put_bytes(key, bytes).await,
            Self::S3(s3) => s3.put_bytes(key, bytes).await,
        }
    }

    /// Removes an object, and ends its upload in parts if that was interrupted. What does not exist is removed.
    pub(crate) async fn remove(&self, key: &str, upload: Option<&str>) -> IoResult<()> {
        match self {
            Self::Local(local) => local.remove(key).await,
            Self::S3(s3) => s3.remove(key, upload).await,
        }
    }

    /// Opens an object and returns its length. `length` is the one that it should have; only a folder is asked.
    pub(crate) async fn open(&self, key: &str, length: u64) -> IoResult<(Opened, u64)> {
        match self {
            Self::Local(local) => {
                let (file, length) = local.open(key).await?;
                Ok((Opened::File(file, local.readers().clone()), length))
            }
            Self::S3(s3) => Ok((Opened::Object(s3.clone(), key.to_owned()), length)),
        }
    }

    /// Reads a whole object of at most `most` bytes.
    pub(crate) async fn read(&self, key: &str, most: u64) -> IoResult<Vec<u8>> {
        match self {
            Self::Local(local) => local.read(key, most).await,
            Self::S3(s3) => s3.read(key, most).await,
        }
    }
}

impl Opened {
    /// Returns the bytes of a range.
    ///
    /// # Errors
    /// As the store reports.
    pub(crate) async fn pieces(self, range: Range<u64>) -> IoResult<Pieces> {
        match self {
            Self::File(file, readers) => Ok(readers.pieces(file, range)),
            Self::Object(s3, key) => s3.pieces(&key, range).await,
        }
    }
}
