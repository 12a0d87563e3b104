//! Uploads and downloads, as clients see them.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use crate::Result;

const BOUNDARY: &str = "----bench";
/// Bytes that are written or read at once.
const PIECE: usize = 256 * 1024;

/// A caller of the API.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) address: SocketAddr,
    pub(super) token: String,
    pub(super) organization: String,
}

impl Caller {
    /// Returns the head of a request without a body.
    pub(super) fn get(&self, path: &str, more: &str) -> String {
        format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n{more}\r\n",
            self.address, self.token
        )
    }

    /// Uploads a file that repeats a block of bytes, and returns the status and the body of the response.
    pub(super) async fn upload(&self, name: &str, block: &[u8], length: u64) -> Result<(u16, Value)> {
        let part = |name: &str, value: &str| {
            format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let head = format!(
            "{}{}--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n",
            part("entityId", "bench.record"),
            part("recordId", "r1")
        );
        let end = format!("\r\n--{BOUNDARY}--\r\n");
        let body = head.len() as u64 + length + end.len() as u64;
        let request = format!(
            "POST /api/attachments HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nx-organization-id: {}\r\n\
             content-type: multipart/form-data; boundary={BOUNDARY}\r\ncontent-length: {body}\r\n\r\n{head}",
            self.address, self.token, self.organization
        );
        let mut stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        stream.write_all(request.as_bytes()).await?;
        let mut left = length;
        while left > 0 {
            let piece = usize::try_from(left.min(block.len() as u64))?;
            if stream.write_all(&block[..piece]).await.is_err() {
                // The server rejects the upload before its end; its response says why.
                break;
            }
            left -= piece as u64;
        }
        if left == 0 {
            stream.write_all(end.as_bytes()).await?;
        }
        let mut reader = Reader::new(stream);
        let (status, length) = reader.head().await?;
        let body = reader.body(length).await?;
        Ok((status, serde_json::from_slice(&body)?))
    }

    /// Downloads a file, at this number of bytes each second if one is given. Returns the status and the number of bytes.
    pub(super) async fn download(&self, path: &str, more: &str, pace: Option<u64>) -> Result<(u16, u64)> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.write_all(self.get(path, more).as_bytes()).await?;
        let mut reader = Reader::new(stream);
        let (status, length) = reader.head().await?;
        reader.discard(length, pace).await?;
        Ok((status, length))
    }
}

/// Reads one response.
struct Reader {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Reader {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            bytes: Vec::new(),
        }
    }

    /// Returns the status and the length of the body.
    async fn head(&mut self) -> Result<(u16, u64)> {
        let mut chunk = [0; 4096];
        loop {
            if let Some(end) = self.bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8(self.bytes.drain(..end + 4).collect())?;
                let status = head.split(' ').nth(1).ok_or("no status")?.parse()?;
                let length = head.lines().filter_map(|line| line.split_once(':'));
                let length = length
                    .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                    .find_map(|(_, value)| value.trim().parse().ok());
                return Ok((status, length.ok_or("no length")?));
            }
            let read = self.stream.read(&mut chunk).await?;
            if read == 0 {
                return Err("the server closed the connection".into());
            }
            self.bytes.extend_from_slice(&chunk[..read]);
        }
    }

    async fn body(mut self, length: u64) -> Result<Vec<u8>> {
        let length = usize::try_from(length)?;
        let have = self.bytes.len();
        self.bytes.resize(length.max(have), 0);
        self.stream.read_exact(&mut self.bytes[have..]).await?;
        Ok(self.bytes)
    }

    /// Reads a body of this length and forgets it.
    async fn discard(mut self, length: u64, pace: Option<u64>) -> Result<()> {
        let (started, mut received) = (Instant::now(), self.bytes.len() as u64);
        let most = pace.map_or(PIECE, |pace| usize::try_from(pace).unwrap_or(PIECE));
        let mut chunk = vec![0; most];
        while received < length {
            let read = self.stream.read(&mut chunk).await?;
            if read == 0 {
                return Err(format!("the server ended the response after {received} of {length} bytes").into());
            }
            received += read as u64;
            if let Some(pace) = pace {
                sleep_until(started + Duration::from_secs_f64(received as f64 / pace as f64)).await;
            }
        }
        Ok(())
    }
}
