//! Details of signing in: the form, its cookies, the duration of a rejection, several tenants and several nodes.

use std::cell::Cell;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::Method;
use backoffice_auth::Accounts;
use backoffice_test_accounts::ORGANIZATIONS;
use backoffice_test_support::Duration as Span;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fixture::{Fixture, PASSWORD, account};

/// `HttpOnly`, `SameSite`, `Path`, `Secure` and seconds of life.
type Attributes = (bool, Option<SameSite>, Option<String>, bool, Option<i64>);

fn attributes(cookie: &Cookie<'_>) -> Attributes {
    assert_eq!(cookie.domain(), None);
    (
        cookie.http_only().unwrap_or(false),
        cookie.same_site(),
        cookie.path().map(str::to_owned),
        cookie.secure().unwrap_or(false),
        cookie.max_age().map(time::SignedDuration::whole_seconds),
    )
}

async fn cookies_of_a_login(fixture: &Fixture, remember: Value) -> [Attributes; 2] {
    let body = json!({"email": "admin@alpha.test", "password": PASSWORD, "remember": remember});
    let response = fixture
        .app
        .request(Method::POST, "/auth/login")
        .json(&body)
        .send()
        .await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(
        response.json()["expiresIn"],
        8 * 3600,
        "the token's life does not depend on it"
    );
    ["auth_token", "session_token"].map(|name| attributes(&response.cookie(name).expect("a cookie")))
}

#[actix_web::test]
async fn acc_1_the_cookies_are_for_this_site_and_no_script() {
    let (day, lax, root) = (24 * 3600, Some(SameSite::Lax), Some("/".to_owned()));
    let with = |secure: bool, life: i64| (true, lax, root.clone(), secure, Some(life));
    let fixture = Fixture::with_config("[http]\ninsecure_cookies = false\n[rate_limits]\nenabled = false\n").await;
    for (remember, life) in [
        (json!(false), day / 3),
        (json!(0), day / 3),
        (json!("off"), day / 3),
        (json!(null), day / 3),
        (json!(true), 30 * day),
        (json!(1), 30 * day),
        (json!("1"), 30 * day),
        (json!("yes"), 30 * day),
    ] {
        let found = cookies_of_a_login(&fixture, remember.clone()).await;
        assert_eq!(found, [with(true, day / 3), with(true, life)], "{remember}");
    }
    for bad in [json!(2), json!(-1), json!(1.5), json!("maybe"), json!([true])] {
        let body = json!({"email": "admin@alpha.test", "password": PASSWORD, "remember": bad});
        let (status, text) = fixture.app.post("", "/auth/login", body).await;
        assert_eq!(
            (status, text["error"].as_str()),
            (400, Some("Invalid request")),
            "{bad}"
        );
    }

    let insecure = Fixture::with_config("[http]\ninsecure_cookies = true\n[rate_limits]\nenabled = false\n").await;
    let found = cookies_of_a_login(&insecure, json!(true)).await;
    assert_eq!(found, [with(false, day / 3), with(false, 30 * day)]);
}

/// Addresses and passwords that do not sign in, one for each reason.
async fn reasons(fixture: &Fixture) -> Vec<(&'static str, &'static str)> {
    let closed = json!({"name": "Closed", "slug": "closed"});
    let closed = fixture.create(ORGANIZATIONS, closed).await.to_string();
    for (email, change) in [
        ("inactive@alpha.test", "is_active = false".to_owned()),
        ("unconfirmed@alpha.test", "is_confirmed = false".to_owned()),
        ("passwordless@alpha.test", "password_hash = null".to_owned()),
        ("elsewhere@alpha.test", format!("organization_id = '{closed}'")),
    ] {
        let (user, _) = fixture.user(email, &[]).await;
        let change = format!("update auth_users set {change} where id = '{user}'");
        assert_eq!(fixture.app.sql(&change).await, 1);
    }
    for (table, id) in [
        ("directory_organizations", closed),
        ("directory_tenants", fixture.b.id.to_string()),
    ] {
        let change = format!("update {table} set is_active = false where id = '{id}'");
        assert_eq!(fixture.app.sql(&change).await, 1);
    }
    vec![
        ("admin@alpha.test", "wrong password"),
        ("nobody@alpha.test", PASSWORD),
        ("inactive@alpha.test", PASSWORD),
        ("unconfirmed@alpha.test", PASSWORD),
        ("passwordless@alpha.test", PASSWORD),
        ("elsewhere@alpha.test", PASSWORD),
        ("admin@beta.test", PASSWORD),
    ]
}

/// Returns the status and the body of a rejection.
async fn rejection(fixture: &Fixture, email: &str, password: &str) -> (u16, String) {
    let body = json!({"email": email, "password": password});
    let response = fixture
        .app
        .request(Method::POST, "/auth/login")
        .json(&body)
        .send()
        .await;
    assert!(response.cookies().is_empty(), "{email}");
    (response.status, response.text())
}

#[actix_web::test]
async fn acc_2_a_rejection_is_released_at_the_floor_whatever_the_reason() {
    let fixture = Fixture::replacing("0ms", "300ms").await;
    let reasons = reasons(&fixture).await;
    let responded = Cell::new(0);
    let attempt = async |email: &str, password: &str| {
        let response = rejection(&fixture, email, password).await;
        responded.set(responded.get() + 1);
        response
    };
    let attempts = futures_util::future::join_all(reasons.iter().map(|(email, password)| attempt(email, password)));
    let watch = async {
        let clock = fixture.app.clock();
        while clock.waiting() < reasons.len() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let mut reported = Vec::new();
        for milliseconds in [0, 299, 1] {
            fixture.app.advance(Span::milliseconds(milliseconds));
            tokio::time::sleep(Duration::from_millis(100)).await;
            reported.push(responded.get());
        }
        reported
    };

    let (found, reported) = futures_util::future::join(attempts, watch).await;

    assert_eq!(reported, [0, 0, reasons.len()], "none earlier, all at the same instant");
    for ((email, _), (status, text)) in reasons.iter().zip(&found) {
        assert_eq!((*status, text), (401, &found[0].1), "{email}");
    }
}

#[actix_web::test]
async fn acc_2_a_rejection_costs_one_verification_whatever_the_reason() {
    let fixture = Fixture::new().await;
    let reasons = reasons(&fixture).await;
    let accounts = fixture.app.platform().provided().get::<Accounts>().expect("the module");

    let mut costs = Vec::new();
    for (email, password) in &reasons {
        let before = accounts.verifications();
        rejection(&fixture, email, password).await;
        costs.push((*email, accounts.verifications() - before));
    }

    assert_eq!(costs, reasons.iter().map(|(email, _)| (*email, 1)).collect::<Vec<_>>());
}

#[actix_web::test]
async fn acc_3_each_password_signs_in_to_its_own_tenant() {
    let fixture = Fixture::new().await;
    let create = async |token: &str, password: &str, organization: uuid::Uuid| {
        let body = json!({
            "email": "both@x.test", "password": password, "organizationId": organization, "roles": []
        });
        let (status, body) = fixture.app.post(token, "/auth/users", body).await;
        assert_eq!(status, 201, "{body}");
    };
    let sign_in = async |password: &str| {
        let body = json!({"email": "both@x.test", "password": password});
        fixture.app.post("", "/auth/login", body).await
    };
    let tenant_of = async |body: Value| {
        let token = body["token"].as_str().expect("a token").to_owned();
        fixture.app.get(&token, "/auth/profile").await.1["tenantId"].clone()
    };
    create(&fixture.a.token, "the password of alpha", fixture.a.organization).await;
    let (alone, _) = sign_in("the password of alpha").await;

    // The administrator of another tenant uses the same address.
    create(&fixture.b.token, "the password of beta", fixture.b.organization).await;
    let (alpha, alpha_body) = sign_in("the password of alpha").await;
    let (beta, beta_body) = sign_in("the password of beta").await;

    assert_eq!((alone, alpha, beta), (200, 200, 200));
    assert_eq!(tenant_of(alpha_body).await, json!(fixture.a.id));
    assert_eq!(tenant_of(beta_body).await, json!(fixture.b.id));
    let elsewhere = json!({
        "email": "both@x.test", "password": "the password of alpha", "tenantId": fixture.b.id
    });
    assert_eq!(fixture.app.post("", "/auth/login", elsewhere).await.0, 401);
}

#[actix_web::test]
async fn acc_3_equal_passwords_name_the_tenants_that_they_fit() {
    let fixture = Fixture::new().await;
    for tenant in [&fixture.a, &fixture.b] {
        let (id, organization) = (Some(tenant.id), Some(tenant.organization));
        account(&fixture.app, id, organization, "both@x.test", &[], false).await;
    }

    let ask = json!({"email": "both@x.test", "password": PASSWORD});
    let (status, body) = fixture.app.post("", "/auth/login", ask).await;

    let tenants = json!([{"id": fixture.a.id, "name": "Alpha"}, {"id": fixture.b.id, "name": "Beta"}]);
    assert_eq!((status, body["tenants"].clone()), (400, tenants));
    for name in ["tenantId", "tenant"] {
        let chosen = json!({"email": "both@x.test", "password": PASSWORD, name: fixture.a.id});
        assert_eq!(fixture.app.post("", "/auth/login", chosen).await.0, 200, "{name}");
    }
}

#[actix_web::test]
async fn acc_5_malformed_attempts_count_like_others() {
    let fixture = Fixture::with_config("").await;
    let attempt = async |peer: &str, body: &Value| {
        let request = fixture.app.request(Method::POST, "/auth/login").peer(peer).json(body);
        let response = request.send().await;
        (response.status, response.json()["ok"].clone())
    };
    let malformed = [
        json!({"email": "admin@alpha.test", "password": 7}),
        json!({"email": "admin@alpha.test"}),
        json!({"email": "admin@alpha.test", "password": PASSWORD, "remember": "maybe"}),
        json!({"email": "admin@alpha.test", "password": PASSWORD, "tenantId": "none"}),
        json!({"email": " Admin@Alpha.test", "password": ""}),
    ];

    for body in &malformed {
        assert_eq!(attempt("10.0.0.1", body).await, (400, json!(false)), "{body}");
    }

    let right = json!({"email": "admin@alpha.test", "password": PASSWORD});
    assert_eq!(attempt("10.0.0.1", &right).await, (429, json!(false)), "the sixth");
    assert_eq!(
        attempt("10.0.0.1", &malformed[0]).await.0,
        429,
        "before its form is validated"
    );
    assert_eq!(attempt("10.0.0.2", &right).await.0, 200, "another client");
    for _ in 0..5 {
        assert_eq!(attempt("10.0.0.3", &json!({"email": 7})).await.0, 400);
    }
    assert_eq!(
        attempt("10.0.0.3", &json!({"email": 7})).await.0,
        429,
        "malformed addresses share a limit"
    );
}

#[actix_web::test]
async fn acc_7_a_second_node_rejects_bearer_cookie_and_refresh_token_of_an_ended_session() {
    let fixture = Fixture::new().await;
    let second = fixture.app.second_node().await;
    fixture.app.start_background();
    second.start_background();
    fixture.app.poll_revocations().await;
    second.poll_revocations().await;
    let sign_in = async || {
        let body = json!({"email": "admin@alpha.test", "password": PASSWORD});
        let (_, body) = fixture.app.post("", "/auth/login", body).await;
        let text = |name: &str| body[name].as_str().expect("a text").to_owned();
        (text("token"), text("refreshToken"))
    };
    let (ended, ended_refresh) = sign_in().await;
    let (other, other_refresh) = sign_in().await;
    let ask = async |token: &str, refresh: &str| {
        let bearer = second.get(token, "/auth/profile").await.0;
        let request = second.request(Method::GET, "/auth/profile").cookie("auth_token", token);
        let cookie = request.send().await.status;
        let body = json!({"refreshToken": refresh});
        [bearer, cookie, second.post("", "/auth/session/refresh", body).await.0]
    };
    assert_eq!(ask(&ended, &ended_refresh).await, [200; 3]);
    assert_eq!(ask(&other, &other_refresh).await, [200; 3]);

    fixture
        .app
        .request(Method::POST, "/auth/logout")
        .bearer(&ended)
        .send()
        .await;
    second.poll_revocations().await;

    assert_eq!(ask(&ended, &ended_refresh).await, [401; 3]);
    assert_eq!(ask(&other, &other_refresh).await, [200; 3], "another session goes on");
}

#[actix_web::test]
async fn acc_7_logout_ends_the_session_of_the_cookie_too() {
    let fixture = Fixture::new().await;
    let body = json!({"email": "admin@alpha.test", "password": PASSWORD});
    let (_, session) = fixture.app.post("", "/auth/login", body).await;
    let refresh = session["refreshToken"].as_str().expect("a token");

    // Called by another session of the same user.
    fixture
        .app
        .request(Method::POST, "/auth/logout")
        .bearer(&fixture.a.token)
        .cookie("session_token", refresh)
        .send()
        .await;

    for token in [&fixture.a.token, session["token"].as_str().expect("a token")] {
        assert_eq!(fixture.app.get(token, "/auth/profile").await.0, 401);
    }
}

#[actix_web::test]
async fn acc_9_a_fresh_token_never_outlives_its_session() {
    let fixture = Fixture::new().await;
    let body = json!({"email": "admin@alpha.test", "password": PASSWORD, "remember": true});
    let (_, session) = fixture.app.post("", "/auth/login", body).await;
    let ask = json!({"refreshToken": session["refreshToken"]});
    let refreshed = async || fixture.app.post("", "/auth/session/refresh", ask.clone()).await;

    for (hours, expected) in [(1, 8 * 3600), (30 * 24 - 9, 8 * 3600), (5, 3 * 3600), (2, 3600)] {
        fixture.app.advance(Span::hours(hours));
        let (status, body) = refreshed().await;
        assert_eq!((status, body["expiresIn"].as_i64()), (200, Some(expected)));
    }
    let (_, last) = refreshed().await;
    let last = last["accessToken"].as_str().expect("a token");
    fixture
        .app
        .request(Method::POST, "/auth/logout")
        .bearer(last)
        .send()
        .await;

    let (status, body) = refreshed().await;
    assert_eq!(
        (status, body),
        (401, json!({"ok": false, "error": "Invalid or expired refresh token"}))
    );
    for missing in [json!({}), json!({"refreshToken": 7}), json!({"refreshToken": ""})] {
        let (status, body) = fixture.app.post("", "/auth/session/refresh", missing).await;
        assert_eq!((status, body["error"].as_str()), (400, Some("Missing refresh token")));
    }
}

#[actix_web::test]
async fn acc_2_a_body_that_arrives_slowly_does_not_shorten_the_floor() {
    let fixture = Fixture::replacing("0ms", "300ms").await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound listener has an address");
    fixture.app.serve(listener);
    let body = json!({"email": "nobody@alpha.test", "password": PASSWORD}).to_string();
    let head = format!(
        "POST /api/auth/login HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(head.as_bytes()).await.expect("it is read");
    tokio::time::sleep(Duration::from_millis(300)).await;
    fixture.app.advance(Span::milliseconds(300));
    stream.write_all(body.as_bytes()).await.expect("it is read");

    let mut response = String::new();
    let released = tokio::time::timeout(Duration::from_millis(500), stream.read_to_string(&mut response)).await;
    assert!(released.is_err(), "it is released too early: {response}");
    fixture.app.advance(Span::milliseconds(300));
    stream.read_to_string(&mut response).await.expect("it is closed");

    assert!(response.starts_with("HTTP/1.1 401"), "{response}");
}
