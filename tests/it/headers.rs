//! Headers of every response.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use actix_web::http::Method;
use backoffice_test_support::TestResponse;

use crate::call::Call;
use crate::endpoints::Setting;
use crate::fixture::{Fixture, builder_without_site};

const COMMON: [(&str, &str); 2] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
];
/// Paths whose responses a browser may cache if it revalidates them.
const REVALIDATED: [&str; 7] = [
    "/attachments/file",
    "/attachments/image",
    "/calendar/feed/",
    "/calendar/unavailability-reasons",
    "/docs",
    "/openapi.json",
    "/version",
];

fn check(response: &TestResponse, may_be_kept: bool, is_https: bool, what: &str) {
    for (name, value) in COMMON {
        assert_eq!(response.header(name).as_deref(), Some(value), "{what}: {name}");
    }
    let kept = response.header("cache-control").expect("a cache-control");
    let is_never_kept = kept.split(", ").any(|directive| directive == "no-store");
    assert!(is_never_kept || may_be_kept, "{what}: {kept}");
    let only_https = response.header("strict-transport-security");
    assert_eq!(only_https.as_deref(), is_https.then_some("max-age=31536000"), "{what}");
    let times = response.headers.get_all("cache-control").count();
    assert_eq!(times, 1, "{what}");
}

#[actix_web::test]
async fn f26_every_endpoint_sends_the_common_headers() {
    let setting = Setting::new(Fixture::new().await).await;
    let app = &setting.fixture.app;

    for (info, entry) in setting.endpoints_in_stable_order() {
        let call = setting.call(&entry);
        let may_be_kept = REVALIDATED.iter().any(|path| info.path.starts_with(path));
        for token in [
            "",
            "garbage",
            &setting.fixture.a.plain.token,
            &setting.sender(&entry).token,
        ] {
            let response = call.send(app, token).await;
            check(&response, may_be_kept, true, &format!("{call}: {}", response.status));
        }
    }
}

#[actix_web::test]
async fn f26_pages_files_and_what_is_not_found_send_them_too() {
    for is_https in [true, false] {
        let fixture = match is_https {
            true => Fixture::new().await,
            false => Fixture::of(builder_without_site()).await,
        };
        for path in [
            "/",
            "/login",
            "/reset",
            "/api/nowhere",
            "/api/auth/roles/x/y",
            "/login/x",
            "/api/docs/",
        ] {
            for method in [Method::GET, Method::POST, Method::OPTIONS] {
                let response = fixture.app.request_outside(method.clone(), path).send().await;
                let is_document = path.starts_with("/api/docs");
                check(&response, is_document, is_https, &format!("{method} {path}"));
            }
        }
        let page = fixture.app.request_outside(Method::GET, "/login").send().await.text();
        let file = page.split('"').find(|text| text.ends_with("pages.js")).expect("a file");
        let file = fixture.app.request_outside(Method::GET, file).send().await;
        check(&file, true, is_https, "a file");
    }
}

#[actix_web::test]
async fn every_endpoint_with_get_has_head_with_the_same_head_and_no_body() {
    let setting = Setting::new(Fixture::new().await).await;
    let app = &setting.fixture.app;
    /// Headers that differ between two requests.
    const OWN: [&str; 1] = ["x-request-id"];
    let names_and_values = |response: &TestResponse| {
        let mut headers: Vec<(String, Vec<u8>)> = response
            .headers
            .iter()
            .filter(|(name, _)| !OWN.contains(&name.as_str()))
            .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
            .collect();
        headers.sort();
        headers
    };

    for (info, entry) in setting.endpoints_in_stable_order() {
        let get = setting.call(&entry);
        let head = Call {
            method: Method::HEAD,
            ..get.clone()
        };
        if info.method != Method::GET {
            continue;
        }
        for token in [
            "",
            "garbage",
            &setting.fixture.a.plain.token,
            &setting.sender(&entry).token,
        ] {
            let (whole, without) = (get.send(app, token).await, head.send(app, token).await);
            assert_eq!((without.status, without.body.len()), (whole.status, 0), "{head}");
            // Each sign-in with an endpoint that sets cookies sets others.
            if whole.header("set-cookie").is_none() {
                assert_eq!(names_and_values(&without), names_and_values(&whole), "{head}");
            }
        }
    }
}

#[actix_web::test]
async fn a_body_of_unknown_length_has_no_chunks_for_http_1_0() {
    let fixture = Fixture::of(builder_without_site()).await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound listener");
    fixture.app.serve(listener);
    let request = format!(
        "GET /api/audit_logs/audit-logs/actions/export?limit=1 HTTP/1.0\r\nAuthorization: Bearer {}\r\n\r\n",
        fixture.a.tenant_admin.token
    );

    let read = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it is read");
        let mut text = String::new();
        stream.read_to_string(&mut text).map(|_| text)
    });
    let text = read.await.expect("a thread").expect("the connection is closed");

    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.0 200"), "{head}");
    assert!(!head.contains("transfer-encoding"), "{head}");
    assert!(body.starts_with("When,"), "{body}");
}
