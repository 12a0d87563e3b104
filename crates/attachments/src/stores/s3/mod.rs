//! Files in a bucket of S3, or of a server that speaks its protocol.

mod http;
mod memory;
mod settings;

use std::error::Error as StdError;
use std::fmt::Display;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Bytes;
use backoffice_core::http::Pieces;
use backoffice_core::{Error as CoreError, Result as CoreResult};
use backoffice_egress::{Client, Error as EgressError};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{BackoffConfig, GetOptions, GetRange, ObjectStore, ObjectStoreExt, RetryConfig};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use uuid::Uuid;

use super::Spool;
use http::Guarded;
pub(crate) use memory::PartMemory;
pub(crate) use settings::{AuthMode, Credentials, REDACTED, S3Settings, violation};

/// Bytes of a part of an upload; a file of at most this length is stored in one request.
const PART: u64 = 8 * 1024 * 1024;
/// Parts of one upload that are sent at once.
const PARTS_AT_ONCE: usize = 2;
/// Requests after the first one, when a request fails.
const RETRIES: usize = 2;
/// Longest duration of a request with its repetitions.
const RETRY_TIME: Duration = Duration::from_secs(90);
/// Longest duration of the read of a whole object.
const LONGEST_READ: Duration = Duration::from_secs(60);
/// Bytes of the keys of a tenant's objects together: ten million keys as this module forms them. A server could list keys without end.
const MOST_KEYS: usize = 1024 * 1024 * 1024;

/// A bucket.
#[derive(Debug, Clone)]
pub(crate) struct S3 {
    client: Arc<AmazonS3>,
    prefix: Arc<str>,
    tenant: Uuid,
    memory: Arc<PartMemory>,
}

impl S3 {
    /// Opens a bucket of a tenant.
    pub(super) fn new(
        settings: &S3Settings,
        credentials: &Credentials,
        client: Client,
        tenant: Uuid,
        memory: Arc<PartMemory>,
    ) -> CoreResult<Self> {
        let mut builder = match settings.auth_mode {
            AuthMode::AccessKeys => AmazonS3Builder::new(),
            AuthMode::Ambient => AmazonS3Builder::from_env(),
        };
        if let Some(endpoint) = endpoint(settings)? {
            builder = builder.with_endpoint(endpoint);
        }
        if settings.auth_mode == AuthMode::AccessKeys {
            if !credentials.can_sign() {
                return Err(CoreError::internal("a store has no credentials"));
            }
            builder = builder
                .with_access_key_id(credentials.get("accessKeyId").unwrap_or_default())
                .with_secret_access_key(credentials.get("secretAccessKey").unwrap_or_default());
            if let Some(token) = credentials.get("sessionToken") {
                builder = builder.with_token(token);
            }
        }
        let retry = RetryConfig {
            backoff: BackoffConfig::default(),
            max_retries: RETRIES,
            retry_timeout: RETRY_TIME,
        };
        let client = builder
            .with_bucket_name(&settings.bucket)
            .with_region(&settings.region)
            .with_virtual_hosted_style_request(!settings.force_path_style)
            .with_allow_http(true)
            // One request for each object: the library panics when the response to a request for several objects names another one.
            .with_disable_bulk_delete(true)
            .with_retry(retry)
            .with_http_connector(Guarded(client))
            .build()
            .map_err(|error| CoreError::internal(described(&error).to_string()))?;
        Ok(Self {
            client: Arc::new(client),
            prefix: settings.path_prefix.as_deref().unwrap_or_default().into(),
            tenant,
            memory,
        })
    }

    fn path(&self, key: &str) -> Result<Path> {
        Path::parse(format!("{}{key}", self.prefix)).map_err(Error::other)
    }

    /// Returns the length of an object; `None` if it does not exist.
    pub(super) async fn length(&self, key: &str) -> Result<Option<u64>> {
        match self.client.head(&self.path(key)?).await {
            Ok(found) => Ok(Some(found.size)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(described(&error)),
        }
    }

    /// Stores an upload under a key. Longer files are stored in parts; `begun` receives the id of such an upload before its first part.
    pub(super) async fn put<F>(&self, key: &str, spool: &Spool, begun: F) -> Result<()>
    where
        F: AsyncFnOnce(&str) -> CoreResult<()>,
    {
        let (path, length) = (self.path(key)?, spool.length());
        if length <= PART {
            return self
                .with_part(spool, 0, length, async |part| {
                    self.client.put(&path, part.into()).await.map(|_| ())
                })
                .await;
        }
        let upload = self
            .client
            .create_multipart(&path)
            .await
            .map_err(|error| described(&error))?;
        let stored = match begun(&upload).await {
            Ok(()) => self.put_parts(&path, &upload, spool).await,
            Err(error) => Err(Error::other(error)),
        };
        match stored {
            Ok(parts) => {
                let completed = self.client.complete_multipart(&path, &upload, parts).await;
                completed.map(|_| ()).map_err(|error| described(&error))
            }
            Err(error) => {
                // If this fails too, the clean-up does it.
                let _aborted = self.client.abort_multipart(&path, &upload).await;
                Err(error)
            }
        }
    }

    async fn put_parts(&self, path: &Path, upload: &String, spool: &Spool) -> Result<Vec<PartId>> {
        let length = spool.length();
        let parts = (0..length.div_ceil(PART)).map(|number| async move {
            let start = number * PART;
            let index = usize::try_from(number).map_err(Error::other)?;
            self.with_part(spool, start, (length - start).min(PART), async |part| {
                self.client.put_part(path, upload, index, part.into()).await
            })
            .await
        });
        stream::iter(parts).buffered(PARTS_AT_ONCE).try_collect().await
    }

    /// Reads a part of an upload and sends it, as soon as there is memory for it.
    async fn with_part<T>(
        &self,
        spool: &Spool,
        start: u64,
        length: u64,
        send: impl AsyncFnOnce(Bytes) -> object_store::Result<T>,
    ) -> Result<T> {
        let held = self.memory.take(self.tenant).await;
        let _held = held.ok_or_else(|| Error::new(ErrorKind::TimedOut, "too many uploads to stores at once"))?;
        let path = spool.path().to_owned();
        let read = spawn_blocking(move || {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(start))?;
            let mut part = vec![0; usize::try_from(length).map_err(Error::other)?];
            file.read_exact(&mut part)?;
            Ok::<_, Error>(part)
        });
        let part = read.await.map_err(Error::other)??;
        send(part.into()).await.map_err(|error| described(&error))
    }

    /// Stores an object of a few bytes under a key.
    pub(super) async fn put_bytes(&self, key: &str, bytes: [u8; 16]) -> Result<()> {
        let stored = self.client.put(&self.path(key)?, bytes.to_vec().into()).await;
        stored.map(|_| ()).map_err(|error| described(&error))
    }

    /// Removes an object, and ends its upload if that was interrupted. What does not exist is removed.
    pub(crate) async fn remove(&self, key: &str, upload: Option<&str>) -> Result<()> {
        let path = self.path(key)?;
        if let Some(upload) = upload {
            ignore_missing(self.client.abort_multipart(&path, &upload.to_owned()).await)?;
        }
        ignore_missing(self.client.delete(&path).await)
    }

    /// Returns the bytes of a range of an object. They fail when the server sends more.
    pub(super) async fn pieces(&self, key: &str, range: Range<u64>) -> Result<Pieces> {
        let mut missing = range.end.saturating_sub(range.start);
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            ..GetOptions::default()
        };
        let found = self.client.get_opts(&self.path(key)?, options).await;
        let found = found.map_err(|error| described(&error))?;
        let failed = |reason: &dyn Display| CoreError::internal(format!("could not read a file: {reason}"));
        let pieces = found.into_stream().map(move |piece| {
            let piece = piece.map_err(|error| failed(&described(&error)))?;
            let remains = missing.checked_sub(piece.len() as u64);
            missing = remains.ok_or_else(|| failed(&"the store sent more bytes than the range has"))?;
            Ok::<_, CoreError>(piece)
        });
        Ok(pieces.boxed())
    }

    /// Reads a whole object of at most `most` bytes.
    pub(super) async fn read(&self, key: &str, most: u64) -> Result<Vec<u8>> {
        let read = timeout(LONGEST_READ, self.read_bounded(key, most)).await;
        read.map_err(|_| Error::new(ErrorKind::TimedOut, "the store did not respond in time"))?
    }

    async fn read_bounded(&self, key: &str, most: u64) -> Result<Vec<u8>> {
        let too_large = || Error::new(ErrorKind::FileTooLarge, "the file is too large");
        let found = self.client.get(&self.path(key)?).await;
        let found = found.map_err(|error| described(&error))?;
        if found.meta.size > most {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(found.meta.size).map_err(Error::other)?);
        let mut pieces = found.into_stream();
        // The bytes are counted: a body may be longer than its headers announce.
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| described(&error))?;
            if (bytes.len() + piece.len()) as u64 > most {
                return Err(too_large());
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    /// Returns the keys of the objects of a tenant.
    ///
    /// # Errors
    /// As the store reports, and when the keys are too long together.
    pub(crate) async fn objects(&self, tenant: &str) -> Result<Vec<String>> {
        let mut found = self.client.list(Some(&self.path(tenant)?));
        let (mut objects, mut length) = (Vec::new(), 0);
        while let Some(object) = found.next().await {
            let object = object.map_err(|error| described(&error))?;
            let location = object.location.as_ref();
            length += location.len();
            if length > MOST_KEYS {
                return Err(Error::new(ErrorKind::FileTooLarge, "the bucket has too many objects"));
            }
            objects.extend(location.strip_prefix(&*self.prefix).map(str::to_owned));
        }
        Ok(objects)
    }
}

/// Returns the endpoint with which the library forms addresses: for requests in virtual-hosted style, the host names the bucket.
fn endpoint(settings: &S3Settings) -> CoreResult<Option<String>> {
    let Some(mut url) = settings.endpoint_url()? else {
        return Ok(None);
    };
    if !settings.force_path_style {
        let host = format!("{}.{}", settings.bucket, url.host_str().unwrap_or_default());
        let invalid = |_| CoreError::internal("the endpoint of a store can't have the bucket in its host");
        url.set_host(Some(&host)).map_err(invalid)?;
    }
    Ok(Some(url.as_str().trim_end_matches('/').to_owned()))
}

fn ignore_missing(outcome: object_store::Result<()>) -> Result<()> {
    match outcome {
        Err(error) if !matches!(error, object_store::Error::NotFound { .. }) => Err(described(&error)),
        _ => Ok(()),
    }
}

/// Returns an error in words of our own: the texts of the library have parts of responses, and those may name credentials.
fn described(error: &object_store::Error) -> Error {
    let (kind, text) = match error {
        object_store::Error::NotFound { .. } => (
            ErrorKind::NotFound,
            "the bucket or the object does not exist".to_owned(),
        ),
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => (
            ErrorKind::PermissionDenied,
            "the store rejected the credentials".to_owned(),
        ),
        other => {
            let mut cause = StdError::source(other);
            let (mut kind, mut text) = (ErrorKind::Other, "the store failed".to_owned());
            while let Some(one) = cause {
                if let Some(found) = one.downcast_ref::<EgressError>() {
                    text = format!("{text}: {found}");
                    if matches!(
                        found,
                        EgressError::Rejected(_) | EgressError::Unknown | EgressError::Connect(_)
                    ) {
                        kind = ErrorKind::NotConnected;
                    }
                }
                cause = one.source();
            }
            (kind, text)
        }
    };
    Error::new(kind, text)
}
