//! A server of S3 on this machine, which checks signatures.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s::{S3Result, s3_error};
use s3s_fs::FileSystem;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The credentials that the server accepts.
pub(crate) const ACCESS_KEY: &str = "AKIATESTACCESSKEY";
pub(crate) const SECRET_KEY: &str = "secretkeyofthetestserver0123456789";

/// The server, with a bucket `files`.
pub(crate) struct S3Server {
    address: SocketAddr,
    root: PathBuf,
    is_up: Arc<AtomicBool>,
    deletes: Arc<AtomicBool>,
}

/// Accepts signed requests; deletions only while the flag is set.
struct Access(Arc<AtomicBool>);

impl S3Access for Access {
    fn check<'a, 'b, 'c, 'd>(
        &'a self,
        request: &'b mut S3AccessContext<'c>,
    ) -> Pin<Box<dyn Future<Output = S3Result<()>> + Send + 'd>>
    where
        'a: 'd,
        'b: 'd,
        'c: 'd,
        Self: 'd,
    {
        let is_signed = request.credentials().is_some();
        let is_deletion = request.s3_op().name() == "DeleteObject";
        let is_accepted = is_signed && (!is_deletion || self.0.load(Ordering::Relaxed));
        Box::pin(async move {
            match is_accepted {
                true => Ok(()),
                false => Err(s3_error!(AccessDenied, "the request is not accepted")),
            }
        })
    }
}

impl S3Server {
    pub(crate) async fn start() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("bo-s3-{}-{number}", std::process::id()));
        std::fs::create_dir_all(root.join("files")).expect("created");
        let mut service = S3ServiceBuilder::new(FileSystem::new(&root).expect("opened"));
        service.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        let deletes = Arc::new(AtomicBool::new(true));
        service.set_access(Access(Arc::clone(&deletes)));
        let service = service.build();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let is_up = Arc::new(AtomicBool::new(true));
        let serves = Arc::clone(&is_up);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if !serves.load(Ordering::Relaxed) {
                    continue;
                }
                let service = service.clone();
                tokio::spawn(async move {
                    let builder = Builder::new(TokioExecutor::new());
                    let _served = builder.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self {
            address,
            root,
            is_up,
            deletes,
        }
    }

    /// The section that allows its address.
    pub(crate) fn section() -> &'static str {
        "s3.allowed_endpoints = [\"127.0.0.1\"]\n"
    }

    /// The settings of a partition.
    pub(crate) fn config(&self) -> Value {
        json!({
            "bucket": "files",
            "endpoint": self.endpoint(),
            "forcePathStyle": true,
            "pathPrefix": "office/",
            "accessKeyId": ACCESS_KEY,
            "secretAccessKey": SECRET_KEY,
        })
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The folder of the objects.
    pub(crate) fn folder(&self) -> PathBuf {
        self.root.join("files")
    }

    /// Whether new connections are served.
    pub(crate) fn serve(&self, is_up: bool) {
        self.is_up.store(is_up, Ordering::Relaxed);
    }

    /// Whether objects can be deleted.
    pub(crate) fn accept_deletions(&self, are_accepted: bool) {
        self.deletes.store(are_accepted, Ordering::Relaxed);
    }

    /// The keys of the objects.
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        collect(&self.folder(), &self.folder(), &mut keys);
        keys.sort();
        keys
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let _removed = std::fs::remove_dir_all(&self.root);
    }
}

fn collect(root: &Path, folder: &Path, keys: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("read").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        // The server keeps attributes and parts beside the objects, in hidden files.
        if name.starts_with('.') {
            continue;
        }
        match path.is_dir() {
            true => collect(root, &path, keys),
            false => keys.push(path.strip_prefix(root).expect("below").display().to_string()),
        }
    }
}
