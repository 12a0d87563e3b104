//! Load on the server: one thread, a keep-alive connection per client, and as little work per request as possible.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::Options;
use super::http::Response;
use super::server::Server;
use super::subject::Subject;
use crate::Result;

/// The result of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) per_second: f64,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    /// Processor time of the server per request.
    pub(super) processor: Duration,
}

/// Runs one round.
pub(super) fn run(server: &Server, token: &str, subject: &Subject, options: &Options) -> Result<Round> {
    let used = server.processor_time()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut latencies, elapsed) = runtime.block_on(async {
        let started = Instant::now();
        let end = started + Duration::from_secs(options.seconds);
        let clients: Vec<_> = (0..options.clients)
            .map(|number| tokio::spawn(client(server.api(), token.to_owned(), subject.clone(), number, end)))
            .collect();
        let mut latencies = Vec::new();
        for client in clients {
            latencies.extend(client.await??);
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>((latencies, started.elapsed()))
    })?;
    let requests = u32::try_from(latencies.len()).unwrap_or(u32::MAX).max(1);
    let processor = server.processor_time()?.saturating_sub(used) / requests;
    latencies.sort_unstable();
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index into the sorted latencies"
        )]
        let index = (latencies.len() as f64 * share) as usize;
        latencies.get(index).copied().unwrap_or_default()
    };
    let per_second = f64::from(requests) / elapsed.as_secs_f64();
    Ok(Round {
        per_second,
        p50: at(0.5),
        p99: at(0.99),
        processor,
    })
}

async fn client(
    address: SocketAddr,
    token: String,
    subject: Subject,
    number: u32,
    end: Instant,
) -> Result<Vec<Duration>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    // Not the round of an earlier run: new names must differ from the stored ones.
    let mut round = start_of_rounds();
    let mut request = subject.request(address, &token, number, round);
    let mut buffer = vec![0; 64 * 1024];
    let mut latencies = Vec::with_capacity(16 * 1024);
    loop {
        let sent = Instant::now();
        if sent >= end {
            return Ok(latencies);
        }
        stream.write_all(&request).await?;
        let mut filled = 0;
        let response = loop {
            let read = stream.read(&mut buffer[filled..]).await?;
            if read == 0 {
                return Err("the server closed the connection, or the answer is too long".into());
            }
            filled += read;
            if let Some(response) = Response::complete(&buffer[..filled]) {
                break response;
            }
        };
        latencies.push(sent.elapsed());
        if response.status != 200 {
            let body = String::from_utf8_lossy(&buffer[response.head..response.length]).into_owned();
            return Err(format!("{}: unexpected response {}: {body}", subject.title, response.status).into());
        }
        if !subject.is_constant() {
            round += 1;
            request = subject.request(address, &token, number, round);
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a number that no other round has; no business code sees it"
)]
fn start_of_rounds() -> u64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    since.as_secs() % 1_000_000 * 1_000_000
}
