//! The pages as the server sends them. Their behaviour in a browser is tested in the package of the composed platform.

use actix_web::http::Method;
use backoffice_core::config::Config;
use backoffice_core::http::Pages;
use backoffice_core::module::document;
use backoffice_core::{Platform, PlatformOptions};
use backoffice_test_support::{TestApp, TestResponse};
use serde_json::json;

use crate::fixture::{CONFIG, MODULES};

async fn app(config: &str) -> TestApp {
    TestApp::builder(&MODULES).config(CONFIG).config(config).build().await
}

async fn get(app: &TestApp, path: &str) -> TestResponse {
    app.request_outside(Method::GET, path).send().await
}

fn paths(config: &str) -> Vec<String> {
    let config = Config::from_toml(&format!("{CONFIG}\n{config}")).expect("toml");
    let platform = Platform::new(PlatformOptions::new(&MODULES, config)).expect("a platform");
    let infos = Pages::of(&platform).into_infos();
    let pages = infos.into_iter().filter(|page| !page.path.starts_with("/assets/"));
    pages.map(|page| page.path).collect()
}

/// Returns the address of a file in a page.
fn address(page: &TestResponse, file: &str) -> String {
    let text = page.text();
    let end = text.find(file).expect("the file is named") + file.len();
    let start = text[..end].rfind('"').expect("in an attribute") + 1;
    text[start..end].to_owned()
}

#[actix_web::test]
async fn pages_run_no_code_but_their_own_and_are_not_kept() {
    let app = app("").await;

    for path in ["/login", "/reset"] {
        let page = get(&app, path).await;

        assert_eq!(page.status, 200, "{path}");
        assert!(page.header("x-request-id").is_some(), "{path}");
        let named = app.request_outside(Method::GET, path).header("X-Request-Id", "mine");
        assert_eq!(named.send().await.header("x-request-id").as_deref(), Some("mine"));
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            (
                "content-security-policy",
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
                 form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            ),
        ] {
            assert_eq!(page.header(name).as_deref(), Some(value), "{path}: {name}");
        }
        let text = page.text();
        assert!(
            !text.contains("style=") && !text.contains("<script>") && !text.contains(" onclick"),
            "{text}"
        );
    }
}

#[actix_web::test]
async fn without_its_script_a_page_sends_no_password() {
    let page = get(&app("").await, "/login").await.text();

    assert!(
        page.contains("<noscript>") && page.contains("This page needs JavaScript."),
        "{page}"
    );
    assert!(
        page.contains(r#"<form method="post" id="login""#),
        "never in an address"
    );
    assert!(
        page.contains(r#"<button type="submit" class="primary" disabled>"#),
        "{page}"
    );
}

#[actix_web::test]
async fn files_are_kept_under_the_address_of_their_content() {
    let app = app("").await;
    let page = get(&app, "/login").await;

    for (name, content_type) in [
        ("pages.css", "text/css; charset=utf-8"),
        ("pages.js", "text/javascript; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ] {
        let path = address(&page, name);
        let file = get(&app, &path).await;

        assert_eq!(file.status, 200, "{path}");
        assert_eq!(file.header("content-type").as_deref(), Some(content_type));
        assert_eq!(
            file.header("cache-control").as_deref(),
            Some("public, max-age=31536000, immutable")
        );
        assert_eq!(file.header("x-content-type-options").as_deref(), Some("nosniff"));

        let older = get(&app, &format!("/assets/auth/0123456789abcdef/{name}")).await;
        assert_eq!(older.body, file.body, "a release that is being rolled out");
        assert_eq!(older.header("cache-control").as_deref(), Some("no-store"));
    }
}

#[actix_web::test]
async fn an_unknown_page_is_not_found() {
    let app = app("").await;

    for (method, path) in [
        (Method::POST, "/login"),
        (Method::DELETE, "/reset"),
        (Method::GET, "/login/"),
        (Method::GET, "/assets/auth/0123456789abcdef/other.js"),
        (Method::GET, "/assets/auth/x/pages.js"),
        (Method::GET, "/api/login"),
    ] {
        let response = app.request_outside(method, path).send().await;

        assert_eq!(
            (response.status, response.json()),
            (404, json!({"error": "Not Found"})),
            "{path}"
        );
    }
}

#[actix_web::test]
async fn a_page_serves_head_requests() {
    let app = app("").await;

    let response = app.request_outside(Method::HEAD, "/login").send().await;

    assert_eq!(response.status, 200);
}

#[actix_web::test]
async fn pages_are_no_part_of_the_document() {
    let app = app("").await;

    let document = json!(document(app.platform().modules()).expect("a sound document")).to_string();

    assert!(
        !document.contains("\"/login\"") && !document.contains("/assets/"),
        "{document}"
    );
}

#[test]
fn the_sign_in_stands_where_it_is_configured() {
    assert_eq!(paths(""), ["/login", "/", "/reset"]);
    assert_eq!(
        paths("[app]\nlogin_path = '/office/sign-in'"),
        ["/office/sign-in", "/", "/reset"]
    );
    assert_eq!(paths("[app]\nlogin_path = 'https://id.example/login'"), ["/", "/reset"]);
    assert_eq!(paths("[app]\nlogin_path = '/'"), ["/", "/reset"]);
}

#[test]
fn two_pages_at_one_path_are_rejected() {
    let config = format!("{CONFIG}\n[app]\nlogin_path = '/reset'");
    let config = Config::from_toml(&config).expect("toml");

    let error = Platform::new(PlatformOptions::new(&MODULES, config)).expect_err("two pages");

    assert!(error.to_string().contains("/reset"), "{error}");
}

#[actix_web::test]
async fn the_way_back_leads_to_the_sign_in_that_is_configured() {
    let app = app("[app]\nlogin_path = 'https://id.example/login'").await;

    let page = get(&app, "/reset").await.text();

    assert!(page.contains(r#"href="https://id.example/login""#), "{page}");
}

#[actix_web::test]
async fn a_page_speaks_the_language_of_the_cookie_and_offers_the_others() {
    let app = app("").await;

    let request = app.request_outside(Method::GET, "/login?redirect=%2Fdeals%3Fa%3Db&tenant=x");
    let page = request
        .cookie("locale", "pl")
        .header("Accept-Language", "de")
        .send()
        .await;

    let text = page.text();
    assert!(
        text.contains(r#"<html lang="pl">"#) && text.contains("Zaloguj się"),
        "{text}"
    );
    assert_eq!(page.header("content-language").as_deref(), Some("pl"));
    let link = "/api/auth/locale?locale=de&amp;redirect=%2Flogin%3Fredirect%3D%252Fdeals%253Fa%253Db%26tenant%3Dx";
    let numeric = link.replace("&amp;", "&#38;");
    assert!(text.contains(link) || text.contains(&numeric), "{text}");
    assert!(text.contains(r#"name="redirect" value="/deals?a=b""#), "{text}");
    assert!(text.contains(r#"name="tenantId" value="""#), "no tenant has such an id");
}

#[actix_web::test]
async fn the_rules_are_those_that_are_configured() {
    let app = app("[auth.password]\nmin_length = 12").await;

    let page = get(&app, "/reset").await.text();

    assert!(page.contains("At least 12 characters."), "{page}");
}
