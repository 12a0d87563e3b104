//! The part of HTTP/1.1 that the bench needs.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::Result;

/// The status of a response, and the lengths of its head and of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) head: usize,
    pub(super) length: usize,
}

impl Response {
    /// Parses the response at the start of these bytes, once all of it has arrived.
    pub(super) fn complete(bytes: &[u8]) -> Option<Self> {
        let head = position(bytes, b"\r\n\r\n")? + 4;
        let text = std::str::from_utf8(&bytes[..head]).ok()?;
        let status = text.split(' ').nth(1)?.parse().ok()?;
        let is_chunked = header(text, "transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
        let body = match header(text, "content-length") {
            _ if status == 304 => 0,
            Some(length) => length.parse().ok()?,
            None if is_chunked => chunked(&bytes[head..])?,
            None => 0,
        };
        let length: usize = head + body;
        (bytes.len() >= length).then_some(Self { status, head, length })
    }
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// Returns the length of a body in chunks, once its last chunk has arrived.
fn chunked(body: &[u8]) -> Option<usize> {
    let mut start = 0;
    loop {
        let line = position(&body[start..], b"\r\n")?;
        let size = std::str::from_utf8(&body[start..start + line]).ok()?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        start += line + 2 + size + 2;
        if start > body.len() {
            return None;
        }
        if size == 0 {
            return Some(start);
        }
    }
}

/// Returns the value of a header.
fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
    Some(value.trim())
}

/// A response with its head.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    head: String,
    pub(super) body: Vec<u8>,
}

impl Reply {
    /// Returns the value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }
}

/// A blocking connection.
#[derive(Debug)]
pub(crate) struct Client(TcpStream);

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(35)))?;
        Ok(Self(stream))
    }

    /// Sends a request and returns the status and body of its response.
    pub(crate) fn send(&mut self, request: &[u8]) -> Result<(u16, Vec<u8>)> {
        let reply = self.exchange(request)?;
        Ok((reply.status, reply.body))
    }

    /// Sends a request and returns its response.
    pub(super) fn exchange(&mut self, request: &[u8]) -> Result<Reply> {
        self.0.write_all(request)?;
        let mut bytes = Vec::new();
        let mut chunk = [0; 16 * 1024];
        loop {
            let read = self.0.read(&mut chunk)?;
            if read == 0 {
                return Err("the server closed the connection".into());
            }
            bytes.extend_from_slice(&chunk[..read]);
            if let Some(response) = Response::complete(&bytes) {
                return Ok(Reply {
                    status: response.status,
                    head: String::from_utf8_lossy(&bytes[..response.head]).into_owned(),
                    body: bytes[response.head..response.length].to_vec(),
                });
            }
        }
    }

    /// Sends a request whose response must be 200.
    pub(super) fn expect_ok(&mut self, request: &[u8]) -> Result<()> {
        match self.send(request)? {
            (200, _) => Ok(()),
            (status, body) => Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into()),
        }
    }
}

/// Decodes a URL-encoded header; a malformed escape stays as it is.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match escaped.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_complete_with_its_last_byte() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

        assert_eq!(Response::complete(&bytes[..bytes.len() - 1]), None);
        assert_eq!(
            Response::complete(bytes),
            Some(Response {
                status: 200,
                head: 38,
                length: 40
            })
        );
    }

    #[test]
    fn a_body_in_chunks_is_complete_with_its_last_chunk() {
        let bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\na\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n";

        for end in 0..bytes.len() {
            assert_eq!(Response::complete(&bytes[..end]), None, "{end}");
        }
        let length = Response::complete(bytes).map(|response| response.length);
        assert_eq!(length, Some(bytes.len()));
    }

    #[test]
    fn a_304_has_no_body() {
        let bytes = b"HTTP/1.1 304 Not Modified\r\ncontent-length: 10\r\n\r\n";

        assert_eq!(
            Response::complete(bytes).map(|response| response.length),
            Some(bytes.len())
        );
    }

    #[test]
    fn an_encoded_header_is_decoded() {
        assert_eq!(decoded("%7B%22a%22%3A1%7D"), "{\"a\":1}");
        assert_eq!(decoded("50%, %4"), "50%, %4");
    }
}
