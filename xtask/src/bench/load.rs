//! Load on the server: one thread, a keep-alive connection per client, and as little work per request as possible.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::http::Response;
use crate::Result;

/// Maximum time until a response.
const PATIENCE: Duration = Duration::from_secs(60);

/// The requests of one client, one after the other; `None` at the end.
pub(super) type Requests = Box<dyn FnMut() -> Option<Arc<[u8]>> + Send>;

/// The clients of a round.
pub(super) struct Load {
    pub(super) clients: Vec<Requests>,
    pub(super) duration: Duration,
    /// The status of a successful response.
    pub(super) expected: u16,
}

/// The result of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) requests: u32,
    pub(super) per_second: f64,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
}

/// Runs one round: until the time is over, or the clients have no further requests.
pub(super) fn run(address: SocketAddr, load: Load) -> Result<Round> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut latencies, elapsed) = runtime.block_on(async {
        let started = Instant::now();
        let end = started + load.duration;
        let clients: Vec<_> = load
            .clients
            .into_iter()
            .map(|requests| tokio::spawn(client(address, requests, load.expected, end)))
            .collect();
        let mut latencies = Vec::new();
        for client in clients {
            latencies.extend(client.await??);
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>((latencies, started.elapsed()))
    })?;
    latencies.sort_unstable();
    let requests = u32::try_from(latencies.len()).unwrap_or(u32::MAX);
    if requests == 0 {
        return Err("no request was sent".into());
    }
    Ok(Round {
        requests,
        per_second: f64::from(requests) / elapsed.as_secs_f64(),
        p50: percentile(&latencies, 50),
        p99: percentile(&latencies, 99),
    })
}

/// Returns the value below which this share of the sorted values lies.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or_default()
}

async fn client(address: SocketAddr, mut requests: Requests, expected: u16, end: Instant) -> Result<Vec<Duration>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 64 * 1024];
    let mut latencies = Vec::with_capacity(16 * 1024);
    while let Some(request) = requests() {
        let sent = Instant::now();
        if sent >= end {
            break;
        }
        stream.write_all(&request).await?;
        let received = timeout(PATIENCE, receive(&mut stream, &mut buffer)).await;
        let response = received.map_err(|_| format!("no response after {} s", PATIENCE.as_secs()))??;
        latencies.push(sent.elapsed());
        if response.status != expected {
            let body = String::from_utf8_lossy(&buffer[response.head..response.length]);
            let body: String = body.chars().take(200).collect();
            return Err(format!("unexpected response {}: {body}", response.status).into());
        }
    }
    Ok(latencies)
}

async fn receive(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<Response> {
    let mut filled = 0;
    loop {
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
        let read = stream.read(&mut buffer[filled..]).await?;
        if read == 0 {
            return Err("the server closed the connection".into());
        }
        filled += read;
        if let Some(response) = Response::complete(&buffer[..filled]) {
            return Ok(response);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let values: Vec<Duration> = (0..200).map(Duration::from_millis).collect();

        assert_eq!(percentile(&values, 50), Duration::from_millis(100));
        assert_eq!(percentile(&values, 99), Duration::from_millis(198));
        assert_eq!(percentile(&values[..1], 99), Duration::ZERO);
        assert_eq!(percentile(&[], 50), Duration::ZERO);
    }
}
