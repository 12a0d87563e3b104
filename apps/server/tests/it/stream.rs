//! A stream of events, read while the server writes it.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use tokio::time::Instant;

use crate::connection::credential;
use crate::server::Server;

/// An open stream and the text received so far.
pub(crate) struct Stream {
    connection: TcpStream,
    said: String,
}

impl Stream {
    /// Opens a stream of these events and waits for its first comment line.
    pub(crate) fn open(server: &Server, token: &str, names: &str) -> Self {
        let mut connection = TcpStream::connect(server.api).expect("the server listens");
        let credential = credential(token);
        let request = format!("GET /api/events/stream?names={names} HTTP/1.1\r\nhost: localhost\r\n{credential}\r\n");
        connection.write_all(request.as_bytes()).expect("a request");
        connection
            .set_read_timeout(Some(Duration::from_millis(100)))
            .expect("a time to wait");
        let mut stream = Self {
            connection,
            said: String::new(),
        };
        stream.wait_for("text/event-stream", Duration::from_secs(10));
        stream.wait_for("\n:\n\n", Duration::from_secs(10));
        stream
    }

    /// Returns whether the stream ends within this time, with its last chunk or with its connection. Blocks.
    pub(crate) fn ends_within(&mut self, patience: Duration) -> bool {
        let started = Instant::now();
        let mut chunk = [0; 4096];
        while started.elapsed() < patience {
            if self.said.ends_with("\r\n0\r\n\r\n") {
                return true;
            }
            match self.connection.read(&mut chunk) {
                Ok(0) => return true,
                Ok(read) => self.said.push_str(&String::from_utf8_lossy(&chunk[..read])),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => panic!("the stream broke off: {error}"),
            }
        }
        false
    }

    /// Waits until the stream has sent this text. Blocks.
    pub(crate) fn wait_for(&mut self, text: &str, patience: Duration) {
        let started = Instant::now();
        let mut chunk = [0; 4096];
        while !self.said.contains(text) {
            assert!(started.elapsed() < patience, "no {text} in {}", self.said);
            match self.connection.read(&mut chunk) {
                Ok(0) => panic!("the stream ended: {}", self.said),
                Ok(read) => self.said.push_str(&String::from_utf8_lossy(&chunk[..read])),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => panic!("the stream broke off: {error}"),
            }
        }
    }
}
