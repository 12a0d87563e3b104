//! The version, the document and its browser over HTTP.

use actix_web::http::Method;
use backoffice_core::Module;
use backoffice_test_support::{TestApp, TestResponse};

static MODULES: [&Module; 1] = [&backoffice_api_docs::MODULE];

async fn get(app: &TestApp, path: &str, header: (&str, &str)) -> TestResponse {
    app.request(Method::GET, path).header(header.0, header.1).send().await
}

#[actix_web::test]
async fn the_version_is_a_json_string_or_bare_text() {
    let app = TestApp::new(&MODULES).await;

    let json = get(&app, "/version", ("Accept", "*/*")).await;
    let text = get(&app, "/version", ("Accept", "text/plain")).await;
    let excluded = get(&app, "/version", ("Accept", "text/plain;q=0")).await;

    assert_eq!(
        (json.status, json.text()),
        (200, format!("\"{}\"", env!("CARGO_PKG_VERSION")))
    );
    assert_eq!(json.header("content-type").as_deref(), Some("application/json"));
    assert_eq!(json.header("x-interface-version").as_deref(), Some("0.6.5"));
    assert_eq!(text.text(), env!("CARGO_PKG_VERSION"));
    assert_eq!(excluded.text(), json.text());
    assert_ne!(json.header("etag"), text.header("etag"));
}

#[actix_web::test]
async fn a_version_that_is_known_is_not_sent_again() {
    let app = TestApp::builder(&MODULES)
        .config("[version]\noverride = '1.2-test'")
        .build()
        .await;
    let first = get(&app, "/version", ("Accept", "*/*")).await;
    let tag = first.header("etag").expect("a tag");

    let second = get(&app, "/version", ("If-None-Match", &tag)).await;

    assert_eq!(first.text(), "\"1.2-test\"");
    assert_eq!((second.status, second.text()), (304, String::new()));
}

#[actix_web::test]
async fn the_version_is_limited_to_thirty_requests_a_minute() {
    let app = TestApp::new(&MODULES).await;

    for _ in 0..30 {
        assert_eq!(app.get("", "/version").await.0, 200);
    }

    assert_eq!(app.get("", "/version").await.0, 429);
}

#[actix_web::test]
async fn the_document_covers_exactly_the_enabled_modules() {
    let app = TestApp::new(&MODULES).await;

    let (status, document) = app.get("", "/openapi.json").await;

    assert_eq!(status, 200);
    assert_eq!(document["openapi"], "3.1.0");
    let paths: Vec<&String> = document["paths"].as_object().expect("paths").keys().collect();
    assert_eq!(paths, ["/docs", "/docs/", "/docs/{file}", "/openapi.json", "/version"]);
}

#[actix_web::test]
async fn the_json_of_the_version_and_of_the_document_is_described() {
    let app = TestApp::new(&MODULES).await;

    let (_, document) = app.get("", "/openapi.json").await;

    let content = |path: &str| document["paths"][path]["get"]["responses"]["200"]["content"].clone();
    let kind = |path| content(path)["application/json"]["schema"]["type"].clone();
    assert_eq!(kind("/version"), "string");
    assert_eq!(kind("/openapi.json"), "object");
}

#[actix_web::test]
async fn the_browser_is_served_from_here_alone() {
    let app = TestApp::new(&MODULES).await;

    let redirect = get(&app, "/docs", ("Accept", "*/*")).await;
    let page = get(&app, "/docs/", ("Accept", "*/*")).await;
    let unknown = get(&app, "/docs/none.js", ("Accept", "*/*")).await;

    assert_eq!(
        (redirect.status, redirect.header("location").as_deref()),
        (307, Some("/api/docs/"))
    );
    assert_eq!(page.header("content-type").as_deref(), Some("text/html; charset=utf-8"));
    assert!(
        page.header("content-security-policy")
            .is_some_and(|policy| policy.starts_with("default-src 'self'"))
    );
    assert!(
        page.text()
            .contains(r#"<meta name="viewport" content="width=device-width, initial-scale=1">"#),
        "{}",
        page.text()
    );
    for file in page
        .text()
        .split('"')
        .filter_map(|part| part.rsplit('/').next())
        .filter(|part| part.contains('.'))
    {
        let response = get(&app, &format!("/docs/{file}"), ("Accept", "*/*")).await;
        assert_eq!(response.status, 200, "{file}");
        assert_ne!(
            response.header("content-type").as_deref(),
            Some("application/octet-stream"),
            "{file}"
        );
    }
    assert_eq!(unknown.status, 404);
}

#[actix_web::test]
async fn files_of_the_browser_are_compressed_for_clients_that_accept_it() {
    let app = TestApp::new(&MODULES).await;
    let of = async |accepted| get(&app, "/docs/swagger-ui.css", ("Accept-Encoding", accepted)).await;

    let (compressed, unwanted, plain) = (of("br;q=1, gzip").await, of("gzip;q=0").await, of("identity").await);

    assert_eq!(compressed.header("content-encoding").as_deref(), Some("gzip"));
    assert_eq!(compressed.header("vary").as_deref(), Some("Accept-Encoding"));
    for response in [unwanted, plain] {
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-encoding"), None);
        assert_eq!(response.header("vary").as_deref(), Some("Accept-Encoding"));
        assert!(response.text().contains(".swagger-ui"));
    }
}
