//! The virus scanner: clamd, asked with its command INSTREAM.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::spawn_blocking;

use crate::error::Error;

/// Time for a scan, with the connection.
const DEADLINE: Duration = Duration::from_secs(30);
/// Bytes of a chunk.
const CHUNK: usize = 64 * 1024;
/// Most bytes of a response that are read.
const RESPONSE: u64 = 4096;

/// Where clamd listens: `tcp://host:port` or `unix:path`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Scanner {
    /// A host and a port.
    Tcp(String),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl TryFrom<String> for Scanner {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
        if let Some(address) = text.strip_prefix("tcp://")
            && address
                .rsplit_once(':')
                .is_some_and(|(host, port)| !host.is_empty() && is_port(port))
        {
            return Ok(Self::Tcp(address.to_owned()));
        }
        match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => Ok(Self::Unix(path.into())),
            _ => Err("must be `tcp://host:port` or `unix:path`"),
        }
    }
}

impl Scanner {
    /// Scans a file.
    ///
    /// # Errors
    /// 400 `file_infected`, 503 `scan_unavailable` when clamd does not respond in 30 s or can't scan the file.
    pub(crate) async fn scan(&self, file: &Path) -> Result<(), Error> {
        let response = match tokio::time::timeout(DEADLINE, self.ask(file)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                tracing::error!(%error, "the virus scanner failed");
                return Err(Error::ScanUnavailable);
            }
            Err(_) => {
                tracing::error!("the virus scanner did not respond in time");
                return Err(Error::ScanUnavailable);
            }
        };
        let response = response.trim_end_matches(['\0', '\n']);
        if response == "stream: OK" {
            return Ok(());
        }
        let signature = response
            .strip_prefix("stream: ")
            .and_then(|found| found.strip_suffix(" FOUND"));
        if let Some(signature) = signature {
            tracing::warn!(signature, "the virus scanner rejected an upload");
            return Err(Error::Infected);
        }
        tracing::error!(response, "the virus scanner could not scan an upload");
        Err(Error::ScanUnavailable)
    }

    async fn ask(&self, file: &Path) -> std::io::Result<String> {
        match self {
            Self::Tcp(address) => exchange(TcpStream::connect(address).await?, file).await,
            Self::Unix(path) => exchange(UnixStream::connect(path).await?, file).await,
        }
    }
}

/// Sends a file and returns the response.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, file: &Path) -> std::io::Result<String> {
    let sent = send(&mut stream, file).await;
    let mut response = String::new();
    let read = stream.take(RESPONSE).read_to_string(&mut response).await;
    // A scanner that stops reading, because the file is too large for it, says so in its response.
    if response.is_empty() {
        sent?;
        read?;
    }
    Ok(response)
}

/// Sends a file in chunks, each after its length in four bytes; an empty one ends it.
async fn send(stream: &mut (impl AsyncWrite + Unpin), path: &Path) -> std::io::Result<()> {
    let path = path.to_owned();
    let mut file = blocking(move || std::fs::File::open(path)).await?;
    stream.write_all(b"zINSTREAM\0").await?;
    let mut chunk = Vec::with_capacity(CHUNK + 4);
    loop {
        (file, chunk) = blocking(move || {
            chunk.clear();
            chunk.extend_from_slice(&[0; 4]);
            std::io::Read::read_to_end(&mut std::io::Read::take(&file, CHUNK as u64), &mut chunk)?;
            Ok((file, chunk))
        })
        .await?;
        let length = u32::try_from(chunk.len() - 4).unwrap_or(0);
        chunk[..4].copy_from_slice(&length.to_be_bytes());
        stream.write_all(&chunk).await?;
        if length == 0 {
            return stream.flush().await;
        }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> std::io::Result<T> + Send + 'static) -> std::io::Result<T> {
    spawn_blocking(work).await.map_err(std::io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_host_with_a_port_or_a_socket() {
        let address = |text: &str| Scanner::try_from(text.to_owned());
        assert_eq!(address("tcp://[::1]:3310"), Ok(Scanner::Tcp("[::1]:3310".to_owned())));
        assert_eq!(
            address("unix:/run/clamd.sock"),
            Ok(Scanner::Unix("/run/clamd.sock".into()))
        );
        for invalid in [
            "",
            "unix:",
            "tcp://host",
            "tcp://:3310",
            "tcp://host:0",
            "tcp://host:70000",
            "http://host:1",
        ] {
            assert!(address(invalid).is_err(), "{invalid}");
        }
    }
}
