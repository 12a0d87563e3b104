//! As much of PostgreSQL's protocol as it takes to tell messages apart.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// First word of a request for TLS, to which the proxy says no.
const TLS_REQUEST: u32 = 80_877_103;
/// The same for GSSAPI.
const GSS_REQUEST: u32 = 80_877_104;

/// Longest message that is taken for one.
const LONGEST: usize = 1 << 30;

/// A message with its header, ready to be sent on.
pub(super) struct Message {
    /// Its type; 0 for the first message of a client, which has none.
    pub(super) kind: u8,
    /// All of its bytes.
    pub(super) bytes: Vec<u8>,
}

impl Message {
    /// Reads the first message of a client.
    pub(super) async fn read_first(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let mut bytes = Vec::new();
        read_rest(from, &mut bytes).await?;
        Ok(Self { kind: 0, bytes })
    }

    /// Reads any later message.
    pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let kind = from.read_u8().await?;
        let mut bytes = vec![kind];
        read_rest(from, &mut bytes).await?;
        Ok(Self { kind, bytes })
    }

    /// Whether a first message asks for encryption.
    pub(super) fn asks_for_encryption(&self) -> bool {
        let word = self
            .bytes
            .get(4..8)
            .and_then(|word| word.try_into().ok())
            .map(u32::from_be_bytes);
        matches!(word, Some(TLS_REQUEST | GSS_REQUEST))
    }

    /// `Execute` or `Query`
    pub(super) fn is_statement(&self) -> bool {
        matches!(self.kind, b'E' | b'Q')
    }

    /// `Sync`, `Query` or `FunctionCall`: the server answers each of them with one `ReadyForQuery`.
    pub(super) fn ends_batch(&self) -> bool {
        matches!(self.kind, b'S' | b'Q' | b'F')
    }

    /// `ReadyForQuery`, from the server
    pub(super) fn is_ready(&self) -> bool {
        self.kind == b'Z'
    }
}

async fn read_rest(from: &mut (impl AsyncRead + Unpin), bytes: &mut Vec<u8>) -> io::Result<()> {
    let length = from.read_u32().await?;
    bytes.extend_from_slice(&length.to_be_bytes());
    let rest = usize::try_from(length).ok().and_then(|length| length.checked_sub(4));
    let rest = rest.filter(|rest| *rest <= LONGEST).ok_or(io::ErrorKind::InvalidData)?;
    let start = bytes.len();
    bytes.resize(start + rest, 0);
    from.read_exact(&mut bytes[start..]).await?;
    Ok(())
}
