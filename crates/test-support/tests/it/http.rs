//! Requests without any rights: paths, bodies, limits.

use actix_web::http::Method;
use backoffice_test_support::{Duration, TestApp};
use serde_json::json;

use crate::sample::SAMPLE;

const NOTES: &str = "/sample/notes";

#[actix_web::test]
async fn an_unknown_path_is_not_found_with_a_request_id() {
    let app = TestApp::new(&[]).await;

    let below = app.request(Method::GET, "/nowhere").send().await;
    let outside = app
        .request_outside(Method::POST, "/elsewhere")
        .header("X-Request-Id", "mine-1")
        .send()
        .await;

    for response in [&below, &outside] {
        assert_eq!((response.status, response.json()), (404, json!({"error": "Not Found"})));
    }
    assert_eq!(below.header("x-request-id").expect("a request id").len(), 36);
    assert_eq!(outside.header("x-request-id").as_deref(), Some("mine-1"));
}

#[actix_web::test]
async fn another_method_of_a_known_path_is_not_found() {
    let app = TestApp::new(&[&SAMPLE]).await;

    for (method, path) in [
        (Method::DELETE, NOTES),
        (Method::PUT, NOTES),
        (Method::POST, "/sample/private"),
    ] {
        let response = app.request(method.clone(), path).send().await;
        assert_eq!(
            (response.status, response.json()),
            (404, json!({"error": "Not Found"})),
            "{method} {path}"
        );
        assert!(response.header("x-request-id").is_some());
    }
}

#[actix_web::test]
async fn a_good_body_and_query_arrive() {
    let app = TestApp::new(&[&SAMPLE]).await;

    assert_eq!(
        app.post("", NOTES, json!({"text": "é\\u0000"})).await,
        (200, json!({"text": "é\\u0000"}))
    );
    assert_eq!(
        app.get("", "/sample/notes?page=3&search=a%20b").await,
        (200, json!({"text": "3 a b"}))
    );
}

#[actix_web::test]
async fn a_bad_body_is_rejected_with_details() {
    let app = TestApp::new(&[&SAMPLE]).await;
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(2 * 1024 * 1024));
    let deep = format!("{{\"text\":{}", "[".repeat(100_000));
    let bodies: &[&[u8]] = &[
        b"",
        b"{",
        b"{\"text\":",
        b"[]",
        b"[{\"text\":\"a\"}]",
        b"null",
        b"\"text\"",
        b"7",
        b"{\"text\":\"a\"} {}",
        b"{\"text\":7}",
        b"{\"text\":null}",
        b"{\"text\":\"\"}",
        b"{}",
        b"{\"text\":\"a\\u0000\"}",
        b"{\"text\":\"a\0\"}",
        b"{\"text\":\"\xff\xfe\"}",
        b"{\"text\":\"\\ud800\"}",
        b"\xef\xbb\xbf{\"text\":\"a\"}",
        b"text=a",
        large.as_bytes(),
        deep.as_bytes(),
    ];

    for body in bodies {
        let response = app
            .request(Method::POST, NOTES)
            .body(body.to_vec(), "application/json")
            .send()
            .await;

        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]);
        assert_eq!(response.status, 400, "{shown}");
        assert_eq!(response.json()["error"], "Invalid input", "{shown}");
        assert!(response.json()["details"][0]["message"].is_string(), "{shown}");
    }
}

#[actix_web::test]
async fn a_bad_query_is_rejected() {
    let app = TestApp::new(&[&SAMPLE]).await;

    for query in [
        "page=0",
        "page=x",
        "page=",
        "page=1&page=2",
        "page=99999999999999999999",
        "search=%00",
    ] {
        let (status, body) = app.get("", &format!("{NOTES}?{query}")).await;
        assert_eq!((status, &body["error"]), (400, &json!("Invalid input")), "{query}");
    }
}

#[actix_web::test]
async fn private_endpoints_require_a_credential() {
    let app = TestApp::new(&[&SAMPLE]).await;

    let anonymous = app.request(Method::GET, "/sample/private").send().await;
    let garbage = app
        .request(Method::GET, "/sample/private")
        .bearer("garbage")
        .send()
        .await;
    let cookie = app
        .request(Method::GET, "/sample/private")
        .cookie("auth_token", "x")
        .send()
        .await;

    for response in [&anonymous, &garbage, &cookie] {
        assert_eq!(
            (response.status, response.json()),
            (401, json!({"error": "Unauthorized"}))
        );
    }
    assert!(anonymous.cookies().is_empty());
    assert_eq!(garbage.cookie("auth_token").expect("it is cleared").value(), "");
}

#[actix_web::test]
async fn a_limit_counts_per_address_and_ends_with_its_window() {
    let app = TestApp::new(&[&SAMPLE]).await;
    let other = app.second_node().await;
    let call = async |app: &TestApp, peer| app.request(Method::GET, "/sample/limited").peer(peer).send().await;

    assert_eq!(call(&app, "10.0.0.1").await.status, 200);
    assert_eq!(call(&other, "10.0.0.1").await.status, 200);
    let rejected = call(&app, "10.0.0.1").await;
    assert_eq!(
        (rejected.status, rejected.json()),
        (429, json!({"error": "Too many requests"}))
    );
    assert_eq!(rejected.header("retry-after").as_deref(), Some("60"));
    assert_eq!(call(&app, "::1").await.status, 200);

    app.advance(Duration::seconds(60));
    assert_eq!(call(&other, "10.0.0.1").await.status, 200);

    assert_eq!(call(&app, "10.0.0.2").await.status, 200);
    app.advance(-Duration::hours(1));
    for expected in [200, 200, 429] {
        let response = call(&app, "10.0.0.2").await;
        assert_eq!(
            response.status, expected,
            "a window lasts no longer if the clock was ahead"
        );
    }
}

#[actix_web::test]
async fn a_panic_in_a_handler_is_a_server_error_that_says_nothing() {
    let app = TestApp::new(&[&SAMPLE]).await;

    let response = app
        .request(Method::POST, "/sample/panic")
        .json(&json!({"text": "hunter2"}))
        .send()
        .await;

    assert_eq!(response.status, 500);
    assert!(!response.text().contains("hunter2"));
    assert_eq!(
        response.json()["requestId"].as_str(),
        response.header("x-request-id").as_deref()
    );
}

#[actix_web::test]
async fn ids_repeat_from_run_to_run_and_differ_between_nodes() {
    let (app, twin) = (TestApp::new(&[]).await, TestApp::new(&[]).await);
    let node = app.second_node().await;

    let ids = [&app, &node, &twin].map(|app| app.system_context().new_id());

    assert_ne!(ids[0], ids[1]);
    assert_eq!(ids[0], ids[2]);
}
