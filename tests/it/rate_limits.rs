//! Limits that nodes share.

use actix_web::http::Method;
use backoffice_test_support::{Duration, TestApp, TestResponse};
use serde_json::json;

use crate::world::{AUTH, MODULES, PASSWORD};

#[actix_web::test]
async fn the_sixth_sign_in_of_an_account_waits_whoever_it_is() {
    let app = TestApp::builder(&MODULES).config(AUTH).build().await;
    let node = app.second_node().await;

    for app in [&app, &node, &app, &node, &app] {
        assert_eq!(sign_in(app, "10.0.0.1").await.status, 401);
    }
    let refused = sign_in(&node, "10.0.0.1").await;

    assert_eq!(refused.status, 429, "for an unknown address too");
    assert_eq!(refused.json(), json!({"ok": false, "error": "Too many requests"}));
    for header in ["retry-after", "ratelimit-policy", "ratelimit"] {
        assert!(refused.header(header).is_some(), "{header}");
    }
    assert_eq!(sign_in(&app, "10.0.0.2").await.status, 401, "another client");
    app.advance(Duration::seconds(61));
    assert_eq!(sign_in(&app, "10.0.0.1").await.status, 401);
}

#[actix_web::test]
async fn one_client_may_try_twenty_accounts_a_minute() {
    let app = TestApp::builder(&MODULES).config(AUTH).build().await;

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
