//! The part of PostgreSQL's protocol that is needed to distinguish messages.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// First word of a request for TLS, which the proxy declines.
const TLS_REQUEST: u32 = 80_877_103;
/// First word of a request for GSSAPI encryption, which the proxy declines.
const GSS_REQUEST: u32 = 80_877_104;

/// Maximum length of a valid message.
const LONGEST: usize = 1 << 30;

/// A message with its header, ready to be forwarded.
pub(super) struct Message {
    /// The message type; 0 for a client's first message, which has none.
    pub(super) kind: u8,
    /// All bytes of the message.
    pub(super) bytes: Vec<u8>,
}

impl Message {
    /// Reads a client's first message.
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

    /// Returns whether a first message requests encryption.
    pub(super) fn asks_for_encryption(&self) -> bool {
        let word = self
            .bytes
            .get(4..8)
            .and_then(|word| word.try_into().ok())
            .map(u32::from_be_bytes);
        matches!(word, Some(TLS_REQUEST | GSS_REQUEST))
    }

    /// Returns a first message without the startup parameter `options`.
    pub(super) fn without_options(self) -> Self {
        // Length and version come first, then names and values, each ended by a zero; an empty name ends the message.
        let Some((version, parameters)) = self.bytes.get(4..).and_then(|rest| rest.split_at_checked(4)) else {
            return self;
        };
        let texts: Vec<&[u8]> = parameters.split(|byte| *byte == 0).collect();
        let mut kept = version.to_vec();
        for pair in texts.chunks_exact(2) {
            if pair[0] != b"options" && !pair[0].is_empty() {
                kept.extend([pair[0], b"\0", pair[1], b"\0"].concat());
            }
        }
        kept.push(0);
        let length = u32::try_from(kept.len() + 4).expect("it is shorter than it was");
        Self {
            kind: 0,
            bytes: [&length.to_be_bytes()[..], &kept].concat(),
        }
    }

    /// Returns whether the message is `Execute` or `Query`.
    pub(super) fn is_statement(&self) -> bool {
        matches!(self.kind, b'E' | b'Q')
    }

    /// Returns the text that a `Parse` message prepares.
    pub(super) fn prepares(&self) -> Option<String> {
        // Type and length come first, then the name of the statement and its text, each ended by a zero.
        let body = self.bytes.get(5..).filter(|_| self.kind == b'P')?;
        let text = body.split(|byte| *byte == 0).nth(1)?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    /// Returns whether the message is `Sync`, `Query` or `FunctionCall`: the server ends its response to each of them with one `ReadyForQuery`.
    pub(super) fn ends_batch(&self) -> bool {
        matches!(self.kind, b'S' | b'Q' | b'F')
    }

    /// Returns whether the message is the server's `ReadyForQuery`.
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
