//! The round trips of a request between the server and PostgreSQL, counted by a proxy between them.
//!
//! The proxy delays what PostgreSQL sends. Whatever the server sends meanwhile did not wait for it, so messages that are pipelined count as one.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::runtime::Runtime;

use super::super::database::{APPLICATION, NAME, PASSWORD};
use super::super::http::Client;
use super::super::pause;
use super::Bench;
use super::site::Site;
use super::work::{Callers, Prepared, Work};
use crate::Result;

/// Delay of what PostgreSQL sends: longer than the server needs to send pipelined messages.
const DELAY: Duration = Duration::from_millis(5);

/// Pause before a request, in which the background work for the one before ends: the relay of events looks 20 ms after a commit.
const SETTLED: Duration = Duration::from_millis(150);

/// Requests of which the round trips are counted, and those before them, after which all connections are warm.
const COUNTED: usize = 21;
const WARM_UP: usize = 40;

/// Returns the number of round trips of an update of a role.
pub(super) fn measure(bench: &Bench<'_>, site: &Site) -> Result<u64> {
    let proxy = Proxy::start(bench.postgres.socket_dir())?;
    let url = ("BACKOFFICE__DATABASE__URL", &*proxy.url(APPLICATION, NAME));
    let server = bench.server(&[url])?;
    let tokens = [server.log_in(&site.email, PASSWORD)?];
    let callers = Callers {
        host: server.api(),
        tokens: &tokens,
    };
    let Prepared::Requests(mut clients, _) = Work::Update.prepare(callers, site, 1, 0)? else {
        return Err("no requests".into());
    };
    let mut requests = std::iter::from_fn(|| clients.first_mut().and_then(|client| client()));
    let mut connection = Client::connect(server.api())?;
    let mut one = || -> Result<u64> {
        let request = requests.next().ok_or("no further request")?;
        pause(SETTLED);
        let before = proxy.trips();
        connection.expect_ok(&request)?;
        Ok(proxy.trips() - before)
    };
    for _ in 0..WARM_UP {
        one()?;
    }
    let counts = (0..COUNTED).map(|_| one()).collect::<Result<Vec<_>>>()?;
    middle(counts).ok_or_else(|| "nothing was counted".into())
}

/// A proxy in front of PostgreSQL's socket; it ends when it is dropped.
#[derive(Debug)]
struct Proxy {
    address: SocketAddr,
    trips: Arc<AtomicU64>,
    runtime: Runtime,
}

impl Proxy {
    /// Starts a proxy for the socket in this folder.
    fn start(socket_dir: &Path) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let trips = Arc::new(AtomicU64::new(0));
        let proxy = Self {
            address: listener.local_addr()?,
            trips: Arc::clone(&trips),
            runtime,
        };
        let socket = socket_dir.join(".s.PGSQL.5432");
        proxy.runtime.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(relay(client, socket.clone(), Arc::clone(&trips)));
            }
        });
        Ok(proxy)
    }

    /// Returns the URL of a database behind the proxy.
    fn url(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@{}/{database}", self.address)
    }

    /// Returns the number of round trips so far, of all connections.
    fn trips(&self) -> u64 {
        self.trips.load(Ordering::Acquire)
    }
}

/// Copies both directions until one of them ends.
async fn relay(client: TcpStream, socket: PathBuf, trips: Arc<AtomicU64>) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    let server = UnixStream::connect(socket).await?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    // The number of the response that the client has seen last; the first message after it begins a round trip.
    let delivered = Arc::new(AtomicU64::new(1));
    let seen = Arc::clone(&delivered);
    let requests = async move {
        let mut turns = Turns::default();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = from_client.read(&mut buffer).await?;
            if read == 0 {
                return Ok(());
            }
            if turns.begins(seen.load(Ordering::Acquire)) {
                trips.fetch_add(1, Ordering::AcqRel);
            }
            to_server.write_all(&buffer[..read]).await?;
        }
    };
    let responses = async move {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = from_server.read(&mut buffer).await?;
            if read == 0 {
                return Ok(());
            }
            tokio::time::sleep(DELAY).await;
            delivered.fetch_add(1, Ordering::AcqRel);
            to_client.write_all(&buffer[..read]).await?;
        }
    };
    tokio::select! {
        ended = requests => ended,
        ended = responses => ended,
    }
}

/// The messages of one direction in relation to those of the other.
#[derive(Debug, Default)]
struct Turns {
    last: u64,
}

impl Turns {
    /// Whether a message begins a round trip: it is the first one after the response with this number.
    fn begins(&mut self, delivered: u64) -> bool {
        std::mem::replace(&mut self.last, delivered) != delivered
    }
}

/// Returns the number in the middle: a periodic statement of the server may fall into a request.
fn middle(mut counts: Vec<u64>) -> Option<u64> {
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_without_a_response_between_them_are_one_round_trip() {
        let mut turns = Turns::default();

        let begins: Vec<bool> = [1, 1, 2, 3, 3]
            .into_iter()
            .map(|delivered| turns.begins(delivered))
            .collect();

        assert_eq!(begins, [true, false, true, true, false]);
    }

    #[test]
    fn the_middle_is_not_that_of_a_disturbed_request() {
        assert_eq!(middle(vec![6, 9, 6, 6, 7]), Some(6));
        assert_eq!(middle(Vec::new()), None);
    }
}
