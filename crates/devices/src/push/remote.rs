//! Requests to providers.

use std::sync::OnceLock;
use std::time::Duration;

use backoffice_core::Timestamp;
use backoffice_core::config::ConfigError;
use backoffice_egress::{Body, Client, ClientOptions, Egress, Error, read_limited, retry_after};
use http::{Request, StatusCode};
use url::Url;

use super::provider::PushError;

/// Longest response that is read, in bytes.
const MOST_READ: usize = 64 * 1024;

/// Sends requests to public addresses only, over connections that are kept.
pub(crate) struct Remote {
    egress: Egress,
    http1: OnceLock<Client>,
    http2: OnceLock<Client>,
}

/// A response of a provider.
pub(crate) struct Response {
    /// The status.
    pub(crate) status: StatusCode,
    /// The wait that the provider asks for.
    pub(crate) retry_after: Option<Duration>,
    /// The body; empty if it could not be read.
    pub(crate) body: Vec<u8>,
}

impl Remote {
    pub(crate) fn new(egress: Egress) -> Self {
        Self {
            egress,
            http1: OnceLock::new(),
            http2: OnceLock::new(),
        }
    }

    /// Returns what decides about addresses.
    pub(crate) const fn egress(&self) -> &Egress {
        &self.egress
    }

    /// Sends a request over HTTP/1.1 and reads the response, in at most ten seconds.
    pub(crate) async fn send(&self, request: Request<Vec<u8>>, now: Timestamp) -> Result<Response, PushError> {
        self.send_over(&self.http1, false, request, now).await
    }

    /// Sends a request over HTTP/2 and reads the response, in at most ten seconds.
    pub(crate) async fn send_http2(&self, request: Request<Vec<u8>>, now: Timestamp) -> Result<Response, PushError> {
        self.send_over(&self.http2, true, request, now).await
    }

    async fn send_over(
        &self,
        kept: &OnceLock<Client>,
        http2: bool,
        request: Request<Vec<u8>>,
        now: Timestamp,
    ) -> Result<Response, PushError> {
        let client = if let Some(client) = kept.get() {
            client
        } else {
            let options = ClientOptions {
                http2,
                ..ClientOptions::default()
            };
            let client = self.egress.client(options).map_err(|error| {
                tracing::error!(%error, "could not create a client for push messages");
                PushError::Config("no_client")
            })?;
            kept.get_or_init(|| client)
        };
        let response = client.send(request.map(Body::from)).await.map_err(failed)?;
        let (head, body) = response.into_parts();
        // The status says enough when the rest of a response is missing.
        let body = read_limited(body, MOST_READ).await.unwrap_or_default();
        Ok(Response {
            status: head.status,
            retry_after: retry_after(&head.headers, now),
            body: body.to_vec(),
        })
    }
}

impl Response {
    /// Returns what a status means for every provider.
    pub(crate) fn outcome(&self) -> Result<(), PushError> {
        match self.status.as_u16() {
            200..=299 => Ok(()),
            408 | 429 | 500..=599 => Err(PushError::Retry(self.retry_after)),
            _ => Err(PushError::Fatal("rejected_by_provider")),
        }
    }
}

/// Reads an address of the configuration.
///
/// # Errors
/// When it is not a URL, or no request may be sent there.
pub(crate) fn configured_address(egress: &Egress, key: &str, address: &str) -> Result<Url, ConfigError> {
    let url = Url::parse(address).map_err(|_| ConfigError::new(key, "must be a URL"))?;
    let rejected = |reason| ConfigError::new(key, format!("{reason}; `egress` has exceptions for hosts and ports"));
    egress.check(&url).map_err(rejected)?;
    Ok(url)
}

/// Returns the error of a request to an address of the configuration: if it is rejected, the provider needs an operator.
pub(crate) fn of_configured_address(error: PushError) -> PushError {
    match error {
        PushError::Fatal(reason) => PushError::Config(reason),
        other => other,
    }
}

fn failed(error: Error) -> PushError {
    match error {
        Error::Rejected(_) => PushError::Fatal("egress_refused"),
        Error::Invalid => PushError::Fatal("invalid_address"),
        Error::Unknown | Error::Connect(_) | Error::Timeout(_) | Error::Exchange(_) | Error::TooLong => {
            PushError::Retry(None)
        }
    }
}
