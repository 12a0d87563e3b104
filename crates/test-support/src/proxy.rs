//! A proxy between the pool and the server that counts statements, and that loses connections or drops their options on demand.

mod pump;
mod wire;

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use tokio::net::UnixListener;
use tokio::sync::{oneshot, watch};
use tokio_postgres::config::Host;
use url::Url;

/// The effect of a fault on the failing statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultMode {
    /// The statement never reaches the server.
    Before,
    /// The server runs the statement, but the client does not receive the result. Later statements on the same connection do not reach the server.
    After,
}

/// The proxy. It runs on a thread of its own until it is dropped, and listens on a socket in a folder that only this user can enter.
#[derive(Debug)]
pub struct FaultProxy {
    url: String,
    dir: PathBuf,
    state: Arc<State>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct State {
    statements: AtomicU64,
    prepared: Mutex<Vec<String>>,
    plan: Mutex<Option<Plan>>,
    is_cut: watch::Sender<bool>,
    is_held: watch::Sender<bool>,
    drops_options: AtomicBool,
    target: Target,
}

#[derive(Debug, Clone, Copy)]
struct Plan {
    statements_left: u64,
    mode: FaultMode,
}

/// The address of the server.
#[derive(Debug, Clone)]
enum Target {
    Unix(PathBuf),
    Tcp(String, u16),
}

impl FaultProxy {
    /// Starts a proxy to the server of this URL.
    ///
    /// # Panics
    /// When the URL is invalid or no socket can be created.
    #[must_use]
    pub fn start(url: &str) -> Self {
        let dir = folder().expect("a folder for the socket can be created");
        let listener =
            std::os::unix::net::UnixListener::bind(dir.join(socket_name(5432))).expect("a socket can be created");
        listener.set_nonblocking(true).expect("a socket can be polled");
        let (is_cut, _) = watch::channel(false);
        let (is_held, _) = watch::channel(false);
        let state = Arc::new(State {
            statements: AtomicU64::new(0),
            prepared: Mutex::default(),
            plan: Mutex::new(None),
            is_cut,
            is_held,
            drops_options: AtomicBool::new(false),
            target: Target::of(url),
        });
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&state);
        let thread = thread::spawn(move || serve(listener, &shared, stopped));
        Self {
            url: redirected(url, &dir),
            dir,
            state,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Returns the URL that leads through the proxy.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the number of statements that clients have sent: executions of prepared ones, and simple queries (`begin`, `commit`, settings).
    #[must_use]
    pub fn count(&self) -> u64 {
        self.state.statements.load(Ordering::SeqCst)
    }

    /// Returns the texts that clients have sent to be prepared since the last call, in their order.
    #[must_use]
    pub fn take_prepared(&self) -> Vec<String> {
        std::mem::take(&mut *self.state.prepared())
    }

    /// Sets the count to 0.
    pub fn reset(&self) {
        self.state.statements.store(0, Ordering::SeqCst);
    }

    /// Closes the connection of the k-th statement from now on (1 = the next one). Applies once; later statements pass.
    pub fn fail_at(&self, k: u64, mode: FaultMode) {
        *self.state.plan() = Some(Plan {
            statements_left: k,
            mode,
        });
    }

    /// Cancels a planned fault. Returns whether one was still pending.
    pub fn heal(&self) -> bool {
        self.state.plan().take().is_some()
    }

    /// Closes all connections and rejects new ones until [`FaultProxy::restore`], as if the database were down.
    pub fn cut(&self) {
        self.state.is_cut.send_replace(true);
    }

    /// Leaves new connections without a response until [`FaultProxy::restore`], as a slow server does.
    pub fn hold(&self) {
        self.state.is_held.send_replace(true);
    }

    /// Drops the startup parameter `options` of new connections, as a pooler does that is configured to ignore it.
    pub fn drop_options(&self) {
        self.state.drops_options.store(true, Ordering::SeqCst);
    }

    /// Accepts connections again.
    pub fn restore(&self) {
        self.state.is_cut.send_replace(false);
        self.state.is_held.send_replace(false);
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        // The thread may have ended already.
        let _stopped = self.stop.take().map(|stop| stop.send(()));
        let _ended = self.thread.take().map(JoinHandle::join);
        let _removed = fs::remove_dir_all(&self.dir);
    }
}

impl State {
    fn plan(&self) -> MutexGuard<'_, Option<Plan>> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prepared(&self) -> MutexGuard<'_, Vec<String>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a statement. Returns the fault if this statement must fail.
    fn count(&self) -> Option<FaultMode> {
        self.statements.fetch_add(1, Ordering::SeqCst);
        let mut plan = self.plan();
        let left = plan.as_mut()?;
        left.statements_left = left.statements_left.saturating_sub(1);
        if left.statements_left > 0 {
            return None;
        }
        plan.take().map(|due| due.mode)
    }
}

impl Target {
    fn of(url: &str) -> Self {
        let config = tokio_postgres::Config::from_str(url).expect("a postgres:// URL");
        let port = config.get_ports().first().copied().unwrap_or(5432);
        match config.get_hosts().first() {
            Some(Host::Unix(dir)) => Self::Unix(dir.join(socket_name(port))),
            Some(Host::Tcp(host)) => Self::Tcp(host.clone(), port),
            None => Self::Tcp("localhost".to_owned(), port),
        }
    }
}

fn serve(listener: std::os::unix::net::UnixListener, state: &Arc<State>, stopped: oneshot::Receiver<()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime starts");
    runtime.block_on(async {
        let listener = UnixListener::from_std(listener).expect("the socket can be listened on");
        let accept = async {
            while let Ok((client, _)) = listener.accept().await {
                let state = Arc::clone(state);
                tokio::spawn(async move {
                    let (mut cut, mut held) = (state.is_cut.subscribe(), state.is_held.subscribe());
                    let pass = async {
                        // An error means that the proxy was dropped.
                        let _ended = held.wait_for(|is_held| !*is_held).await.is_ok();
                        pump::pass(client, &state).await
                    };
                    // Dropping both sides closes them, whichever ended first.
                    tokio::select! {
                        _ = cut.wait_for(|is_cut| *is_cut) => {}
                        _ = pass => {}
                    }
                });
            }
        };
        tokio::select! {
            () = accept => {}
            _ = stopped => {}
        }
    });
}

fn socket_name(port: u16) -> String {
    format!(".s.PGSQL.{port}")
}

fn folder() -> io::Result<PathBuf> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let random = u32::from_be_bytes(backoffice_core::ids::Ids::default().random());
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("backoffice-proxy-{}-{number}-{random:08x}", std::process::id()));
    fs::DirBuilder::new().mode(0o700).create(&dir)?;
    Ok(dir)
}

fn redirected(url: &str, dir: &Path) -> String {
    let mut url = Url::parse(url).expect("a postgres:// URL");
    let encoded: String = url::form_urlencoded::byte_serialize(dir.as_os_str().as_encoded_bytes()).collect();
    url.set_host(Some(&encoded.replace('+', "%20")))
        .expect("a path is valid as a host");
    url.set_port(None).expect("a URL with a host may have no port");
    url.into()
}
