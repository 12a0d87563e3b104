//! Responses that are read while the server writes them.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use actix_web::body::{self, BoxBody, MessageBody};
use actix_web::http::Method;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap};
use actix_web::web::Bytes;
use serde_json::Value;
use tokio::time::timeout;

use crate::TestResponse;
use crate::contract::{Expected, check_unknown};

/// A response whose body has not been read yet.
pub struct TestStream {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    body: Pin<Box<BoxBody>>,
    /// The endpoint of the response, or the request that reached none.
    expected: Option<Result<Expected, (Method, String)>>,
}

impl std::fmt::Debug for TestStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestStream")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl TestStream {
    pub(crate) fn new(
        status: u16,
        headers: HeaderMap,
        body: BoxBody,
        expected: Option<Result<Expected, (Method, String)>>,
    ) -> Self {
        if let Some(Ok(expected)) = &expected {
            expected.check_head(status, &headers);
        }
        Self {
            status,
            headers,
            body: Box::pin(body),
            expected,
        }
    }

    /// Returns the next piece of the body; `None` at its end.
    ///
    /// # Panics
    /// When the body ends with an error, or nothing arrives within 10 seconds.
    pub async fn next(&mut self) -> Option<String> {
        let piece = self.next_within(Duration::from_secs(10)).await;
        piece.expect("a piece within 10 s")
    }

    /// As `next`, with the time to wait; the outer `None` means that nothing arrived.
    ///
    /// # Panics
    /// When the body ends with an error.
    pub async fn next_within(&mut self, wait: Duration) -> Option<Option<String>> {
        let piece = timeout(wait, poll_fn(|context| self.body.as_mut().poll_next(context))).await;
        let piece = piece.ok()?.map(|piece| piece.expect("a piece of the body"));
        Some(piece.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Returns the next server-sent event: number, name and data.
    ///
    /// # Panics
    /// When something else arrives, or nothing within 10 seconds.
    pub async fn event(&mut self) -> (i64, String, Value) {
        let text = self.next().await.expect("an event");
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
            line.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
        };
        let id = field("id").parse().expect("a number");
        (id, field("event"), serde_json::from_str(&field("data")).expect("JSON"))
    }

    /// Returns whether nothing arrives for longer than the longest polling interval.
    ///
    /// # Panics
    /// When the body ends with an error.
    pub async fn is_silent(&mut self) -> bool {
        self.next_within(Duration::from_millis(1500)).await.is_none()
    }

    /// Reads the whole response; of a stream of events, which has no end, the first piece.
    pub(crate) async fn into_response(mut self) -> TestResponse {
        let (status, headers) = (self.status, self.headers.clone());
        let kind = headers.get(CONTENT_TYPE).map_or(&b""[..], |kind| kind.as_bytes());
        let body = if kind.starts_with(b"text/event-stream") {
            Bytes::from(self.next().await.unwrap_or_default())
        } else {
            let body = std::mem::replace(&mut self.body, Box::pin(BoxBody::new(())));
            let body = *Pin::into_inner(body);
            body::to_bytes(body).await.expect("a body in memory can be read")
        };
        match &self.expected {
            Some(Ok(expected)) => expected.check_body(status, &headers, &body),
            Some(Err((method, path))) => check_unknown(method, path, status, &body),
            None => {}
        }
        TestResponse { status, headers, body }
    }
}
