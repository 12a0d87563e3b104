//! A service that speaks HTTP/1.1, records the requests, and responds as a test says.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A received request. Names of headers are in lower case.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// What the service does with a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
    pub(crate) delay: Duration,
    /// Closes the connection instead of responding.
    pub(crate) cut: bool,
}

impl Reply {
    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    pub(crate) fn json(status: u16, body: &serde_json::Value) -> Self {
        Self {
            body: body.to_string(),
            ..Self::status(status)
        }
    }
}

type Respond = Box<dyn Fn(&Received) -> Reply>;

/// The service.
pub(crate) struct Service {
    address: SocketAddr,
    received: Rc<RefCell<Vec<Received>>>,
    respond: Rc<RefCell<Respond>>,
}

impl Service {
    /// Starts a service that responds to everything with 201.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let received = Rc::new(RefCell::new(Vec::new()));
        let respond: Rc<RefCell<Respond>> = Rc::new(RefCell::new(Box::new(|_| Reply::status(201))));
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

    /// Replaces what the service does with requests.
    pub(crate) fn respond(&self, respond: impl Fn(&Received) -> Reply + 'static) {
        *self.respond.borrow_mut() = Box::new(respond);
    }

    /// Returns the requests since the last call.
    pub(crate) fn take(&self) -> Vec<Received> {
        self.received.take()
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
    loop {
        let Some(request) = read(&mut stream, &mut buffer).await? else {
            return Ok(());
        };
        received.borrow_mut().push(request.clone());
        let reply = (respond.borrow())(&request);
        tokio::time::sleep(reply.delay).await;
        if reply.cut {
            return Ok(());
        }
        let mut head = format!(
            "HTTP/1.1 {} X\r\ncontent-length: {}\r\n",
            reply.status,
            reply.body.len()
        );
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n{}", reply.body).as_bytes()).await?;
    }
}

/// Reads a request with `Content-Length`; `None` at the end of the connection.
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
            let length: usize = headers
                .get("content-length")
                .and_then(|text| text.parse().ok())
                .unwrap_or(0);
            if buffer.len() >= end + 4 + length {
                let body = buffer[end + 4..end + 4 + length].to_vec();
                buffer.drain(..end + 4 + length);
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                return Ok(Some(Received { path, headers, body }));
            }
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}
