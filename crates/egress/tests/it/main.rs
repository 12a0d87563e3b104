//! The client against servers on this machine.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use backoffice_egress::{Body, Client, ClientOptions, Egress, EgressConfig, Error, Rejected, Resolver, read_limited};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that sends the same bytes to every connection, and counts them.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Server {
    async fn sending(response: impl Into<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let response = response.into();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let response = response.clone();
                tokio::spawn(async move {
                    let mut request = [0; 4096];
                    let _read = stream.read(&mut request).await;
                    let _sent = stream.write_all(&response).await;
                    if response.is_empty() {
                        tokio::time::sleep(Duration::from_secs(60)).await;
                    }
                });
            }
        });
        Self { address, connections }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/path?secret=1", self.address.port())
    }
}

/// A resolver that returns one result after the other, the last one for ever.
#[derive(Debug)]
struct Lookups(Mutex<VecDeque<Vec<IpAddr>>>);

impl Lookups {
    fn new(results: &[&[&str]]) -> Arc<Self> {
        let parse = |texts: &&[&str]| texts.iter().map(|text| text.parse().expect("an address")).collect();
        Arc::new(Self(Mutex::new(results.iter().map(parse).collect())))
    }
}

impl Resolver for Lookups {
    fn resolve(&self, _host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut results = self.0.lock().expect("not poisoned");
        let result = match results.len() {
            1 => results.front().cloned(),
            _ => results.pop_front(),
        };
        async move { Ok(result.unwrap_or_default()) }.boxed()
    }
}

/// A client that may use `http` and the port of a server, but no address that is not public.
fn client_for(server: &Server, resolver: Arc<Lookups>, allowed: &[&str]) -> Client {
    let config = EgressConfig {
        allow_http: true,
        ports: vec![server.address.port()],
        allowed_hosts: allowed.iter().map(|host| (*host).to_owned()).collect(),
    };
    let egress = Egress::new(config).expect("created").with_resolver(resolver);
    let options = ClientOptions {
        http2: false,
        connect_timeout: Duration::from_secs(2),
        read_timeout: Duration::from_millis(500),
        timeout: Some(Duration::from_secs(5)),
    };
    egress.client(options).expect("created")
}

async fn get(client: &Client, url: &str) -> Result<http::Response<Body>, Error> {
    let request = http::Request::get(url).body(Body::default()).expect("a request");
    client.send(request).await
}

const HELLO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";

#[tokio::test]
async fn a_name_of_a_private_address_is_not_connected_to() {
    let server = Server::sending(HELLO).await;
    for result in [
        &["127.0.0.1"][..],
        &["::ffff:127.0.0.1"],
        &["1.1.1.1", "127.0.0.1"],
        &["169.254.169.254"],
        &["64:ff9b::7f00:1"],
    ] {
        let client = client_for(&server, Lookups::new(&[result]), &[]);
        let outcome = get(&client, &server.url("evil.example")).await;
        assert!(
            matches!(outcome, Err(Error::Rejected(Rejected::Address))),
            "{result:?}: {outcome:?}"
        );
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_whose_second_lookup_is_private_is_not_connected_to() {
    let server = Server::sending(HELLO).await;
    let allowed = client_for(&server, Lookups::new(&[&["127.0.0.1"]]), &["good.example"]);
    let response = get(&allowed, &server.url("good.example")).await.expect("a response");
    assert_eq!(read_limited(response.into_body(), 5).await.expect("read"), "hello");
    assert_eq!(server.connections(), 1);

    // The first lookup is allowed (and leads nowhere), the second one is this machine.
    let rebinding = Lookups::new(&[&["192.0.2.1"], &["127.0.0.1"]]);
    let client = client_for(&server, rebinding, &["192.0.2.0/24"]);
    assert!(get(&client, &server.url("rebind.example")).await.is_err());
    let second = get(&client, &server.url("rebind.example")).await;
    assert!(matches!(second, Err(Error::Rejected(Rejected::Address))), "{second:?}");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn redirects_are_returned_and_not_followed() {
    let target = Server::sending(HELLO).await;
    let location = target.url("127.0.0.1");
    let server = Server::sending(format!(
        "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    ))
    .await;
    let client = client_for(&server, Lookups::new(&[&["127.0.0.1"]]), &["good.example"]);

    let response = get(&client, &server.url("good.example")).await.expect("a response");

    assert_eq!(response.status(), 302);
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_silent_server_and_a_long_response_end() {
    let silent = Server::sending("").await;
    let client = client_for(&silent, Lookups::new(&[&["127.0.0.1"]]), &["good.example"]);
    let outcome = get(&client, &silent.url("good.example")).await;
    assert!(matches!(outcome, Err(Error::Timeout(_))), "{outcome:?}");

    let long = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}", "x".repeat(100_000));
    let long = Server::sending(long).await;
    let client = client_for(&long, Lookups::new(&[&["127.0.0.1"]]), &["good.example"]);
    let response = get(&client, &long.url("good.example")).await.expect("a response");
    let read = read_limited(response.into_body(), 65_536).await;
    assert!(matches!(read, Err(Error::TooLong)), "{read:?}");
}

#[tokio::test]
async fn a_request_may_have_a_time_limit_of_its_own() {
    let silent = Server::sending("").await;
    let config = EgressConfig {
        allow_http: true,
        ports: vec![silent.address.port()],
        allowed_hosts: vec!["127.0.0.1".to_owned()],
    };
    let options = ClientOptions {
        read_timeout: Duration::from_secs(50),
        timeout: None,
        ..ClientOptions::default()
    };
    let client = Egress::new(config).expect("created").client(options).expect("created");
    let request = http::Request::get(silent.url("127.0.0.1")).body(Body::default());

    let sent = client.send_within(request.expect("a request"), Duration::from_millis(100));
    let outcome = tokio::time::timeout(Duration::from_secs(20), sent)
        .await
        .expect("an end");

    assert!(matches!(outcome, Err(Error::Timeout(_))), "{outcome:?}");
}

#[tokio::test]
async fn errors_do_not_contain_the_query() {
    let server = Server::sending("not HTTP\r\n\r\n").await;
    let client = client_for(&server, Lookups::new(&[&["127.0.0.1"]]), &["good.example"]);
    let error = get(&client, &server.url("good.example")).await.expect_err("no HTTP");
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
}
