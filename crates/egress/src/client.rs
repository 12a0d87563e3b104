//! The client.

use std::error::Error as StdError;
use std::time::Duration;

use backoffice_core::config::ConfigError;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use reqwest::redirect;
use url::Url;

use crate::policy::{Egress, Rejected};
use crate::resolver::Checked;

/// A body of a request or a response.
pub use reqwest::Body;

/// Time limits and the protocol of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientOptions {
    /// Whether it speaks HTTP/2 only, for servers that accept nothing else. Default false: HTTP/1.1.
    pub http2: bool,
    /// Longest duration of a lookup and a connection. Default 10 s.
    pub connect_timeout: Duration,
    /// Longest pause between two reads of a response. Default 10 s.
    pub read_timeout: Duration,
    /// Longest duration of a request with its whole response; `None` for transfers without a bound. Default 10 s.
    pub timeout: Option<Duration>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            http2: false,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(10),
            timeout: Some(Duration::from_secs(10)),
        }
    }
}

/// Why there is no response. No text contains the path or the query of the address.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Requests may not be sent there.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The address is not a URL.
    #[error("the address is not valid")]
    Invalid,
    /// The host was not found.
    #[error("the host was not found")]
    Unknown,
    /// No connection: the name is unknown, the connection was rejected, or the certificate is not trusted.
    #[error("no connection to the host")]
    Connect(#[source] reqwest::Error),
    /// A time limit was reached.
    #[error("the host did not respond in time")]
    Timeout(#[source] reqwest::Error),
    /// The connection ended, or the response is not HTTP.
    #[error("the exchange with the host failed")]
    Exchange(#[source] reqwest::Error),
    /// The response is longer than allowed.
    #[error("the response is too long")]
    TooLong,
}

/// An HTTP client that follows the rules. Cloning shares its connections.
#[derive(Debug, Clone)]
pub struct Client {
    egress: Egress,
    http: reqwest::Client,
}

impl Client {
    pub(crate) fn new(egress: &Egress, options: ClientOptions) -> Result<Self, ConfigError> {
        let resolver = Checked {
            policy: egress.policy.clone(),
            resolver: egress.resolver.clone(),
        };
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(egress.tls.client_config(options.http2)?)
            .dns_resolver(resolver)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(options.connect_timeout)
            .read_timeout(options.read_timeout)
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(8);
        builder = match options.http2 {
            true => builder.http2_prior_knowledge(),
            false => builder.http1_only(),
        };
        if let Some(timeout) = options.timeout {
            builder = builder.timeout(timeout);
        }
        let http = builder
            .build()
            .map_err(|error| ConfigError::new("egress", error.to_string()))?;
        Ok(Self {
            egress: egress.clone(),
            http,
        })
    }

    /// Sends a request and returns the response as soon as its headers have arrived. Redirects are returned, not followed.
    ///
    /// # Errors
    /// When the request may not be sent, or there is no response.
    pub async fn send(&self, request: http::Request<Body>) -> Result<http::Response<Body>, Error> {
        self.send_counted(request, None).await
    }

    /// Sends a request like [`Client::send`]. The request with its whole response may last for `longest`, whatever the options of the client say.
    ///
    /// # Errors
    /// As [`Client::send`]; the read of a body that arrives later fails too.
    pub async fn send_within(
        &self,
        request: http::Request<Body>,
        longest: Duration,
    ) -> Result<http::Response<Body>, Error> {
        self.send_counted(request, Some(longest)).await
    }

    async fn send_counted(
        &self,
        request: http::Request<Body>,
        longest: Option<Duration>,
    ) -> Result<http::Response<Body>, Error> {
        let outcome = self.try_send(request, longest).await;
        if let Err(Error::Rejected(reason)) = &outcome {
            metrics::counter!("egress_refused_total").increment(1);
            tracing::warn!(%reason, "a request to an address that a tenant chose was not sent");
        }
        outcome
    }

    async fn try_send(
        &self,
        request: http::Request<Body>,
        longest: Option<Duration>,
    ) -> Result<http::Response<Body>, Error> {
        let url = Url::parse(&request.uri().to_string()).map_err(|_| Error::Invalid)?;
        self.egress.check(&url)?;
        let mut request = reqwest::Request::try_from(request).map_err(|_| Error::Invalid)?;
        if longest.is_some() {
            *request.timeout_mut() = longest;
        }
        let response = self.http.execute(request).await.map_err(Error::of)?;
        Ok(response.into())
    }
}

impl Error {
    fn of(error: reqwest::Error) -> Self {
        let mut cause = StdError::source(&error);
        while let Some(one) = cause {
            if let Some(rejected) = one.downcast_ref::<Rejected>() {
                return Self::Rejected(*rejected);
            }
            cause = one.source();
        }
        let error = error.without_url();
        match (error.is_timeout(), error.is_connect()) {
            (true, _) => Self::Timeout(error),
            (_, true) => Self::Connect(error),
            _ => Self::Exchange(error),
        }
    }
}

/// Reads a whole body of at most `most` bytes. Memory is allocated for bytes that arrived, not for those that the peer announces.
///
/// # Errors
/// When it is longer, or the connection ends.
pub async fn read_limited(mut body: Body, most: usize) -> Result<Bytes, Error> {
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(Error::of)?.into_data() else {
            continue;
        };
        if read.len() + data.len() > most {
            return Err(Error::TooLong);
        }
        read.extend_from_slice(&data);
    }
    Ok(read.freeze())
}
