//! Requests and their responses.

use std::net::{IpAddr, SocketAddr};

use actix_web::cookie::Cookie;
use actix_web::http::Method;
use actix_web::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use actix_web::test;
use actix_web::web::Bytes;
use serde::Serialize;
use serde_json::Value;
use url::form_urlencoded;

use crate::{TestApp, TestStream};

/// A request under construction.
pub struct TestRequest<'a> {
    app: &'a TestApp,
    inner: test::TestRequest,
    is_declared: bool,
}

impl std::fmt::Debug for TestRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestRequest").finish_non_exhaustive()
    }
}

impl<'a> TestRequest<'a> {
    pub(crate) fn new(app: &'a TestApp, method: Method, path: &str) -> Self {
        let peer = SocketAddr::from(([127, 0, 0, 1], 50_000));
        Self {
            app,
            inner: test::TestRequest::with_uri(path).method(method).peer_addr(peer),
            is_declared: true,
        }
    }

    fn change(mut self, change: impl FnOnce(test::TestRequest) -> test::TestRequest) -> Self {
        self.inner = change(self.inner);
        self
    }

    /// Sets `Authorization: Bearer <token>`.
    #[must_use]
    pub fn bearer(self, token: &str) -> Self {
        self.header(AUTHORIZATION.as_str(), &format!("Bearer {token}"))
    }

    /// Adds a cookie.
    #[must_use]
    pub fn cookie(self, name: &str, value: &str) -> Self {
        let cookie = Cookie::new(name.to_owned(), value.to_owned());
        self.change(|inner| inner.cookie(cookie))
    }

    /// Adds a header, in addition to others of the same name. Non-ASCII characters are sent as UTF-8.
    ///
    /// # Panics
    /// When the name or the value is not valid in a header.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        let name = HeaderName::try_from(name).expect("a header name");
        let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header value");
        self.change(|inner| inner.append_header((name, value)))
    }

    /// Sets a JSON body.
    ///
    /// # Panics
    /// When the value can't be serialized.
    #[must_use]
    pub fn json(self, value: &(impl Serialize + ?Sized)) -> Self {
        let text = serde_json::to_vec(value).expect("a JSON value");
        self.body(text, "application/json")
    }

    /// Sets a form body.
    #[must_use]
    pub fn form(self, fields: &[(&str, &str)]) -> Self {
        let text = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        self.body(text, "application/x-www-form-urlencoded")
    }

    /// Sets a body of any type.
    ///
    /// # Panics
    /// When the content type is not valid in a header.
    #[must_use]
    pub fn body(self, bytes: impl Into<Bytes>, content_type: &str) -> Self {
        let value = HeaderValue::try_from(content_type).expect("a content type");
        self.change(|inner| inner.insert_header((CONTENT_TYPE, value)).set_payload(bytes.into()))
    }

    /// Sets the client's address. Default 127.0.0.1.
    ///
    /// # Panics
    /// When the text is not a valid IP address.
    #[must_use]
    pub fn peer(self, address: &str) -> Self {
        let address: IpAddr = address.parse().expect("an IP address");
        self.change(|inner| inner.peer_addr(SocketAddr::new(address, 50_000)))
    }

    /// Disables the comparison with the API document: an interceptor may respond with any status and body.
    #[must_use]
    pub fn responded_by_interceptor(mut self) -> Self {
        self.is_declared = false;
        self
    }

    /// Sends the request and waits for the whole response; of a stream of events, which has no end, for the first piece.
    pub async fn send(self) -> TestResponse {
        self.open().await.into_response().await
    }

    /// Sends the request and waits for the head of the response.
    pub async fn open(self) -> TestStream {
        (self.app.handler)(self.inner, self.is_declared).await
    }

    /// Sends the request and waits until a stream of server-sent events has begun.
    ///
    /// # Panics
    /// When the response is not such a stream.
    pub async fn open_events(self) -> TestStream {
        let mut stream = self.open().await;
        assert_eq!(stream.status, 200);
        let kind = stream.headers.get("content-type");
        assert_eq!(kind.map(HeaderValue::as_bytes), Some(&b"text/event-stream"[..]));
        assert_eq!(stream.next().await.as_deref(), Some(":\n\n"));
        stream
    }
}

/// A response.
#[derive(Debug, Clone)]
pub struct TestResponse {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl TestResponse {
    /// Parses the body as JSON; null if it is empty.
    ///
    /// # Panics
    /// When the body is not valid JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        if self.body.is_empty() {
            return Value::Null;
        }
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {} {}", self.status, self.text()))
    }

    /// Returns the body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<String> {
        self.headers
            .get(name)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    }

    /// Parses `X-Operation`, the header of an undoable write.
    ///
    /// # Panics
    /// When the header is not URL-encoded JSON.
    #[must_use]
    pub fn operation(&self) -> Option<Value> {
        let header = format!("operation={}", self.header("x-operation")?);
        let (_, text) = form_urlencoded::parse(header.as_bytes()).next()?;
        Some(serde_json::from_str(&text).expect("X-Operation is URL-encoded JSON"))
    }

    /// Returns the cookies that the response sets.
    ///
    /// # Panics
    /// When a cookie is invalid.
    #[must_use]
    pub fn cookies(&self) -> Vec<Cookie<'static>> {
        let parse = |value: &HeaderValue| {
            let text = value.to_str().expect("a cookie in ASCII").to_owned();
            Cookie::parse(text).expect("a cookie")
        };
        self.headers.get_all(SET_COOKIE).map(parse).collect()
    }

    /// Returns the cookie of this name that the response sets.
    #[must_use]
    pub fn cookie(&self, name: &str) -> Option<Cookie<'static>> {
        self.cookies().into_iter().find(|cookie| cookie.name() == name)
    }
}
