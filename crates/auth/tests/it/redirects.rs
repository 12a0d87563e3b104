//! Redirects never lead off this site.

use actix_web::http::Method;
use backoffice_test_support::{Duration, TestResponse};
use serde_json::json;

use crate::fixture::{Fixture, PASSWORD};

const CONFIG: &str = r#"
[auth]
sessions_per_user = 1000
[rate_limits]
enabled = false
[app]
public_url = "https://office.example"
[auth.autologin]
enabled = true
email = "admin@alpha.test"
password = "correct horse battery"
"#;

/// Targets that lead off the site, into a loop, or nowhere.
const REJECTED: [&str; 42] = [
    "//evil.test",
    "//evil.test/a",
    "///evil.test",
    "////evil.test",
    "/\\evil.test",
    "\\evil.test",
    "\\\\evil.test",
    "/\\/evil.test",
    "https://evil.test",
    "http://evil.test",
    "http://office.example/",
    "https://office.example:444/",
    "https://office.example.evil.test/",
    "https://evil.test/https://office.example/",
    "https:///evil.test",
    "https:////evil.test",
    "http:evil.test",
    "https://user@office.example/",
    "https://user:pass@office.example/a",
    "https://office.example@evil.test/",
    "/%2F/evil.test",
    "/%2f%2fevil.test",
    "/%5Cevil.test",
    "/%5c%5cevil.test",
    "/a//b",
    "/a/..//evil.test",
    "/.//evil.test",
    "/%2e//evil.test",
    "/\t/evil.test",
    "/a\nb",
    "/a\r\nSet-Cookie: x=y",
    "\u{1}/a",
    " /a",
    "/a ",
    "\u{a0}/a",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,x",
    "/api/auth/logout",
    "/api/auth/autologin?redirect=/a",
    "/api/auth/session/refresh",
    "/api/auth/session/%72efresh",
];

fn encoded(target: &str) -> String {
    url::form_urlencoded::byte_serialize(target.as_bytes()).collect()
}

async fn visit(fixture: &Fixture, path: &str, cookie: Option<&str>) -> TestResponse {
    let request = fixture
        .app
        .request(Method::GET, path)
        .header("host", "evil.test")
        .header("x-forwarded-host", "evil.test");
    match cookie {
        Some(value) => request.cookie("session_token", value).send().await,
        None => request.send().await,
    }
}

async fn session(fixture: &Fixture, redirect: &str) -> (String, String) {
    let body = json!({"email": "admin@alpha.test", "password": PASSWORD, "redirect": redirect});
    let (status, body) = fixture.app.post("", "/auth/login", body).await;
    assert_eq!(status, 200, "{body}");
    let text = |name: &str| body[name].as_str().expect("a text").to_owned();
    (text("refreshToken"), text("redirect"))
}

/// Returns the destinations of the four endpoints with this target, and that of the second one without a session.
async fn destinations(fixture: &Fixture, token: &str, target: &str) -> [String; 5] {
    let redirect = encoded(target);
    let location = |response: TestResponse, status: u16| {
        assert_eq!(response.status, status, "{target:?}: {}", response.text());
        response.header("location").expect("a location")
    };
    [
        location(
            visit(fixture, &format!("/auth/locale?locale=en&redirect={redirect}"), None).await,
            302,
        ),
        location(
            visit(
                fixture,
                &format!("/auth/session/refresh?redirect={redirect}"),
                Some(token),
            )
            .await,
            302,
        ),
        location(
            visit(fixture, &format!("/auth/autologin?redirect={redirect}"), None).await,
            307,
        ),
        session(fixture, target).await.1,
        location(
            visit(fixture, &format!("/auth/session/refresh?redirect={redirect}"), None).await,
            302,
        ),
    ]
}

#[actix_web::test]
async fn acc_10_a_target_off_the_site_is_replaced() {
    let fixture = Fixture::with_config(CONFIG).await;
    let (token, _) = session(&fixture, "/").await;
    let long = format!("/{}", "a".repeat(3000));

    for target in REJECTED.into_iter().chain([long.as_str(), ""]) {
        let found = destinations(&fixture, &token, target).await;

        assert_eq!(found, ["/", "/", "/", "/", "/login"], "{target:?}");
    }
}

#[actix_web::test]
async fn acc_10_a_target_on_the_site_is_kept() {
    let fixture = Fixture::with_config(CONFIG).await;
    let (token, _) = session(&fixture, "/").await;
    for (target, expected) in [
        ("/deals?x=1#top", "/deals?x=1#top"),
        ("https://office.example/deals", "/deals"),
        ("https://office.example:443/deals", "/deals"),
        ("https:evil.test", "/evil.test"),
        ("deals", "/deals"),
        ("/a/../b", "/b"),
        ("/caf\u{e9}", "/caf%C3%A9"),
        ("/a?next=https://evil.test", "/a?next=https://evil.test"),
        ("/%252F/evil.test", "/%252F/evil.test"),
        ("?a=b", "/?a=b"),
    ] {
        let found = destinations(&fixture, &token, target).await;

        let back = format!("/login?redirect={}", encoded(expected));
        assert_eq!(found, [expected, expected, expected, expected, &back], "{target:?}");
    }
}

#[actix_web::test]
async fn acc_10_without_a_public_url_only_paths_pass() {
    let fixture = Fixture::new().await;
    let (token, _) = session(&fixture, "/").await;

    for (target, expected) in [
        ("/deals", "/deals"),
        ("deals", "/"),
        ("http://localhost/deals", "/"),
        ("https:evil.test", "/"),
    ] {
        let path = format!("/auth/session/refresh?redirect={}", encoded(target));
        let response = visit(&fixture, &path, Some(&token)).await;

        assert_eq!(response.header("location").as_deref(), Some(expected), "{target}");
    }
}

#[actix_web::test]
async fn acc_9_a_browser_is_refreshed_by_its_session_cookie() {
    let fixture = Fixture::new().await;
    let (token, _) = session(&fixture, "/").await;

    let fresh = visit(&fixture, "/auth/session/refresh?redirect=/deals", Some(&token)).await;
    let without = visit(&fixture, "/auth/session/refresh", None).await;
    let unknown = visit(&fixture, "/auth/session/refresh?redirect=/deals", Some("unknown")).await;

    let access = fresh.cookie("auth_token").expect("an access cookie");
    assert_eq!(access.max_age().map(time::SignedDuration::whole_hours), Some(8));
    assert!(access.http_only().unwrap_or(false));
    assert!(
        fresh.cookie("session_token").is_none(),
        "the session's token stays as it is"
    );
    assert_eq!(fixture.app.get(access.value(), "/auth/profile").await.0, 200);
    assert_eq!(without.header("location").as_deref(), Some("/login"));
    assert_eq!(unknown.header("location").as_deref(), Some("/login?redirect=%2Fdeals"));
    for name in ["auth_token", "session_token"] {
        let cleared = unknown.cookie(name).and_then(|cookie| cookie.max_age());
        assert_eq!(cleared.map(time::SignedDuration::whole_seconds), Some(0), "{name}");
    }
}

#[actix_web::test]
async fn autologin_signs_in_once_and_never_a_super_administrator() {
    let fixture = Fixture::with_config(CONFIG).await;

    let created = visit(&fixture, "/auth/autologin?redirect=/deals", None).await;
    let token = created
        .cookie("auth_token")
        .expect("an access cookie")
        .value()
        .to_owned();
    let sessions = fixture.app.rows("select id from auth_sessions").await.len();
    let again = fixture
        .app
        .request(Method::GET, "/auth/autologin?redirect=/deals")
        .cookie("auth_token", &token)
        .send()
        .await;
    fixture
        .app
        .sql(
            "update auth_role_acls set is_super_admin = true where tenant_id <> '00000000-0000-0000-0000-000000000000'",
        )
        .await;
    let super_admin = visit(&fixture, "/auth/autologin?redirect=/deals", None).await;

    assert_eq!(
        (created.status, created.header("location").as_deref()),
        (307, Some("/deals"))
    );
    assert!(created.cookie("session_token").is_some());
    assert_eq!(fixture.app.get(&token, "/auth/profile").await.0, 200);
    assert_eq!(
        (again.status, again.header("location").as_deref(), again.cookies().len()),
        (307, Some("/deals"), 0)
    );
    assert_eq!(
        (super_admin.status, super_admin.header("location").as_deref()),
        (307, Some("/login"))
    );
    assert!(super_admin.cookies().is_empty());
    assert_eq!(fixture.app.rows("select id from auth_sessions").await.len(), sessions);
}

#[actix_web::test]
async fn autologin_leads_to_the_login_page_when_it_is_off_fails_or_is_used_too_often() {
    let off = Fixture::new().await;
    let failing = Fixture::with_config(&CONFIG.replace("correct", "incorrect")).await;
    let limited = Fixture::with_config(&CONFIG.replace("enabled = false", "enabled = true")).await;

    for fixture in [&off, &failing] {
        let response = visit(fixture, "/auth/autologin?redirect=/deals", None).await;
        assert_eq!(
            (response.status, response.header("location").as_deref()),
            (307, Some("/login"))
        );
        assert!(response.cookies().is_empty());
    }
    for _ in 0..20 {
        let response = visit(&limited, "/auth/autologin", None).await;
        assert_eq!(response.header("location").as_deref(), Some("/"));
    }
    let response = visit(&limited, "/auth/autologin", None).await;
    assert_eq!(response.header("location").as_deref(), Some("/login"));
}

#[actix_web::test]
async fn acc_37_a_locale_is_cut_to_its_base_and_must_be_served() {
    let fixture = Fixture::new().await;
    for (input, expected) in [("en-GB", "en"), ("EN_us", "en"), (" pl ", "pl")] {
        let posted = fixture
            .app
            .request(Method::POST, "/auth/locale")
            .json(&json!({"locale": input}))
            .send()
            .await;
        let visited = visit(&fixture, &format!("/auth/locale?locale={}", encoded(input)), None).await;

        assert_eq!((posted.status, posted.json()), (200, json!({"ok": true})), "{input}");
        assert_eq!(visited.status, 302);
        let cookie = format!("locale={expected}; SameSite=Lax; Path=/; Max-Age=31536000");
        for response in [&posted, &visited] {
            assert_eq!(response.header("set-cookie").as_deref(), Some(cookie.as_str()));
        }
    }
    for bad in [json!({"locale": "xx"}), json!({"locale": "x"}), json!({})] {
        let (status, response) = fixture.app.post("", "/auth/locale", bad).await;
        assert_eq!((status, response["error"].as_str()), (400, Some("Invalid locale")));
    }
    let (status, response) = fixture.app.post("", "/auth/locale", json!({"locale": 7})).await;
    assert_eq!((status, response["error"].as_str()), (400, Some("Bad request")));
    for query in ["", "?locale=xx", "?locale="] {
        let response = visit(&fixture, &format!("/auth/locale{query}"), None).await;
        assert_eq!(
            (response.status, response.json()["error"].as_str()),
            (400, Some("Invalid locale"))
        );
    }
}

#[actix_web::test]
async fn acc_37_the_tenant_of_the_session_may_offer_fewer_locales() {
    let fixture = Fixture::new().await;
    let (refresh, _) = session(&fixture, "/").await;
    fixture
        .app
        .sql(&format!(
            "update directory_tenants set locales = '{{pl}}' where id = '{}'",
            fixture.a.id
        ))
        .await;
    let post = |locale: &str| {
        fixture
            .app
            .request(Method::POST, "/auth/locale")
            .json(&json!({"locale": locale}))
    };

    assert_eq!(post("de").send().await.status, 200, "without a session");
    assert_eq!(post("de").bearer(&fixture.b.token).send().await.status, 200);
    assert_eq!(post("de").bearer(&fixture.a.token).send().await.status, 400);
    assert_eq!(
        post("de").cookie("auth_token", &fixture.a.token).send().await.status,
        400
    );
    assert_eq!(post("de").cookie("session_token", &refresh).send().await.status, 400);
    assert_eq!(post("pl").bearer(&fixture.a.token).send().await.status, 200);
}

#[actix_web::test]
async fn a_browser_over_a_limit_of_refreshes_is_sent_to_the_sign_in_and_keeps_its_cookies() {
    for (limit, first, second) in [("auth.refresh.token", true, false), ("auth.refresh.ip", true, true)] {
        let config = format!("[rate_limits.limits]\n\"{limit}\" = \"2/60\"\n");
        let fixture = Fixture::with_config(&config).await;
        let (token, _) = session(&fixture, "/").await;
        let (other, _) = session(&fixture, "/").await;
        let refresh = async |token: &str| {
            let response = visit(&fixture, "/auth/session/refresh?redirect=/deals", Some(token)).await;
            assert_eq!(response.status, 302, "{limit}");
            let is_rejected = response.header("location").as_deref() == Some("/login?redirect=%2Fdeals");
            assert_eq!(response.cookies().is_empty(), is_rejected, "{limit}");
            is_rejected
        };
        let by_program = json!({"refreshToken": token});
        let by_program = async || {
            fixture
                .app
                .post("", "/auth/session/refresh", by_program.clone())
                .await
                .0
        };

        assert_eq!(
            [by_program().await, u16::from(refresh(&token).await)],
            [200, 0],
            "{limit}"
        );
        assert_eq!(
            [refresh(&token).await, refresh(&other).await],
            [first, second],
            "{limit}"
        );
        assert_eq!(by_program().await, 429, "{limit}: counted together");

        fixture.app.advance(Duration::seconds(61));
        assert!(!refresh(&token).await, "{limit}: the session goes on");
    }
}

#[actix_web::test]
async fn a_browser_without_a_session_is_not_counted() {
    let fixture = Fixture::with_config("[rate_limits.limits]\n\"auth.refresh.ip\" = \"1/60\"\n").await;
    let (token, _) = session(&fixture, "/").await;

    for _ in 0..3 {
        assert_eq!(visit(&fixture, "/auth/session/refresh", None).await.status, 302);
    }

    let fresh = visit(&fixture, "/auth/session/refresh?redirect=/deals", Some(&token)).await;
    assert_eq!(fresh.header("location").as_deref(), Some("/deals"));
}

#[actix_web::test]
async fn acc_10_a_target_with_a_null_character_is_replaced_too() {
    let fixture = Fixture::with_config(CONFIG).await;
    let (token, _) = session(&fixture, "/").await;

    let refreshed = visit(&fixture, "/auth/session/refresh?redirect=/a%00", Some(&token)).await;
    let signed_in = visit(&fixture, "/auth/autologin?redirect=/a%00", None).await;

    let found = [refreshed, signed_in].map(|response| (response.status, response.header("location")));
    assert_eq!(found, [(302, Some("/".to_owned())), (307, Some("/".to_owned()))]);
}

#[actix_web::test]
async fn a_destination_that_is_no_path_does_not_keep_a_locale_from_being_chosen() {
    let fixture = Fixture::new().await;
    for (query, expected) in [
        ("locale=pl&redirect=/a%00b", "/"),
        ("locale=pl&redirect=/a&redirect=/b", "/a"),
        ("locale=pl&redirect=/a&redirect=%00", "/a"),
        ("locale=pl&redirect=", "/"),
    ] {
        let response = visit(&fixture, &format!("/auth/locale?{query}"), None).await;

        assert_eq!(
            (response.status, response.header("location").as_deref()),
            (302, Some(expected)),
            "{query}: {}",
            response.text()
        );
        assert!(response.cookie("locale").is_some(), "{query}");
    }
    let response = visit(&fixture, "/auth/locale?locale=p%00l&redirect=/a", None).await;
    assert_eq!(
        (response.status, response.json()["error"].as_str()),
        (400, Some("Invalid locale"))
    );
}

#[actix_web::test]
async fn an_address_of_the_sign_in_keeps_its_own_query() {
    let fixture = Fixture::with_config("[app]\nlogin_path = '/login?client=office'\n").await;
    let location = async |path: &str| visit(&fixture, path, None).await.header("location");

    let with_target = location("/auth/session/refresh?redirect=%2Fdeals").await;
    let without = location("/auth/session/refresh").await;
    let reset = fixture.app.request_outside(Method::GET, "/reset?tenant=x").send().await;

    assert_eq!(with_target.as_deref(), Some("/login?client=office&redirect=%2Fdeals"));
    assert_eq!(without.as_deref(), Some("/login?client=office"));
    let text = reset.text();
    assert!(text.contains(r#"href="/login?client=office&#38;tenant=x""#), "{text}");
}
