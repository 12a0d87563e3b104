use actix_web::http::Method;
use backoffice_test_support::{Duration, TestApp};
use serde_json::json;

use crate::fixture::{CONFIG, Fixture, MODULES, PASSWORD, account, login};

#[actix_web::test]
async fn acc_1_login_returns_tokens_and_cookies_as_form_and_as_json() {
    let fixture = Fixture::new().await;
    let form = [
        ("email", "admin@alpha.test"),
        ("password", PASSWORD),
        ("remember", "on"),
        ("redirect", "/deals?x=1"),
    ];

    let by_form = fixture
        .app
        .request(Method::POST, "/auth/login")
        .form(&form)
        .send()
        .await;
    let by_json = fixture
        .app
        .request(Method::POST, "/auth/login")
        .json(
            &json!({"email": " ADMIN@alpha.test ", "password": PASSWORD, "remember": true, "redirect": "//evil.test"}),
        )
        .send()
        .await;

    assert_eq!((by_form.status, by_json.status), (200, 200));
    let (form, json) = (by_form.json(), by_json.json());
    assert_eq!(form["redirect"], "/deals?x=1");
    assert_eq!(json["redirect"], "/");
    assert_eq!(form["expiresIn"], 8 * 3600);
    let session = by_form.cookie("session_token").expect("a session cookie");
    assert_eq!(session.max_age().map(time::SignedDuration::whole_days), Some(30));
    assert!(session.http_only().unwrap_or(false));
    assert_eq!(
        by_form
            .cookie("auth_token")
            .and_then(|cookie| cookie.max_age())
            .map(time::SignedDuration::whole_hours),
        Some(8)
    );
    assert_eq!(by_form.header("cache-control").as_deref(), Some("no-store"));
}

#[actix_web::test]
async fn acc_2_every_reason_to_fail_looks_the_same() {
    let fixture = Fixture::new().await;
    let (inactive, _) = fixture.user("inactive@alpha.test", &[]).await;
    let (unconfirmed, _) = fixture.user("unconfirmed@alpha.test", &[]).await;
    let (passwordless, _) = fixture.user("passwordless@alpha.test", &[]).await;
    fixture
        .app
        .sql(&format!(
            "update auth_users set is_active = false where id = '{inactive}'"
        ))
        .await;
    fixture
        .app
        .sql(&format!(
            "update auth_users set is_confirmed = false where id = '{unconfirmed}'"
        ))
        .await;
    fixture
        .app
        .sql(&format!(
            "update auth_users set password_hash = null where id = '{passwordless}'"
        ))
        .await;
    fixture
        .app
        .sql(&format!(
            "update directory_tenants set is_active = false where id = '{}'",
            fixture.b.id
        ))
        .await;

    let mut responses = Vec::new();
    for (email, password) in [
        ("nobody@alpha.test", PASSWORD),
        ("admin@alpha.test", "wrong password"),
        ("inactive@alpha.test", PASSWORD),
        ("unconfirmed@alpha.test", PASSWORD),
        ("passwordless@alpha.test", PASSWORD),
        ("admin@beta.test", PASSWORD),
    ] {
        let body = json!({"email": email, "password": password});
        let response = fixture
            .app
            .request(Method::POST, "/auth/login")
            .json(&body)
            .send()
            .await;
        responses.push((response.status, response.text(), response.cookies().len()));
    }

    assert_eq!(
        responses[0],
        (401, r#"{"error":"Invalid email or password","ok":false}"#.to_owned(), 0)
    );
    assert!(
        responses.iter().all(|response| *response == responses[0]),
        "{responses:?}"
    );
}

#[actix_web::test]
async fn acc_2_every_reason_to_fail_costs_the_same_statements() {
    let fixture = Fixture::counting().await;
    for tenant in [&fixture.a, &fixture.b] {
        let (id, organization) = (Some(tenant.id), Some(tenant.organization));
        account(&fixture.app, id, organization, "both@x.test", &[], false).await;
    }
    let fail = async |email: &str| {
        let body = json!({"email": email, "password": "wrong password"});
        let ((status, _), statements) = fixture
            .app
            .count_statements(fixture.app.post("", "/auth/login", body))
            .await;
        assert_eq!(status, 401, "{email}");
        statements
    };
    fail("nobody@alpha.test").await;

    let unknown = fail("nobody@alpha.test").await;

    assert!(unknown > 1, "a failure is written down");
    for email in ["admin@alpha.test", "both@x.test", "root@platform.test"] {
        assert_eq!(fail(email).await, unknown, "{email}");
    }
    let failures = fixture
        .app
        .rows("select tenant_id, seq from core_outbox_events where name = 'auth.login.failed'")
        .await;
    assert_eq!(failures.len(), 4, "one for each account");
    let streams = fixture
        .app
        .rows(
            "select s.tenant_id from core_event_streams s where s.name = 'log' and s.last_seq is distinct from \
             (select max(o.seq) from core_outbox_events o where o.tenant_id = s.tenant_id)",
        )
        .await;
    assert!(streams.is_empty(), "no stream has a gap: {streams:?}");
}

#[actix_web::test]
async fn acc_16_logins_beyond_the_queue_are_rejected_for_a_second() {
    let fixture = Fixture::with_queue(0).await;
    let body = json!({"email": "nobody@alpha.test", "password": "wrong password"});
    let attempts = (0..200).map(|_| fixture.app.request(Method::POST, "/auth/login").json(&body).send());

    let responses = futures_util::future::join_all(attempts).await;

    let rejected: Vec<_> = responses.iter().filter(|response| response.status == 429).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(!rejected.is_empty(), "there is an end to it");
    assert!(
        responses.len() - rejected.len() >= cores,
        "as many as there are cores are served"
    );
    for response in rejected {
        assert_eq!(response.header("retry-after").as_deref(), Some("1"));
        assert_eq!(response.json(), json!({"ok": false, "error": "Too many requests"}));
    }
    let (status, _) = fixture.app.post("", "/auth/login", body.clone()).await;
    assert_eq!(status, 401, "the queue is free again");
}

#[actix_web::test]
async fn acc_16_logins_beyond_the_queue_cost_no_statement() {
    let config = CONFIG.replace("memory_kib = 8", "memory_kib = 8\nqueue = 0");
    let app = TestApp::builder(&MODULES).config(&config).through_proxy().build().await;
    let fixture = Fixture::inside(app).await;
    let attempt = async |number: u8| {
        let email = ["nobody@alpha.test", "admin@alpha.test"][usize::from(number % 2)];
        let body = json!({"email": email, "password": "wrong password"});
        let request = fixture.app.request(Method::POST, "/auth/login");
        request
            .peer(&format!("10.0.0.{number}"))
            .json(&body)
            .send()
            .await
            .status
    };
    assert_eq!(attempt(200).await, 401);
    let (one, statements_of_one) = fixture.app.count_statements(attempt(201)).await;
    assert_eq!(one, 401);

    let attempts = futures_util::future::join_all((0..100).map(attempt));
    let (statuses, statements) = fixture.app.count_statements(attempts).await;

    let served = statuses.iter().filter(|status| **status == 401).count();
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 100 - served);
    assert!(served < 100, "{served}");
    // Besides the served requests, new connections cost some statements; the rejected requests are many more.
    let (served, rejected) = (
        u64::try_from(served).expect("few"),
        u64::try_from(100 - served).expect("few"),
    );
    assert!(
        statements < statements_of_one * served + rejected / 2,
        "{statements} for {served} of 100"
    );
}

#[actix_web::test]
async fn acc_3_one_address_in_two_tenants() {
    let fixture = Fixture::new().await;
    for tenant in [&fixture.a, &fixture.b] {
        account(
            &fixture.app,
            Some(tenant.id),
            Some(tenant.organization),
            "both@x.test",
            &[],
            false,
        )
        .await;
    }

    let (status, body) = fixture
        .app
        .post("", "/auth/login", json!({"email": "both@x.test", "password": PASSWORD}))
        .await;
    let chosen = json!({"email": "both@x.test", "password": PASSWORD, "tenantId": fixture.b.id});
    let (chosen_status, _) = fixture.app.post("", "/auth/login", chosen).await;

    assert_eq!((status, body["code"].as_str()), (400, Some("tenant_required")));
    assert_eq!(body["tenants"].as_array().map(Vec::len), Some(2));
    assert_eq!(chosen_status, 200);
}

#[actix_web::test]
async fn acc_4_a_required_role_that_is_missing_starts_no_session() {
    let fixture = Fixture::new().await;
    let ask = |password: &str| json!({"email": "admin@alpha.test", "password": password, "requireRole": "dispatcher"});
    let sessions = fixture.app.rows("select id from auth_sessions").await.len();

    let rejected = fixture
        .app
        .request(Method::POST, "/auth/login")
        .json(&ask(PASSWORD))
        .send()
        .await;
    let (wrong, _) = fixture.app.post("", "/auth/login", ask("wrong password")).await;
    let held = json!({"email": "admin@alpha.test", "password": PASSWORD, "role": "dispatcher, ADMIN"});
    let (granted, _) = fixture.app.post("", "/auth/login", held).await;

    assert_eq!(
        (rejected.status, rejected.json()),
        (403, json!({"ok": false, "error": "Not authorized for this area"}))
    );
    assert!(rejected.cookies().is_empty());
    assert_eq!((wrong, granted), (401, 200));
    assert_eq!(
        fixture.app.rows("select id from auth_sessions").await.len(),
        sessions + 1
    );
}

#[actix_web::test]
async fn acc_5_the_sixth_login_of_a_minute_is_rejected_for_a_minute() {
    let fixture = Fixture::with_config("").await;
    for email in ["admin@alpha.test", "nobody@alpha.test"] {
        let peer = if email.starts_with("admin") {
            "10.0.0.1"
        } else {
            "10.0.0.2"
        };
        let body = json!({"email": email, "password": "wrong password"});
        let try_it = || {
            fixture
                .app
                .request(Method::POST, "/auth/login")
                .peer(peer)
                .json(&body)
                .send()
        };

        for _ in 0..5 {
            assert_eq!(try_it().await.status, 401);
        }
        let rejected = try_it().await;

        assert_eq!(
            (rejected.status, rejected.json()),
            (429, json!({"ok": false, "error": "Too many requests"}))
        );
        assert_eq!(rejected.header("retry-after").as_deref(), Some("60"));
        assert!(rejected.header("ratelimit-policy").is_some());
    }

    fixture.app.advance(Duration::seconds(61));
    let body = json!({"email": "admin@alpha.test", "password": PASSWORD});
    let after = fixture
        .app
        .request(Method::POST, "/auth/login")
        .peer("10.0.0.1")
        .json(&body)
        .send()
        .await;

    assert_eq!(after.status, 200);
}

#[actix_web::test]
async fn acc_7_logout_ends_the_session_everywhere_and_no_other() {
    let fixture = Fixture::new().await;
    let other = login(&fixture.app, "admin@alpha.test").await;
    let body = json!({"email": "admin@alpha.test", "password": PASSWORD});
    let (_, session) = fixture.app.post("", "/auth/login", body).await;
    let (token, refresh) = (
        session["token"].as_str().expect("token"),
        session["refreshToken"].as_str().expect("token"),
    );

    let response = fixture
        .app
        .request(Method::POST, "/auth/logout")
        .bearer(token)
        .send()
        .await;

    assert_eq!(
        (response.status, response.header("location").as_deref()),
        (302, Some("/login"))
    );
    assert_eq!(
        response
            .cookie("auth_token")
            .and_then(|cookie| cookie.max_age())
            .map(time::SignedDuration::whole_seconds),
        Some(0)
    );
    assert_eq!(fixture.app.get(token, "/auth/profile").await.0, 401);
    assert_eq!(
        fixture
            .app
            .post("", "/auth/session/refresh", json!({"refreshToken": refresh}))
            .await
            .0,
        401
    );
    assert_eq!(fixture.app.get(&other, "/auth/profile").await.0, 200);

    fixture
        .app
        .request(Method::POST, "/auth/logout")
        .bearer(&other)
        .form(&[("all", "yes")])
        .send()
        .await;

    assert_eq!(fixture.app.get(&fixture.a.token, "/auth/profile").await.0, 401);
}

#[actix_web::test]
async fn acc_7_logout_needs_no_body_whatever_its_content_type() {
    let fixture = Fixture::new().await;
    for (body, content_type) in [
        ("", "application/json"),
        (" \n", "application/json"),
        (" ", "text/plain"),
    ] {
        let session = login(&fixture.app, "admin@alpha.test").await;

        let request = fixture.app.request(Method::POST, "/auth/logout").bearer(&session);
        let response = request.body(body, content_type).send().await;

        assert_eq!(response.status, 302, "{body:?} as {content_type}");
        assert_eq!(fixture.app.get(&session, "/auth/profile").await.0, 401);
    }
}

#[actix_web::test]
async fn acc_7_a_second_node_hears_of_a_logout_within_a_second() {
    let fixture = Fixture::new().await;
    let second = fixture.app.second_node().await;
    fixture.app.start_background();
    second.start_background();
    fixture.app.poll_revocations().await;
    second.poll_revocations().await;
    assert_eq!(second.get(&fixture.a.token, "/auth/profile").await.0, 200);
    assert_eq!(second.get(&fixture.a.token, "/auth/profile").await.0, 200);

    fixture
        .app
        .request(Method::POST, "/auth/logout")
        .bearer(&fixture.a.token)
        .send()
        .await;
    let here = fixture.app.get(&fixture.a.token, "/auth/profile").await.0;
    // The one test of the real interval.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let there = second.get(&fixture.a.token, "/auth/profile").await.0;

    assert_eq!((here, there), (401, 401));
}

#[actix_web::test]
async fn acc_9_a_refresh_token_works_until_its_session_ends() {
    let fixture = Fixture::new().await;
    let body = json!({"email": "admin@alpha.test", "password": PASSWORD});
    let (_, session) = fixture.app.post("", "/auth/login", body).await;
    let ask = json!({"refreshToken": session["refreshToken"]});

    fixture.app.advance(Duration::hours(7));
    let (first, fresh) = fixture.app.post("", "/auth/session/refresh", ask.clone()).await;
    let (second, _) = fixture.app.post("", "/auth/session/refresh", ask.clone()).await;
    let (missing, text) = fixture.app.post("", "/auth/session/refresh", json!({})).await;

    assert_eq!((first, second), (200, 200));
    assert_eq!(fresh["expiresIn"], 3600);
    let token = fresh["accessToken"].as_str().expect("a token");
    assert_eq!(fixture.app.get(token, "/auth/profile").await.0, 200);
    assert_eq!((missing, text["error"].as_str()), (400, Some("Missing refresh token")));

    fixture.app.advance(Duration::hours(2));
    assert_eq!(fixture.app.post("", "/auth/session/refresh", ask).await.0, 401);
    assert_eq!(fixture.app.get(token, "/auth/profile").await.0, 401);
}

#[actix_web::test]
async fn acc_39_a_cookie_from_another_site_is_rejected_on_writes() {
    let fixture = Fixture::new().await;
    let post = || {
        let body = json!({"name": "Dispatcher"});
        fixture
            .app
            .request(Method::POST, "/auth/roles")
            .json(&body)
            .header("origin", "https://evil.test")
    };

    let by_cookie = post().cookie("auth_token", &fixture.a.token).send().await;
    let by_bearer = post().bearer(&fixture.a.token).send().await;
    let login = fixture
        .app
        .request(Method::POST, "/auth/login")
        .header("origin", "https://evil.test")
        .json(&json!({"email": "admin@alpha.test", "password": PASSWORD}))
        .send()
        .await;
    let silent = |method: Method, path: &str| fixture.app.request(method, path).cookie("auth_token", &fixture.a.token);
    let unstated = silent(Method::POST, "/auth/roles").json(&json!({"name": "Driver"}));
    let unstated = unstated.send().await;
    let read = silent(Method::GET, "/auth/profile").send().await;
    let own = silent(Method::POST, "/auth/roles")
        .header("sec-fetch-site", "same-origin")
        .json(&json!({"name": "Driver"}));

    assert_eq!(
        (unstated.status, unstated.json()["error"].as_str()),
        (403, Some("Cross-origin request rejected")),
        "says nothing about its origin"
    );
    assert_eq!((read.status, own.send().await.status), (200, 201));
    assert_eq!((by_cookie.status, by_bearer.status), (403, 201));
    assert_eq!((login.status, login.cookies().len()), (200, 0));
}

#[actix_web::test]
async fn another_session_beyond_the_limit_ends_the_oldest() {
    let fixture = Fixture::with_config("[rate_limits]\nenabled = false\n").await;
    for _ in 0..50 {
        fixture.app.advance(Duration::seconds(1));
        login(&fixture.app, "admin@alpha.test").await;
    }

    assert_eq!(fixture.app.get(&fixture.a.token, "/auth/profile").await.0, 401);
    let live = fixture
        .app
        .rows(&format!(
            "select id from auth_sessions where ended_at is null and user_id = '{}'",
            fixture.a.admin
        ))
        .await;
    assert_eq!(live.len(), 50);
}
