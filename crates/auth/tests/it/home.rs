//! The home page after a sign-in.

use actix_web::http::Method;
use backoffice_test_support::{TestApp, TestResponse};
use serde_json::json;

use crate::fixture::{Fixture, PASSWORD};

async fn home(app: &TestApp, cookies: &[(&str, &str)]) -> TestResponse {
    let request = app.request_outside(Method::GET, "/").header("Accept-Language", "de");
    let request = cookies
        .iter()
        .fold(request, |request, (name, value)| request.cookie(name, value));
    request.send().await
}

async fn session(fixture: &Fixture) -> (String, String) {
    let body = json!({"email": "admin@alpha.test", "password": PASSWORD});
    let (status, body) = fixture.app.post("", "/auth/login", body).await;
    assert_eq!(status, 200, "{body}");
    let text = |name: &str| body[name].as_str().expect("a token").to_owned();
    (text("token"), text("refreshToken"))
}

#[actix_web::test]
async fn it_shows_who_is_signed_in_and_where() {
    let fixture = Fixture::new().await;

    let page = home(&fixture.app, &[("auth_token", &fixture.a.token)]).await;

    let text = page.text();
    assert_eq!(
        (page.status, page.header("content-language").as_deref()),
        (200, Some("de"))
    );
    for shown in ["Angemeldet als", "Mandant", "Organisation", "Abmelden", "locale=pl"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    for query in [
        "select coalesce(name, email) as shown from auth_users where email = 'admin@alpha.test'",
        "select name as shown from directory_tenants where id = (select tenant_id from auth_users where email = 'admin@alpha.test')",
    ] {
        let row = fixture.app.rows(query).await.remove(0);
        assert!(text.contains(row["shown"].as_str().expect("a name")), "{row}: {text}");
    }
    assert!(!text.contains("/api/docs"), "that module is not enabled");
    assert!(page.header("content-security-policy").is_some());
    assert_eq!(page.header("cache-control").as_deref(), Some("no-store"));
}

#[actix_web::test]
async fn an_anonymous_visitor_is_redirected_to_the_sign_in() {
    let fixture = Fixture::new().await;
    let (access, refresh) = session(&fixture).await;
    let to = |page: &TestResponse| (page.status, page.header("location").unwrap_or_default());
    let fresh = "/api/auth/session/refresh?redirect=%2F".to_owned();

    let anonymous = home(&fixture.app, &[]).await;
    let session_only = home(&fixture.app, &[("session_token", &refresh)]).await;
    let logout = fixture.app.request(Method::POST, "/auth/logout").bearer(&access);
    assert_eq!(logout.send().await.status, 302);
    let ended = home(&fixture.app, &[("auth_token", &access), ("session_token", &refresh)]).await;

    assert_eq!(to(&anonymous), (302, "/login".to_owned()));
    assert_eq!(to(&session_only), (302, fresh));
    assert_eq!(to(&ended), (302, "/login".to_owned()), "no redirect loop");
}

#[actix_web::test]
async fn a_token_of_another_host_does_not_keep_a_browser_from_the_refresh() {
    let fixture = Fixture::with_config("[app]\npublic_url = 'https://office.example'\n").await;
    let (_, refresh) = session(&fixture).await;
    let to = |page: &TestResponse| (page.status, page.header("location").unwrap_or_default());
    let own = ("__Host-session_token", refresh.as_str());

    let planted = home(&fixture.app, &[("auth_token", "planted"), own]).await;
    let ended = home(&fixture.app, &[("__Host-auth_token", "ended"), own]).await;

    assert_eq!(to(&planted), (302, "/api/auth/session/refresh?redirect=%2F".to_owned()));
    assert_eq!(to(&ended), (302, "/login".to_owned()), "no redirect loop");
}

#[actix_web::test]
async fn pages_offer_the_languages_of_the_tenant() {
    let fixture = Fixture::new().await;
    let (access, refresh) = session(&fixture).await;
    let show = async |path: &str, cookies: &[(&str, &str)]| {
        let request = fixture.app.request_outside(Method::GET, path).cookie("locale", "pl");
        let request = cookies
            .iter()
            .fold(request, |request, (name, value)| request.cookie(name, value));
        let page = request.send().await;
        assert_eq!(page.status, 200, "{path}");
        let text = page.text();
        let offered = ["en", "pl", "es", "de"].into_iter();
        let offered: Vec<_> = offered
            .filter(|code| text.contains(&format!("/api/auth/locale?locale={code}&")))
            .collect();
        (page.header("content-language").unwrap_or_default(), offered.join(" "))
    };
    let all = ("pl".to_owned(), "en pl es de".to_owned());
    let (access, refresh) = (("auth_token", access.as_str()), ("session_token", refresh.as_str()));
    assert_eq!(show("/", &[access]).await, all);
    let chosen = format!(
        "update directory_tenants set locales = '{{es,de}}' where id = '{}'",
        fixture.a.id
    );
    fixture.app.sql(&chosen).await;

    let own = ("es".to_owned(), "es de".to_owned());
    for path in ["/", "/login", "/reset"] {
        assert_eq!(show(path, &[access]).await, own, "{path}");
    }
    for path in ["/login", "/reset"] {
        assert_eq!(show(path, &[refresh]).await, own, "{path} with the session");
        assert_eq!(show(path, &[]).await, all, "{path} for a visitor");
    }
}
