//! A mail server of the test's own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::rt;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

type Lines = Arc<Mutex<Vec<String>>>;
type Responses = Arc<Mutex<HashMap<String, String>>>;

/// Accepts every message to a recipient without a response of its own, and delivers none. Stops with the test.
#[derive(Debug)]
pub struct MailServer {
    url: String,
    received: Lines,
    responses: Responses,
}

impl MailServer {
    /// Starts to listen on a free port.
    ///
    /// # Panics
    /// When there is no free port.
    pub async fn start() -> Self {
        Self::accepting_after(Duration::ZERO).await
    }

    /// Starts to listen on a free port. The server examines each message for this time before it accepts it.
    ///
    /// # Panics
    /// When there is no free port.
    pub async fn accepting_after(delay: Duration) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let (received, responses) = (Lines::default(), Responses::default());
        rt::spawn(listen(listener, Arc::clone(&received), Arc::clone(&responses), delay));
        Self {
            url: format!("smtp://{address}"),
            received,
            responses,
        }
    }

    /// Sets the response to a recipient, for example `550 unknown`; `None` accepts messages to it again.
    pub fn respond(&self, recipient: &str, response: Option<&str>) {
        let command = format!("RCPT TO:<{recipient}>").to_ascii_uppercase();
        let mut responses = self.responses.lock().unwrap_or_else(PoisonError::into_inner);
        match response {
            Some(response) => responses.insert(command, format!("{response}\r\n")),
            None => responses.remove(&command),
        };
    }

    /// Returns the section `mail` of a configuration that sends mail to this server.
    #[must_use]
    pub fn config(&self) -> String {
        let url = &self.url;
        format!("[mail]\ntransport = \"smtp\"\nsmtp_url = \"{url}\"\nfrom = \"Office <office@office.example>\"\n")
    }

    /// Returns the messages so far, including headers, with `quoted-printable` decoded.
    #[must_use]
    pub fn messages(&self) -> Vec<String> {
        let received = self.received();
        let mut messages = Vec::new();
        let mut rest = received.as_slice();
        while let Some(start) = rest.iter().position(|line| line == "DATA") {
            let message = &rest[start + 1..];
            let end = message.iter().position(|line| line == ".").unwrap_or(message.len());
            messages.push(plain(&message[..end]));
            rest = &message[end..];
        }
        messages
    }

    /// Returns the lines received so far, commands and messages.
    #[must_use]
    pub fn received(&self) -> Vec<String> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Serves one connection after the other.
async fn listen(listener: TcpListener, received: Lines, responses: Responses, delay: Duration) {
    while let Ok((stream, _)) = listener.accept().await {
        converse(stream, &received, &responses, delay).await;
    }
}

async fn converse(stream: TcpStream, received: &Lines, responses: &Responses, delay: Duration) {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let mut in_message = false;
    if write.write_all(b"220 mail.test\r\n").await.is_err() {
        return;
    }
    while let Ok(Some(line)) = lines.next_line().await {
        let command = line.to_ascii_uppercase();
        let own = responses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&command)
            .cloned();
        let response: &[u8] = match (in_message, command) {
            (true, _) if line == "." => {
                in_message = false;
                rt::time::sleep(delay).await;
                b"250 taken\r\n"
            }
            (true, _) => b"",
            (false, command) if command.starts_with("DATA") => {
                in_message = true;
                b"354 go on\r\n"
            }
            (false, command) if command.starts_with("QUIT") => b"221 bye\r\n",
            (false, _) => own.as_deref().map_or(b"250 fine\r\n", str::as_bytes),
        };
        received.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        if write.write_all(response).await.is_err() {
            return;
        }
    }
}

/// Decodes `quoted-printable` lines.
fn plain(lines: &[String]) -> String {
    // SMTP doubles a dot at the start of a line.
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| line.strip_prefix('.').unwrap_or(line))
        .collect();
    let text = lines.join("\n").replace("=\n", "");
    let mut parts = text.split('=');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).map(|code| u8::from_str_radix(code, 16)) {
            Some(Ok(byte)) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            // Not an encoded byte, as in a header.
            _ => bytes.extend_from_slice(format!("={part}").as_bytes()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn quoted_text_is_read() {
        let lines = ["id=zz", "a=3Db=", "c", "..d", "=C3=B3"].map(str::to_owned);

        assert_eq!(plain(&lines), "id=zz\na=bc\n.d\nó");
    }
}
