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
        let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let text = std::str::from_utf8(&bytes[..head]).ok()?;
        let status = text.split(' ').nth(1)?.parse().ok()?;
        let body = text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .map_or(Some(0), |(_, value)| value.trim().parse().ok())?;
        let length: usize = head + body;
        (bytes.len() >= length).then_some(Self { status, head, length })
    }
}

/// A blocking connection.
#[derive(Debug)]
pub(crate) struct Client(TcpStream);

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Self(stream))
    }

    /// Sends a request and returns the status and body of its response.
    pub(crate) fn send(&mut self, request: &[u8]) -> Result<(u16, Vec<u8>)> {
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
                return Ok((response.status, bytes[response.head..response.length].to_vec()));
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
}
