//! Requests written byte by byte, over connections of their own.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration as Patience;

use backoffice_test_support::TestApp;

/// Serves the platform on a free port.
pub(crate) fn serve(app: &TestApp) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound listener has an address");
    app.serve(listener);
    address
}

/// Opens a connection and sends these bytes.
pub(crate) fn send(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream
        .set_read_timeout(Some(Patience::from_secs(30)))
        .expect("a time to wait");
    stream.write_all(text.as_bytes()).expect("it is read");
    stream
}

/// Reads up to the end of the connection, which the server must close.
pub(crate) async fn until_closed(mut stream: TcpStream) -> String {
    let read = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it is closed in time");
        text
    });
    read.await.expect("it is read")
}
