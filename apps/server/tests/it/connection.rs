//! The part of HTTP/1.1 that these tests need.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A connection to the server.
pub(crate) struct Connection(TcpStream);

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Id of the log entry.
    pub(crate) operation: String,
    /// The undo token.
    pub(crate) undo_token: String,
    /// Seconds after which the client should retry.
    pub(crate) retry_after: Option<u64>,
    /// Null if the body is not valid JSON.
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Self(stream))
    }

    /// Sends a request. `token` is an access token, or a credential with its scheme, or empty.
    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        token: &str,
        body: Option<&Value>,
    ) -> std::io::Result<Response> {
        self.send_with(method, path, &credential(token), body)
    }

    /// Sends a request with further lines of headers.
    pub(crate) fn send_with(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: Option<&Value>,
    ) -> std::io::Result<Response> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.exchange(request.as_bytes())
    }

    /// Sends the bytes of a request.
    pub(crate) fn exchange(&mut self, request: &[u8]) -> std::io::Result<Response> {
        self.0.write_all(request)?;
        let mut bytes = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            let read = self.0.read(&mut chunk)?;
            if read == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            bytes.extend_from_slice(&chunk[..read]);
            if let Some(response) = complete(&bytes) {
                return Ok(response);
            }
        }
    }
}

/// Returns the header that presents a credential.
pub(crate) fn credential(token: &str) -> String {
    match token {
        "" => String::new(),
        token if token.contains(' ') => format!("authorization: {token}\r\n"),
        token => format!("authorization: Bearer {token}\r\n"),
    }
}

/// Parses the response once its last byte has arrived.
fn complete(bytes: &[u8]) -> Option<Response> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let header = |requested: &str| {
        let mut headers = head.lines().filter_map(|line| line.split_once(": "));
        headers
            .find(|(name, _)| name.eq_ignore_ascii_case(requested))
            .map(|(_, value)| value)
    };
    if body.len() < header("content-length")?.parse::<usize>().ok()? {
        return None;
    }
    let field = |name: &str| {
        let (_, rest) = header("x-operation")?.split_once(&format!("%22{name}%22%3A%22"))?;
        rest.split_once("%22").map(|(value, _)| value.to_owned())
    };
    Some(Response {
        status: head.split(' ').nth(1)?.parse().ok()?,
        operation: field("id").unwrap_or_default(),
        undo_token: field("undoToken").unwrap_or_default(),
        retry_after: header("retry-after").and_then(|seconds| seconds.parse().ok()),
        body: serde_json::from_str(body).unwrap_or_default(),
        text: body.to_owned(),
    })
}
