//! Forwards the messages of one client and the server's responses.

use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, split};
use tokio::net::{TcpStream, UnixStream};

use super::wire::Message;
use super::{FaultMode, State, Target};

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The state of a connection. Batches are counted by the `ReadyForQuery` that ends each; the first one ends the authentication.
struct Progress {
    sent: AtomicU64,
    /// The batch whose response is withheld, after which the connection is closed.
    last: AtomicU64,
}

/// Serves one client until either side disconnects or a fault is due.
pub(super) async fn pass(client: UnixStream, state: &State) -> io::Result<()> {
    let (read, mut to_client) = split(client);
    let mut from_client = BufReader::new(read);
    let mut first = Message::read_first(&mut from_client).await?;
    while first.asks_for_encryption() {
        to_client.write_all(b"N").await?;
        first = Message::read_first(&mut from_client).await?;
    }
    if state.drops_options.load(Ordering::SeqCst) {
        first = first.without_options();
    }
    let (read, mut to_server) = split(connect(&state.target).await?);
    let mut from_server = BufReader::new(read);
    to_server.write_all(&first.bytes).await?;
    let progress = Progress {
        sent: AtomicU64::new(1),
        last: AtomicU64::new(u64::MAX),
    };
    tokio::select! {
        done = requests(&mut from_client, &mut to_server, state, &progress) => done,
        done = responses(&mut from_server, &mut to_client, &progress) => done,
    }
}

async fn connect(target: &Target) -> io::Result<Box<dyn Stream>> {
    Ok(match target {
        Target::Unix(path) => Box::new(UnixStream::connect(path).await?),
        Target::Tcp(host, port) => {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            // Each message is written by itself; none waits for the acknowledgement of the one before.
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
    })
}

async fn requests(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    state: &State,
    progress: &Progress,
) -> io::Result<()> {
    loop {
        let message = Message::read(from).await?;
        if message.is_statement() {
            match state.count() {
                None => {}
                Some(FaultMode::Before) => return Ok(()),
                Some(FaultMode::After) => {
                    let batch = progress.sent.load(Ordering::SeqCst) + 1;
                    progress.last.fetch_min(batch, Ordering::SeqCst);
                }
            }
        }
        if let Some(text) = message.prepares() {
            state.prepared().push(text);
        }
        if message.ends_batch() {
            progress.sent.fetch_add(1, Ordering::SeqCst);
        }
        to.write_all(&message.bytes).await?;
        if progress.sent.load(Ordering::SeqCst) >= progress.last.load(Ordering::SeqCst) {
            // Later messages of the client are ignored; the response of the last batch ends the connection.
            return pending().await;
        }
    }
}

async fn responses(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    progress: &Progress,
) -> io::Result<()> {
    let mut ended = 0;
    loop {
        let message = Message::read(from).await?;
        let last = progress.last.load(Ordering::SeqCst);
        let belongs_to_last = ended + 1 >= last;
        if message.is_ready() {
            ended += 1;
        }
        if ended >= last {
            return Ok(());
        }
        if !belongs_to_last {
            to.write_all(&message.bytes).await?;
        }
    }
}
