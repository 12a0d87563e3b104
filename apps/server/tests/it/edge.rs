//! Clients that open connections and stop sending: they hold nothing that other clients need.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::connection::Connection;
use crate::office::{ADMINISTRATOR, NO_LIMITS, NO_WORKERS, Office, PASSWORD, office, sign_in};
use crate::server::Server;

/// Longer than any step takes, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(60);
const BEHIND_A_PROXY: (&str, &str) = ("BACKOFFICE__HTTP__PROXY_DEPTH", "1");

/// Opens a connection, sends these bytes and waits.
pub(crate) fn begin(address: SocketAddr, bytes: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time to wait");
    stream.write_all(bytes.as_bytes()).expect("it is read");
    stream
}

/// Returns a request whose body does not arrive.
pub(crate) fn unfinished(path: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{")
}

fn login(address: &str, email: &str, password: &str) -> String {
    let body = json!({"email": email, "password": password}).to_string();
    format!(
        "POST /api/auth/login HTTP/1.1\r\nhost: x\r\nx-forwarded-for: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Reads the status of the next response, together with its body if that is short.
fn status(stream: &mut TcpStream) -> u16 {
    next_status(stream).expect("a response in time")
}

/// As `status`; `None` if the server closed the connection because it was idle.
fn next_status(stream: &mut TcpStream) -> Option<u16> {
    let mut bytes = [0; 8192];
    let read = stream.read(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes[..read]);
    text.split(' ').nth(1)?.parse().ok()
}

fn every_caller_gets_a_response(server: &Server) {
    let started = Instant::now();
    for _ in 0..3 {
        sign_in(server, ADMINISTRATOR);
        assert_eq!(server.get("/api/version", "").status, 200);
        assert_eq!(server.operators("/readyz").status, 200);
    }
    assert!(started.elapsed() < PATIENCE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acc_44_f1_unfinished_sign_ins_lock_no_user_out() {
    let (office, _database) = office().await;
    let server = office.serve(&[]).await;

    let mut held: Vec<TcpStream> = Vec::new();
    for requested in [6, 500] {
        held.resize_with(requested, || begin(server.api, &unfinished("/api/auth/login")));
        every_caller_gets_a_response(&server);
    }

    for mut stream in held {
        assert_eq!(status(&mut stream), 408);
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("the connection is closed");
    }
    every_caller_gets_a_response(&server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_paths_serve_head_as_get_and_name_the_methods_that_they_serve() {
    let (office, _database) = office().await;
    let server = office.serve(&[NO_WORKERS]).await;
    let send = |method: &str, path: &str| {
        let request = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let mut response = String::new();
        begin(server.admin, &request)
            .read_to_string(&mut response)
            .expect("the connection is closed");
        let (head, body) = response.split_once("\r\n\r\n").expect("a response");
        (head.to_ascii_lowercase(), body.to_owned())
    };

    for path in ["/healthz", "/readyz", "/metrics"] {
        let (head, body) = send("HEAD", path);
        assert!(
            head.starts_with("http/1.1 200 ") && body.is_empty(),
            "{path}: {head}\n{body}"
        );
        let (head, _) = send("POST", path);
        assert!(head.starts_with("http/1.1 405 "), "{path}: {head}");
        assert!(head.contains("\r\nallow: get, head"), "{path}: {head}");
    }
    assert!(send("GET", "/other").0.starts_with("http/1.1 404 "));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_to_alert_on_exist_before_their_first_event() {
    let (office, _database) = office().await;
    let server = office.serve(&[NO_WORKERS]).await;

    let metrics = server.operators("/metrics").text;

    for name in [
        "alerts_drift_total",
        "attachments_missing_total",
        "egress_refused_total",
        "onboarding_failed_total",
    ] {
        assert!(metrics.contains(&format!("\n{name} 0\n")), "{name}: {metrics}");
        assert!(metrics.contains(&format!("# HELP {name} ")), "{name}: {metrics}");
    }
}

/// Sends what is not HTTP and returns the log.
async fn log_of_malformed(office: &Office, variables: &[(&str, &str)]) -> String {
    let server = office.serve(variables).await;
    let mut stream = begin(server.api, "malformed\r\n\r\n");
    let mut response = Vec::new();
    stream.read_to_end(&mut response).expect("the connection is closed");
    let response = String::from_utf8_lossy(&response);
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    server.log()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_requests_are_not_logged_as_errors() {
    let (office, _database) = office().await;

    let by_default = log_of_malformed(&office, &[]).await;
    let named = log_of_malformed(&office, &[("BACKOFFICE__LOG__LEVEL", "info,actix_http=error")]).await;

    assert!(!by_default.contains("ERROR"), "{by_default}");
    assert!(named.contains("stream error"), "{named}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f11_a_client_over_its_limit_takes_no_place_from_others() {
    let (office, _database) = office().await;
    let server = office.serve(&[BEHIND_A_PROXY]).await;
    let api = server.api;
    let goes_on = AtomicBool::new(true);
    let wrong = login("192.0.2.1", "nobody@example.com", "is wrong");

    let statuses: Vec<u16> = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut streams: Vec<TcpStream> = (0..50).map(|_| begin(api, &wrong)).collect();
                while goes_on.load(Ordering::Acquire) {
                    for stream in &mut streams {
                        let responded = next_status(stream);
                        assert!(responded.is_none_or(|status| [401, 429].contains(&status)));
                        if responded.is_none() || stream.write_all(wrong.as_bytes()).is_err() {
                            *stream = begin(api, &wrong);
                        }
                    }
                }
            });
        }
        let of_others = (1..=8).map(|number| {
            let address = format!("198.51.100.{number}");
            status(&mut begin(api, &login(&address, ADMINISTRATOR, PASSWORD)))
        });
        let statuses = of_others.collect();
        goes_on.store(false, Ordering::Release);
        statuses
    });

    assert_eq!(statuses, [200; 8]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f10_operators_are_served_while_the_api_has_no_connection_left() {
    let (office, _database) = office().await;
    let settings = [
        ("BACKOFFICE__HTTP__MAX_CONNECTIONS", "4"),
        ("BACKOFFICE__HTTP__WORKERS", "2"),
        ("BACKOFFICE__HTTP__BODY_TIMEOUT", "60s"),
    ];
    let server = office.serve(&settings).await;
    let held: Vec<TcpStream> = (0..12)
        .map(|_| begin(server.api, &unfinished("/api/auth/locale")))
        .collect();
    sleep(Duration::from_millis(500)).await;
    let mut waiting = begin(server.api, "GET /api/version HTTP/1.1\r\nhost: x\r\n\r\n");

    for _ in 0..5 {
        assert_eq!(server.operators("/readyz").status, 200);
    }
    waiting
        .set_read_timeout(Some(Duration::from_millis(500)))
        .expect("a time to wait");
    assert!(waiting.read(&mut [0; 1]).is_err(), "it is not accepted");

    drop(held);
    waiting.set_read_timeout(Some(PATIENCE)).expect("a time to wait");
    assert_eq!(status(&mut waiting), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f10_clients_that_do_not_read_hold_no_connection_to_the_database() {
    let (office, _database) = office().await;
    let one_connection = [
        NO_LIMITS,
        ("BACKOFFICE__HTTP__WORKERS", "1"),
        ("BACKOFFICE__DATABASE__POOL_SIZE", "1"),
    ];
    let server = office.serve(&one_connection).await;
    let token = sign_in(&server, ADMINISTRATOR);
    let request = format!("GET /api/auth/roles HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n");

    let unread: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = begin(server.api, &request);
            stream.set_nonblocking(true).expect("it is a socket");
            // Until the server stops reading, because the client does not read its responses.
            let many = request.repeat(100);
            for _ in 0..100 {
                if stream.write(many.as_bytes()).unwrap_or(0) < many.len() {
                    break;
                }
            }
            stream
        })
        .collect();

    let response = Connection::open(server.api).and_then(|mut one| one.send("GET", "/api/auth/profile", &token, None));
    assert_eq!(response.expect("a response").status, 200);
    drop(unread);
}
