//! Rate limits that nodes share.

use actix_web::http::Method;
use backoffice_test_support::{Duration, TestApp, TestResponse};
use serde_json::json;

use crate::fixture::{AUTH, MODULES, PASSWORD};

#[actix_web::test]
async fn the_sixth_sign_in_is_rejected_for_an_unknown_address_too() {
    let app = TestApp::builder(MODULES).config(AUTH).build().await;
    let node = app.second_node().await;

    for app in [&app, &node, &app, &node, &app] {
        assert_eq!(sign_in(app, "10.0.0.1").await.status, 401);
    }
    let rejected = sign_in(&node, "10.0.0.1").await;

    assert_eq!(rejected.status, 429, "for an unknown address too");
    assert_eq!(rejected.json(), json!({"ok": false, "error": "Too many requests"}));
    for header in ["retry-after", "ratelimit-policy", "ratelimit"] {
        assert!(rejected.header(header).is_some(), "{header}");
    }
    assert_eq!(sign_in(&app, "10.0.0.2").await.status, 401, "another client");
    app.advance(Duration::seconds(61));
    assert_eq!(sign_in(&app, "10.0.0.1").await.status, 401);
}

#[actix_web::test]
async fn what_is_over_its_limit_is_rejected_from_memory_for_a_second() {
    let app = TestApp::builder(MODULES).config(AUTH).through_proxy().build().await;
    for _ in 0..5 {
        assert_eq!(sign_in(&app, "10.0.0.1").await.status, 401);
    }
    let reported = |outcome: &TestResponse| {
        let headers = ["retry-after", "ratelimit-policy", "ratelimit"].map(|name| outcome.header(name));
        (outcome.status, outcome.text(), headers)
    };
    let (first, asked) = app.count_statements(sign_in(&app, "10.0.0.1")).await;

    let (second, remembered) = app.count_statements(sign_in(&app, "10.0.0.1")).await;
    let (other, _) = app.count_statements(sign_in(&app, "10.0.0.2")).await;
    app.advance(Duration::SECOND);
    let (third, asked_again) = app.count_statements(sign_in(&app, "10.0.0.1")).await;
    app.advance(Duration::seconds(60));
    let later = sign_in(&app, "10.0.0.1").await;

    assert_eq!((first.status, reported(&second)), (429, reported(&first)));
    // The client's address is counted before the account.
    assert_eq!((asked, remembered, asked_again), (2, 1, 2));
    assert_eq!((other.status, third.status, later.status), (401, 429, 401));
}

#[actix_web::test]
async fn a_client_over_its_limit_costs_no_statement() {
    let config = format!("{AUTH}[rate_limits.limits]\n\"auth.login.ip\" = \"1/60\"\n");
    let app = TestApp::builder(MODULES).config(&config).through_proxy().build().await;
    assert_eq!(sign_in(&app, "10.0.0.1").await.status, 401);
    assert_eq!(sign_in(&app, "10.0.0.1").await.status, 429);

    let (rejected, statements) = app.count_statements(sign_in(&app, "10.0.0.1")).await;

    assert_eq!((rejected.status, statements), (429, 0));
}

#[actix_web::test]
async fn one_client_may_try_twenty_accounts_a_minute() {
    let app = TestApp::builder(MODULES).config(AUTH).build().await;

    let mut statuses = Vec::new();
    for number in 0..21 {
        let body = json!({"email": format!("u{number}@x.test"), "password": PASSWORD});
        statuses.push(app.post("", "/auth/login", body).await.0);
    }

    assert_eq!(statuses[..20], [401; 20]);
    assert_eq!(statuses[20], 429);
}

async fn sign_in(app: &TestApp, peer: &str) -> TestResponse {
    let request = app.request(Method::POST, "/auth/login").peer(peer);
    request
        .json(&json!({"email": "nobody@x.test", "password": PASSWORD}))
        .send()
        .await
}
