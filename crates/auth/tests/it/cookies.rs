//! Names and attributes of the cookies that carry credentials, and the effect of a sign-in on the previous session.

use actix_web::http::Method;
use backoffice_test_support::{TestRequest, TestResponse};
use serde_json::{Value, json};

use crate::fixture::{Fixture, NO_LIMITS, PASSWORD};

const HTTPS: &str = "[app]\npublic_url = 'https://office.example'\n";

async fn https() -> Fixture {
    Fixture::with_config(&format!("{HTTPS}{NO_LIMITS}")).await
}

fn login<'a>(fixture: &'a Fixture, email: &str) -> TestRequest<'a> {
    let body = json!({"email": email, "password": PASSWORD});
    fixture.app.request(Method::POST, "/auth/login").json(&body)
}

async fn profile(fixture: &Fixture, cookies: &[(&str, &str)]) -> (u16, Value) {
    let pairs: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let request = fixture.app.request(Method::GET, "/auth/profile");
    let response = request.header("cookie", &pairs.join("; ")).send().await;
    (response.status, response.json()["email"].clone())
}

fn names_and_security(response: &TestResponse) -> Vec<(String, bool)> {
    let cookies = response.cookies();
    let credentials = cookies.iter().filter(|cookie| cookie.name().ends_with("_token"));
    credentials
        .map(|cookie| (cookie.name().to_owned(), cookie.secure() == Some(true)))
        .collect()
}

#[actix_web::test]
async fn f25_an_https_public_url_makes_cookies_secure() {
    let secure = [
        "__Host-auth_token",
        "auth_token",
        "__Host-session_token",
        "session_token",
    ];
    let secure = secure.map(|name| (name.to_owned(), true)).to_vec();
    let plain = ["auth_token", "session_token"]
        .map(|name| (name.to_owned(), false))
        .to_vec();
    for (config, expected) in [
        (HTTPS, &secure),
        ("[app]\npublic_url = 'HTTPS://office.example'\n", &secure),
        ("[http]\ninsecure_cookies = false\n", &secure),
        ("", &plain),
        ("[app]\npublic_url = 'http://office.example'\n", &plain),
        (
            "[app]\npublic_url = 'https://office.example'\n[http]\ninsecure_cookies = true\n",
            &plain,
        ),
    ] {
        let fixture = Fixture::with_config(&format!("{config}{NO_LIMITS}")).await;

        let set = login(&fixture, "admin@alpha.test").send().await;
        let cleared = profile_response(&fixture, "garbage").await;
        let locale = fixture
            .app
            .request(Method::POST, "/auth/locale")
            .json(&json!({"locale": "pl"}));
        let locale = locale.send().await.cookie("locale").expect("a locale");

        assert_eq!(&names_and_security(&set), expected, "{config}");
        assert_eq!(&names_and_security(&cleared), expected, "{config}");
        assert_eq!(locale.secure() == Some(true), expected[0].1, "{config}");
        for cookie in set.cookies() {
            assert_eq!((cookie.path(), cookie.domain()), (Some("/"), None), "{cookie}");
        }
    }
}

async fn profile_response(fixture: &Fixture, token: &str) -> TestResponse {
    let request = fixture.app.request(Method::GET, "/auth/profile").bearer(token);
    let response = request.send().await;
    assert_eq!(response.status, 401);
    response
}

#[actix_web::test]
async fn f22_a_neighbours_cookie_does_not_pass_the_one_of_this_host() {
    let fixture = https().await;
    let (own, planted) = (fixture.a.token.as_str(), fixture.b.token.as_str());
    let (host, plain) = ("__Host-auth_token", "auth_token");
    let admin = (200, json!("admin@alpha.test"));
    let anonymous = (401, Value::Null);

    assert_eq!(profile(&fixture, &[(plain, planted), (host, own)]).await, admin);
    assert_eq!(
        profile(&fixture, &[(host, own), (plain, planted), (plain, own)]).await,
        admin
    );
    assert_eq!(
        profile(&fixture, &[(plain, own)]).await,
        admin,
        "the contract's name alone"
    );
    assert_eq!(
        profile(&fixture, &[(plain, planted), (plain, own)]).await,
        anonymous,
        "whose is which?"
    );
    let session = ("__Host-session_token", "still there");
    assert_eq!(
        profile(&fixture, &[session, (plain, planted)]).await,
        anonymous,
        "the own token has ended"
    );
}

#[actix_web::test]
async fn f22_the_session_of_this_host_is_the_one_that_is_refreshed_and_ended() {
    let fixture = https().await;
    let body = login(&fixture, "admin@alpha.test").send().await.json();
    let other = login(&fixture, "admin@beta.test").send().await.json();
    let text = |body: &Value, name: &str| body[name].as_str().expect("a token").to_owned();
    let (refresh, planted) = (text(&body, "refreshToken"), text(&other, "refreshToken"));
    let with_both = |method: Method, path: &str| {
        let request = fixture
            .app
            .request(method, path)
            .header("sec-fetch-site", "same-origin");
        let request = request.cookie("session_token", &planted);
        request.cookie("__Host-session_token", &refresh)
    };

    let fresh = with_both(Method::GET, "/auth/session/refresh").send().await;
    let access = fresh
        .cookie("__Host-auth_token")
        .expect("an access token")
        .value()
        .to_owned();
    let logout = with_both(Method::POST, "/auth/logout").cookie("__Host-auth_token", &access);
    let logout = logout.send().await;

    assert_eq!(fresh.cookie("auth_token").expect("the contract's name").value(), access);
    assert_eq!(fixture.app.get(&access, "/auth/profile").await.0, 401, "ended");
    assert_eq!((logout.status, names_and_security(&logout).len()), (302, 4));
    let still = json!({"refreshToken": planted});
    assert_eq!(
        fixture.app.post("", "/auth/session/refresh", still).await.0,
        200,
        "not of this host"
    );
}

#[actix_web::test]
async fn f23_a_sign_in_ends_the_session_of_the_cookies_that_it_replaces() {
    let fixture = Fixture::new().await;
    let node = fixture.app.second_node().await;
    for (first, second) in [
        ("admin@alpha.test", "admin@alpha.test"),
        ("admin@alpha.test", "admin@beta.test"),
    ] {
        for names in [
            &["session_token", "auth_token"][..],
            &["session_token"],
            &["auth_token"],
        ] {
            let before = login(&fixture, first).send().await;
            let cookie = |name: &str| before.cookie(name).expect("a cookie").value().to_owned();
            let (access, refresh) = (cookie("auth_token"), cookie("session_token"));
            assert_eq!(node.get(&access, "/auth/profile").await.0, 200);
            let request = login(&fixture, second);
            let request = names
                .iter()
                .fold(request, |request, name| request.cookie(name, &cookie(name)));

            let after = request.send().await;

            assert_eq!(after.status, 200, "{names:?}");
            assert_eq!(fixture.app.get(&access, "/auth/profile").await.0, 401, "{names:?}");
            let again = json!({"refreshToken": refresh});
            assert_eq!(
                fixture.app.post("", "/auth/session/refresh", again.clone()).await.0,
                401
            );
            assert_eq!(node.post("", "/auth/session/refresh", again).await.0, 401);
            let token = after.json()["token"].as_str().expect("a token").to_owned();
            assert_eq!(fixture.app.get(&token, "/auth/profile").await.0, 200);
        }
    }
    let reasons = "select count(*)::int as n, count(distinct r.subject_id)::int as revoked from auth_sessions s \
                   join auth_revocations r on r.subject_id = s.id where s.end_reason = 'replaced'";
    assert_eq!(fixture.app.rows(reasons).await, [json!({"n": 6, "revoked": 6})]);
    assert_eq!(
        fixture.app.get(&fixture.a.token, "/auth/profile").await.0,
        200,
        "another session goes on"
    );
}

#[actix_web::test]
async fn f23_a_sign_in_that_fails_or_sets_no_cookie_ends_nothing() {
    let fixture = Fixture::new().await;
    let before = login(&fixture, "admin@alpha.test").send().await;
    let session = before.cookie("session_token").expect("a cookie").value().to_owned();
    let access = before.json()["token"].as_str().expect("a token").to_owned();

    let wrong = json!({"email": "admin@alpha.test", "password": "wrong"});
    let wrong = fixture.app.request(Method::POST, "/auth/login").json(&wrong);
    let foreign = login(&fixture, "admin@beta.test").header("origin", "https://evil.test");
    let wrong = wrong.cookie("session_token", &session).send().await;
    let foreign = foreign.cookie("session_token", &session).send().await;

    assert_eq!((wrong.status, foreign.status), (401, 200));
    assert_eq!(fixture.app.get(&access, "/auth/profile").await.0, 200);
}
