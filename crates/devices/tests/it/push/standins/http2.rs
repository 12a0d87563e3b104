//! A service that speaks HTTP/2 only, as that of Apple does.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use bytes::Bytes;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Notified {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Notified {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

type Responses = Rc<RefCell<Vec<(u16, Value)>>>;

/// The service.
pub(crate) struct AppleService {
    address: SocketAddr,
    received: Rc<RefCell<Vec<Notified>>>,
    responses: Responses,
}

impl AppleService {
    /// Starts a service that responds to everything with 200.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (received, responses) = (Rc::new(RefCell::new(Vec::new())), Responses::default());
        let (requests, given) = (Rc::clone(&received), Rc::clone(&responses));
        actix_web::rt::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                actix_web::rt::spawn(serve(stream, Rc::clone(&requests), Rc::clone(&given)));
            }
        });
        Self {
            address,
            received,
            responses,
        }
    }

    /// Responds to the next request with this status and body.
    pub(crate) fn then(&self, status: u16, body: Value) {
        self.responses.borrow_mut().push((status, body));
    }

    pub(crate) fn take(&self) -> Vec<Notified> {
        self.received.take()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn serve(stream: TcpStream, received: Rc<RefCell<Vec<Notified>>>, responses: Responses) -> Result<(), h2::Error> {
    let mut connection = h2::server::handshake(stream).await?;
    while let Some(request) = connection.accept().await {
        let (request, respond) = request?;
        // The connection is driven by `accept`, so the body is read beside it.
        actix_web::rt::spawn(respond_to(
            request,
            respond,
            Rc::clone(&received),
            Rc::clone(&responses),
        ));
    }
    Ok(())
}

async fn respond_to(
    request: http::Request<h2::RecvStream>,
    mut respond: h2::server::SendResponse<Bytes>,
    received: Rc<RefCell<Vec<Notified>>>,
    responses: Responses,
) -> Result<(), h2::Error> {
    let (head, mut stream) = request.into_parts();
    let mut body = Vec::new();
    while let Some(data) = stream.data().await {
        let data = data?;
        stream.flow_control().release_capacity(data.len())?;
        body.extend_from_slice(&data);
    }
    let text = |value: &http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
    received.borrow_mut().push(Notified {
        path: head.uri.path().to_owned(),
        headers: head
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), text(value)))
            .collect(),
        body: serde_json::from_slice(&body).expect("JSON"),
    });
    let next = if responses.borrow().is_empty() {
        None
    } else {
        Some(responses.borrow_mut().remove(0))
    };
    let (status, body) = next.unwrap_or((200, Value::Null));
    let response = http::Response::builder().status(status).body(()).expect("a response");
    let mut sending = respond.send_response(response, body.is_null())?;
    if !body.is_null() {
        sending.send_data(body.to_string().into(), true)?;
    }
    Ok(())
}
