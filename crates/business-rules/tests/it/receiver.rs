//! A receiver of webhooks that records requests, responds as a test says, and verifies signatures with another library than the sender.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A received request. Names of headers are in lower case.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Returns how many of these secrets have signed the request. A signature of an unknown secret fails the test.
    pub(crate) fn verified_by(&self, secrets: &[&str]) -> usize {
        let (id, time) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        let codes = secrets.iter().map(|secret| {
            let key = STANDARD
                .decode(secret.strip_prefix("whsec_").expect("a secret"))
                .expect("base64");
            let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key");
            mac.update(format!("{id}.{time}.").as_bytes());
            mac.update(&self.body);
            format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
        });
        let codes: Vec<String> = codes.collect();
        let signatures: Vec<&str> = self.header("webhook-signature").split(' ').collect();
        codes.iter().filter(|code| signatures.contains(&code.as_str())).count()
    }
}

type Respond = Box<dyn FnMut(&Received) -> (u16, Vec<(&'static str, String)>)>;

/// The receiver.
pub(crate) struct Receiver {
    address: SocketAddr,
    received: Rc<RefCell<Vec<Received>>>,
    respond: Rc<RefCell<Respond>>,
}

impl Receiver {
    /// Starts a receiver that responds to everything with 204.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let received = Rc::new(RefCell::new(Vec::new()));
        let respond: Rc<RefCell<Respond>> = Rc::new(RefCell::new(Box::new(|_| (204, Vec::new()))));
        let (requests, responses) = (Rc::clone(&received), Rc::clone(&respond));
        actix_web::rt::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                actix_web::rt::spawn(serve(stream, Rc::clone(&requests), Rc::clone(&responses)));
            }
        });
        Self {
            address,
            received,
            respond,
        }
    }

    /// Responds with these statuses, the last one for ever.
    pub(crate) fn statuses(&self, statuses: &[u16]) {
        let mut left = statuses.to_vec();
        self.respond(move |_| match left.len() {
            1 => (left[0], Vec::new()),
            _ => (left.remove(0), Vec::new()),
        });
    }

    pub(crate) fn respond(&self, respond: impl FnMut(&Received) -> (u16, Vec<(&'static str, String)>) + 'static) {
        *self.respond.borrow_mut() = Box::new(respond);
    }

    /// Returns the requests so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.borrow().clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

async fn serve(
    mut stream: TcpStream,
    received: Rc<RefCell<Vec<Received>>>,
    respond: Rc<RefCell<Respond>>,
) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = read(&mut stream, &mut buffer).await? {
        received.borrow_mut().push(request.clone());
        let (status, headers) = (respond.borrow_mut())(&request);
        // Status 0 stands for a receiver that never responds.
        if status == 0 {
            std::future::pending::<()>().await;
        }
        let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await?;
    }
    Ok(())
}

/// Reads a request; `None` at the end of the connection.
async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<Received>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|part| part == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let headers: BTreeMap<String, String> = head
                .lines()
                .skip(1)
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
                .collect();
            let length = headers.get("content-length").and_then(|text| text.parse().ok());
            let length: usize = length.unwrap_or(0);
            if buffer.len() >= end + 4 + length {
                let body = buffer[end + 4..end + 4 + length].to_vec();
                buffer.drain(..end + 4 + length);
                let mut line = head.split(' ').map(str::to_owned);
                return Ok(Some(Received {
                    method: line.next().unwrap_or_default(),
                    path: line.next().unwrap_or_default(),
                    headers,
                    body,
                }));
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}
