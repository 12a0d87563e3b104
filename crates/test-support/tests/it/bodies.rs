//! Incomplete bodies: the checks before them, and their connections.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration as Patience;

use backoffice_test_support::{Duration, TestApp};
use serde_json::json;

use crate::raw::{self, serve, until_closed};
use crate::sample::SAMPLE;

const SIZED: &str = "content-length: 100\r\n\r\n{\"text\":";
const CHUNKED: &str = "transfer-encoding: chunked\r\n\r\n8\r\n{\"text\":\r\n";

/// Sends a part of a request.
fn begin(address: SocketAddr, path: &str, rest: &str) -> TcpStream {
    let head = format!("POST /api/sample/{path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n");
    raw::send(address, &(head + rest))
}

/// Lets the deadline pass once `waiting` requests wait for it.
async fn pass_deadline(app: &TestApp, waiting: usize) {
    let clock = app.clock();
    while clock.waiting() < waiting {
        tokio::time::sleep(Patience::from_millis(5)).await;
    }
    app.advance(Duration::seconds(9));
    assert_eq!(clock.waiting(), waiting, "still in time");
    app.advance(Duration::seconds(1));
}

#[actix_web::test]
async fn f10_a_body_that_does_not_arrive_is_a_408_and_the_end_of_its_connection() {
    let app = TestApp::new(&[&SAMPLE]).await;
    let address = serve(&app);

    let late = [
        begin(address, "notes", SIZED),
        begin(address, "notes", CHUNKED),
        // Before the credential is checked.
        begin(address, "members", SIZED),
    ];
    pass_deadline(&app, late.len()).await;

    for stream in late {
        let reported = until_closed(stream).await;
        assert!(reported.starts_with("HTTP/1.1 408 "), "{reported}");
        assert!(reported.ends_with(r#"{"error":"Request timeout"}"#), "{reported}");
        assert!(reported.to_lowercase().contains("connection: close"), "{reported}");
    }
}

#[actix_web::test]
async fn f10_a_late_body_is_reported_in_the_shape_of_its_endpoint() {
    let app = TestApp::new(&[&SAMPLE]).await;
    let address = serve(&app);

    let late = begin(address, "checks", SIZED);
    pass_deadline(&app, 1).await;

    let reported = until_closed(late).await;
    assert!(reported.starts_with("HTTP/1.1 408 "), "{reported}");
    assert!(
        reported.ends_with(r#"{"error":"Request timeout","ok":false}"#),
        "{reported}"
    );
}

#[actix_web::test]
async fn an_unknown_path_is_not_found_without_its_body_and_ends_the_connection() {
    let app = TestApp::new(&[&SAMPLE]).await;
    let address = serve(&app);

    for rest in [SIZED, CHUNKED] {
        let reported = until_closed(begin(address, "nowhere", rest)).await;
        assert!(reported.starts_with("HTTP/1.1 404 "), "{reported}");
    }
}

#[actix_web::test]
async fn f11_a_known_exceeded_limit_is_reported_without_reading_the_body() {
    let app = TestApp::new(&[&SAMPLE]).await;
    let address = serve(&app);
    let complete = "connection: close\r\ncontent-length: 12\r\n\r\n{\"text\":\"a\"}";
    let mut statuses = Vec::new();
    for _ in 0..4 {
        let reported = until_closed(begin(address, "limited", complete)).await;
        statuses.push(reported[9..12].to_owned());
    }
    assert_eq!(statuses, ["200", "200", "429", "429"]);

    let late = begin(address, "limited", SIZED);
    pass_deadline(&app, 1).await;

    let reported = until_closed(late).await;
    assert!(reported.starts_with("HTTP/1.1 429 "), "{reported}");
}

#[actix_web::test]
async fn an_uncounted_limit_waits_for_the_body() {
    let app = TestApp::new(&[&SAMPLE]).await;
    let address = serve(&app);

    let late: Vec<TcpStream> = (0..3).map(|_| begin(address, "limited", SIZED)).collect();
    pass_deadline(&app, late.len()).await;
    for stream in late {
        assert!(until_closed(stream).await.starts_with("HTTP/1.1 408 "));
    }

    let counted = "select key from core_rate_limits";
    assert!(app.rows(counted).await.is_empty(), "no request was counted");
    let (status, _) = app.post("", "/sample/limited", json!({"text": "a"})).await;
    assert_eq!(status, 200);
}
