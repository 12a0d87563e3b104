//! Sends requests to receivers, with a bound for each host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use backoffice_core::Timestamp;
use backoffice_egress::{Body, Client, ClientOptions, Egress, Error, read_limited, retry_after};
use http::Request;

use super::outcome::Outcome;

/// Most requests to a host at once.
const AT_ONCE: usize = 4;
/// Longest response that is read, in bytes.
const MOST_READ: usize = 64 * 1024;

/// Sends requests to public addresses only.
pub(crate) struct Sender {
    egress: Egress,
    client: OnceLock<Client>,
    in_flight: Arc<Mutex<HashMap<String, usize>>>,
}

/// A request that is in flight to a host.
struct InFlight {
    host: String,
    counts: Arc<Mutex<HashMap<String, usize>>>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.host) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(&self.host);
            }
        }
    }
}

impl Sender {
    pub(crate) fn new(egress: Egress) -> Self {
        Self {
            egress,
            client: OnceLock::new(),
            in_flight: Arc::default(),
        }
    }

    /// Returns what decides about addresses.
    pub(crate) const fn egress(&self) -> &Egress {
        &self.egress
    }

    /// Counts a request to a host; `None` if enough are in flight.
    fn enter(&self, host: &str) -> Option<InFlight> {
        let mut counts = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(host.to_owned()).or_default();
        if *count >= AT_ONCE {
            return None;
        }
        *count += 1;
        Some(InFlight {
            host: host.to_owned(),
            counts: Arc::clone(&self.in_flight),
        })
    }

    /// Sends a request and reads the response, in at most ten seconds.
    pub(crate) async fn send(&self, request: Request<Vec<u8>>, now: Timestamp) -> Outcome {
        let host = request.uri().host().unwrap_or_default().to_ascii_lowercase();
        let Some(_in_flight) = self.enter(&host) else {
            return Outcome::Busy;
        };
        let client = if let Some(client) = self.client.get() {
            client
        } else {
            match self.egress.client(ClientOptions::default()) {
                Ok(client) => self.client.get_or_init(|| client),
                Err(error) => {
                    tracing::error!(%error, "could not create a client for webhooks");
                    return Outcome::NoResponse("no_client");
                }
            }
        };
        match client.send(request.map(Body::from)).await {
            Ok(response) => {
                let (head, body) = response.into_parts();
                // The status says enough when the rest of a response is missing.
                let _body = read_limited(body, MOST_READ).await;
                Outcome::Response {
                    status: head.status.as_u16(),
                    retry_after: retry_after(&head.headers, now),
                }
            }
            Err(Error::Rejected(_)) => Outcome::Rejected,
            Err(Error::Invalid) => Outcome::Invalid,
            Err(Error::Timeout(_)) => Outcome::NoResponse("timeout"),
            Err(Error::Unknown | Error::Connect(_) | Error::Exchange(_) | Error::TooLong) => {
                Outcome::NoResponse("no_response")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::IpAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use backoffice_egress::{EgressConfig, Resolver};
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    use super::*;

    /// Finds a harmless address first, and addresses of the inside after that.
    #[derive(Debug, Default)]
    struct Rebinding(AtomicUsize);

    impl Resolver for Rebinding {
        fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            let number = self.0.fetch_add(1, Ordering::SeqCst);
            let address = match host {
                "rebinding.example" if number == 0 => "1.1.1.1",
                "metadata.example" => "169.254.169.254",
                _ => "127.0.0.1",
            };
            let found = address.parse().map(|address| vec![address]).map_err(io::Error::other);
            async move { found }.boxed()
        }
    }

    fn request(host: &str, port: u16) -> Request<Vec<u8>> {
        let request = Request::post(format!("http://{host}:{port}/hook"));
        request.body(Vec::new()).expect("a request")
    }

    #[tokio::test]
    async fn rul_11_names_of_private_addresses_are_rejected() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let config = EgressConfig {
            allow_http: true,
            ports: vec![port],
            allowed_hosts: Vec::new(),
        };
        let egress = Egress::new(config)
            .expect("created")
            .with_resolver(Arc::new(Rebinding::default()));
        egress
            .look_up(&url::Url::parse(&format!("http://rebinding.example:{port}/")).expect("a URL"))
            .await
            .expect("a public address at first");
        let sender = Sender::new(egress);

        for host in [
            "rebinding.example",
            "metadata.example",
            "127.0.0.1",
            "[::ffff:127.0.0.1]",
        ] {
            let outcome = sender.send(request(host, port), Timestamp::UNIX_EPOCH).await;
            assert_eq!(outcome, Outcome::Rejected, "{host}");
        }
        assert!(listener.accept().now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_host_gets_four_requests_at_once() {
        let sender = Sender::new(Egress::new(EgressConfig::default()).expect("created"));
        let in_flight: Vec<InFlight> = (0..AT_ONCE).filter_map(|_| sender.enter("example.com")).collect();

        assert_eq!(in_flight.len(), AT_ONCE);
        assert!(sender.enter("example.com").is_none());
        assert!(sender.enter("example.org").is_some());
        drop(in_flight);
        assert!(sender.enter("example.com").is_some());
    }
}
