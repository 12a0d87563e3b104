//! Files as responses, HEAD, PATCH, and endpoints that serve callers with and without a credential.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration as Patience;

use actix_web::http::Method;
use actix_web::http::header::{CACHE_CONTROL, HeaderValue};
use actix_web::web::Bytes;
use backoffice_core::acl::Rights;
use backoffice_core::http::{Access, Caller, Conditions, Download, FileResponse, Json, Multipart, Routes};
use backoffice_core::identity::{ActorKind, Authenticated, Authenticator, Credential, Identity};
use backoffice_core::{Module, RequestContext, Result, Runtime, Timestamp, Visitor};
use backoffice_test_support::{Duration, TestApp, TestRequest, TestResponse};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::sample::Note;

static FILES: Module = Module {
    name: "files",
    title: "Files",
    routes,
    start: |startup| {
        startup.authenticator(Arc::new(Tokens));
        Ok(())
    },
    ..Module::EMPTY
};

/// The token `good` is valid.
struct Tokens;

impl Authenticator for Tokens {
    fn accepts(&self, credential: Credential<'_>) -> bool {
        matches!(credential, Credential::Bearer(_))
    }

    fn authenticate<'a>(
        &'a self,
        _runtime: &'a Runtime,
        credential: Credential<'a>,
        _now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<Authenticated>>> {
        let identity = Identity {
            kind: ActorKind::User,
            id: Some(Uuid::from_u128(1)),
            tenant: Uuid::from_u128(2),
            rights: Rights::none(),
            ..Identity::system()
        };
        let is_valid = credential == Credential::Bearer("good");
        Box::pin(async move { Ok(is_valid.then(|| identity.into())) })
    }
}

/// Sources of endless files that are open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Pieces that endless files have produced.
static PRODUCED: AtomicUsize = AtomicUsize::new(0);

struct Opened;

impl Drop for Opened {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::SeqCst);
    }
}

fn routes(routes: &mut Routes) {
    routes
        .get("/files/one", Access::Optional, read_file)
        .downloads(&["text/plain"]);
    routes
        .get("/files/endless", Access::Public, read_endless)
        .downloads(&["application/octet-stream"]);
    routes.post("/files/upload", Access::Authenticated, upload).streaming();
    routes.get("/files/caller", Access::Optional, name_caller);
    routes.patch("/files/note", Access::Public, change_note);
    routes.patch("/files/own-note", Access::Authenticated, change_own_note);
}

const CONTENT: &[u8; 1000] = &{
    let letters = b"abcdefghijklmnopqrstuvwxyz";
    let mut content = [0; 1000];
    let mut at = 0;
    while at < 1000 {
        content[at] = letters[at % letters.len()];
        at += 1;
    }
    content
};

async fn read_file(caller: Caller, conditions: Conditions) -> Result<FileResponse> {
    let is_private = matches!(caller, Caller::SignedIn(_));
    let download = Download {
        length: 1000,
        etag: "v1".to_owned(),
        modified: Timestamp::parse("2026-11-20T07:00:00.250Z").expect("an instant"),
        content_type: HeaderValue::from_static("text/plain"),
        headers: vec![(
            CACHE_CONTROL,
            HeaderValue::from_static(if is_private { "private" } else { "public" }),
        )],
        open: Box::new(|range| {
            let bounds = usize::try_from(range.start).expect("short")..usize::try_from(range.end).expect("short");
            let pieces: Vec<_> = CONTENT[bounds]
                .chunks(64)
                .map(|piece| Ok(Bytes::from_static(piece)))
                .collect();
            Box::pin(async move { Ok(stream::iter(pieces).boxed()) })
        }),
    };
    conditions.respond(download).await
}

async fn read_endless(_visitor: Visitor, conditions: Conditions) -> Result<FileResponse> {
    let download = Download {
        length: 1 << 40,
        etag: "endless".to_owned(),
        modified: Timestamp::UNIX_EPOCH,
        content_type: HeaderValue::from_static("application/octet-stream"),
        headers: Vec::new(),
        open: Box::new(|_range| {
            OPEN.fetch_add(1, Ordering::SeqCst);
            let opened = Opened;
            let piece = move |()| {
                let _held = &opened;
                PRODUCED.fetch_add(1, Ordering::SeqCst);
                Ok(Bytes::from_static(CONTENT))
            };
            Box::pin(async move { Ok(stream::repeat(()).map(piece).boxed()) })
        }),
    };
    conditions.respond(download).await
}

async fn name_caller(caller: Caller) -> Result<Json<Note>> {
    let name = match caller {
        Caller::SignedIn(context) => format!("user of {}", context.identity().tenant),
        Caller::Visitor(_) => "visitor".to_owned(),
    };
    Ok(Json(Note::of(name)))
}

async fn change_note(_visitor: Visitor, Json(note): Json<Note>) -> Result<Json<Note>> {
    Ok(Json(note))
}

async fn change_own_note(_context: RequestContext, Json(note): Json<Note>) -> Result<Json<Note>> {
    Ok(Json(note))
}

async fn app() -> TestApp {
    TestApp::new(&[&FILES]).await
}

async fn send(request: TestRequest<'_>, headers: &[(&str, &str)]) -> TestResponse {
    let request = headers
        .iter()
        .fold(request, |request, (name, value)| request.header(name, value));
    request.send().await
}

#[actix_web::test]
async fn a_file_is_sent_whole_and_in_parts() {
    let app = app().await;
    let get = async |headers: &[(&str, &str)]| send(app.request(Method::GET, "/files/one"), headers).await;

    let whole = get(&[]).await;
    assert_eq!((whole.status, &whole.body[..]), (200, &CONTENT[..]));
    for (name, value) in [
        ("etag", "\"v1\""),
        ("last-modified", "Fri, 20 Nov 2026 07:00:00 GMT"),
        ("accept-ranges", "bytes"),
        ("content-type", "text/plain"),
        ("cache-control", "public"),
    ] {
        assert_eq!(whole.header(name).as_deref(), Some(value), "{name}");
    }
    for (range, first, last) in [
        ("bytes=0-99", 0, 99),
        ("bytes=-10", 990, 999),
        ("bytes=990-5000", 990, 999),
        ("bytes=100-", 100, 999),
    ] {
        let part = get(&[("Range", range)]).await;
        assert_eq!((part.status, &part.body[..]), (206, &CONTENT[first..=last]), "{range}");
        let expected = format!("bytes {first}-{last}/1000");
        assert_eq!(part.header("content-range"), Some(expected), "{range}");
    }
    let several = get(&[("Range", "bytes=0-1,5-6")]).await;
    assert_eq!((several.status, several.body.len()), (200, 1000));

    let beyond = get(&[("Range", "bytes=1000-")]).await;
    assert_eq!(
        (beyond.status, beyond.json()),
        (416, json!({"error": "Range not satisfiable"}))
    );
    assert_eq!(beyond.header("content-range").as_deref(), Some("bytes */1000"));
}

#[actix_web::test]
async fn conditions_are_evaluated_before_ranges() {
    let app = app().await;
    let (same, other) = ("Fri, 20 Nov 2026 07:00:00 GMT", "Fri, 20 Nov 2026 06:59:59 GMT");

    for (headers, expected) in [
        (vec![("If-None-Match", "\"v1\"")], 304),
        (vec![("If-None-Match", "\"x\", W/\"v1\"")], 304),
        (vec![("If-None-Match", "\"x\""), ("If-None-Match", "\"v1\"")], 304),
        (vec![("If-None-Match", "*")], 304),
        (vec![("If-None-Match", "\"x\"")], 200),
        (vec![("If-None-Match", "\"x\""), ("If-Modified-Since", same)], 200),
        (vec![("If-Modified-Since", same)], 304),
        (vec![("If-Modified-Since", other)], 200),
        (vec![("If-Modified-Since", "yesterday")], 200),
        (vec![("If-Match", "\"v1\"")], 200),
        (vec![("If-Match", "*")], 200),
        (vec![("If-Match", "W/\"v1\"")], 412),
        (vec![("If-Match", "\"x\""), ("If-None-Match", "\"v1\"")], 412),
        (vec![("If-Unmodified-Since", same)], 200),
        (vec![("If-Unmodified-Since", other)], 412),
        (vec![("If-Match", "\"v1\""), ("If-Unmodified-Since", other)], 200),
        (vec![("Range", "bytes=0-0"), ("If-None-Match", "\"v1\"")], 304),
        (vec![("Range", "bytes=0-0"), ("If-Range", "\"v1\"")], 206),
        (vec![("Range", "bytes=0-0"), ("If-Range", same)], 206),
        (vec![("Range", "bytes=0-0"), ("If-Range", "W/\"v1\"")], 200),
        (vec![("Range", "bytes=0-0"), ("If-Range", "\"x\"")], 200),
        (vec![("Range", "bytes=0-0"), ("If-Range", other)], 200),
    ] {
        let response = send(app.request(Method::GET, "/files/one"), &headers).await;
        assert_eq!(response.status, expected, "{headers:?}");
        if expected == 304 {
            assert!(response.body.is_empty());
            assert_eq!(response.header("etag").as_deref(), Some("\"v1\""));
            assert_eq!(response.header("cache-control").as_deref(), Some("public"));
            assert_eq!(response.header("content-type"), None);
        }
    }
}

#[actix_web::test]
async fn head_has_the_head_of_get() {
    let app = app().await;

    for (path, headers) in [
        ("/files/one", vec![]),
        ("/files/one", vec![("If-None-Match", "\"v1\"")]),
        ("/files/one", vec![("If-Match", "\"x\"")]),
        ("/files/caller", vec![]),
        ("/files/caller", vec![("Authorization", "Bearer good")]),
        ("/files/nowhere", vec![]),
    ] {
        let get = send(app.request(Method::GET, path), &headers).await;
        let head = send(app.request(Method::HEAD, path), &headers).await;
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        for name in [
            "content-type",
            "etag",
            "last-modified",
            "accept-ranges",
            "cache-control",
        ] {
            assert_eq!(head.header(name), get.header(name), "{path}: {name}");
        }
    }
    let part = send(app.request(Method::HEAD, "/files/one"), &[("Range", "bytes=0-0")]).await;
    assert_eq!(
        (part.status, part.header("content-range")),
        (200, None),
        "HEAD ignores ranges"
    );
    let before = OPEN.load(Ordering::SeqCst);
    assert_eq!(send(app.request(Method::HEAD, "/files/endless"), &[]).await.status, 200);
    assert_eq!(OPEN.load(Ordering::SeqCst), before, "HEAD opens no file");
    let note = app.request(Method::HEAD, "/files/note").send().await;
    assert_eq!(note.status, 404, "only endpoints with GET have HEAD");
}

#[actix_web::test]
async fn a_client_that_goes_or_stalls_closes_the_file() {
    let app = app().await;
    let until_open = async |expected: usize| {
        for _ in 0..1000 {
            if OPEN.load(Ordering::SeqCst) == expected {
                return;
            }
            tokio::time::sleep(Patience::from_millis(5)).await;
        }
        panic!("{} files are open, not {expected}", OPEN.load(Ordering::SeqCst));
    };

    let mut gone = app.request(Method::GET, "/files/endless").open().await;
    assert!(gone.next().await.is_some());
    until_open(1).await;
    drop(gone);
    until_open(0).await;

    PRODUCED.store(0, Ordering::SeqCst);
    let mut stalled = app.request(Method::GET, "/files/endless").open().await;
    assert!(stalled.next().await.is_some());
    until_open(1).await;
    // One piece was read, one is on its way, and the third waits for the client.
    while PRODUCED.load(Ordering::SeqCst) < 3 {
        tokio::task::yield_now().await;
    }
    app.advance(Duration::seconds(59));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(OPEN.load(Ordering::SeqCst), 1, "still in time");
    app.advance(Duration::seconds(1));
    until_open(0).await;
    assert_eq!(
        PRODUCED.load(Ordering::SeqCst),
        3,
        "no more is held for a client that stalls"
    );
}

#[actix_web::test]
async fn an_optional_credential_is_honoured_and_an_invalid_one_is_none() {
    let app = app().await;
    let tenant = Uuid::from_u128(2);

    for (token, expected) in [
        ("", "visitor".to_owned()),
        ("bad", "visitor".to_owned()),
        ("good", format!("user of {tenant}")),
    ] {
        assert_eq!(
            app.get(token, "/files/caller").await,
            (200, json!({"text": expected})),
            "{token}"
        );
    }
}

#[actix_web::test]
async fn patch_is_a_write_like_put() {
    let app = app().await;
    let patch = |path| app.request(Method::PATCH, path).json(&json!({"text": "new"}));

    let changed = patch("/files/note").send().await;
    assert_eq!((changed.status, changed.json()), (200, json!({"text": "new"})));
    assert_eq!(patch("/files/own-note").send().await.status, 401);
    assert_eq!(patch("/files/own-note").bearer("good").send().await.status, 200);
    let malformed = patch("/files/own-note")
        .bearer("good")
        .header("If-Match", "\"x\"")
        .send()
        .await;
    assert_eq!(malformed.status, 400, "the condition of a write");
    let without = app.request(Method::PATCH, "/files/note").send().await;
    assert_eq!(without.status, 400);
    assert_eq!(patch("/files/caller").send().await.status, 404);
}

/// What a request has uploaded: name, file name and length of each part.
#[derive(Debug, Serialize, ToSchema)]
struct Uploaded {
    parts: Vec<String>,
    sha256: Option<String>,
}

#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the body")]
struct UploadForm {
    title: String,
    #[schema(format = Binary)]
    file: String,
}

async fn upload(_context: RequestContext, mut body: Multipart<UploadForm>) -> Result<Json<Uploaded>> {
    let mut uploaded = Uploaded {
        parts: Vec::new(),
        sha256: None,
    };
    while let Some(mut part) = body.next().await? {
        let name = part.name.clone();
        let Some(file_name) = part.file_name.clone() else {
            uploaded.parts.push(format!("{name}={}", part.text().await?));
            continue;
        };
        let mut length = 0;
        while let Some(chunk) = part.chunk().await? {
            length += chunk.len();
        }
        uploaded.sha256 = part
            .sha256()
            .map(|digest| format!("{:02x}{:02x}", digest[0], digest[1]));
        let kind = part.content_type.clone().unwrap_or_default();
        uploaded.parts.push(format!("{name}: {file_name} ({kind}) of {length}"));
    }
    Ok(Json(uploaded))
}

/// Returns a body of a title and a file.
fn form(boundary: &str, title: &str, file: &str) -> String {
    format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\n{title}\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a b.txt\"\r\n\
         Content-Type: text/plain; charset=utf-8\r\n\r\n{file}\r\n--{boundary}--\r\n"
    )
}

const UPLOAD: &str = "/files/upload";

async fn post(app: &TestApp, body: &str, boundary: &str) -> TestResponse {
    let request = app.request(Method::POST, UPLOAD).bearer("good");
    let kind = format!("multipart/form-data; boundary={boundary}");
    request.body(body.to_owned(), &kind).send().await
}

#[actix_web::test]
async fn parts_of_a_body_arrive_one_after_the_other() {
    let app = app().await;

    let sent = post(&app, &form("x1", "Ü", "abc"), "x1").await;

    let expected = json!({"parts": ["title=Ü", "file: a b.txt (text/plain) of 3"], "sha256": "ba78"});
    assert_eq!((sent.status, sent.json()), (200, expected));
    let long = "y".repeat(5_000_000);
    let sent = post(&app, &form("x1", "Long", &long), "x1").await;
    assert_eq!(
        sent.json()["parts"][1],
        "file: a b.txt (text/plain) of 5000000",
        "longer than any other body"
    );
}

#[actix_web::test]
async fn a_malformed_body_is_rejected() {
    let app = app().await;
    let whole = form("x1", "T", "abc");
    let many: String = (0..65)
        .map(|number| format!("--x1\r\nContent-Disposition: form-data; name=\"p{number}\"\r\n\r\n1\r\n"))
        .collect();
    let tenant = |value: &str| {
        whole
            .replace("\"title\"", "\"tenantId\"")
            .replace("\r\n\r\nT", &format!("\r\n\r\n{value}"))
    };

    for (body, boundary, status, code) in [
        (whole.as_str(), "other", 400, Some("invalid_multipart")),
        (&whole[..whole.len() - 8], "x1", 400, Some("invalid_multipart")),
        ("", "x1", 400, Some("invalid_multipart")),
        (
            &whole.replace("form-data; name=\"title\"", "attachment"),
            "x1",
            400,
            Some("invalid_multipart"),
        ),
        (
            &form("x1", &"t".repeat(70_000), "abc"),
            "x1",
            400,
            Some("field_too_large"),
        ),
        (&(many + "--x1--\r\n"), "x1", 400, Some("too_many_parts")),
        (&tenant("no id"), "x1", 400, None),
        (&tenant(&Uuid::from_u128(3).to_string()), "x1", 403, None),
        (&tenant(&Uuid::from_u128(2).to_string()), "x1", 200, None),
    ] {
        let response = post(&app, body, boundary).await;
        let about = &body[..body.len().min(200)];
        assert_eq!(response.status, status, "{}: {about}", response.text());
        if let Some(code) = code {
            assert_eq!(response.json()["code"], code, "{about}");
        }
    }
    let json = app
        .request(Method::POST, UPLOAD)
        .bearer("good")
        .json(&json!({}))
        .send()
        .await;
    assert_eq!((json.status, &json.json()["code"]), (400, &json!("invalid_multipart")));
}

/// Opens a connection and sends a part of an upload.
fn begin(app: &TestApp, head: &str, body: &str) -> TcpStream {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound listener has an address");
    app.serve(listener);
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream
        .set_read_timeout(Some(Patience::from_secs(30)))
        .expect("a time to wait");
    let head = format!(
        "POST /api{UPLOAD} HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=x1\r\n{head}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).expect("it is read");
    stream
}

/// Reads up to the end of the connection, which the server must close.
async fn until_closed(mut stream: TcpStream) -> String {
    let read = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it is closed in time");
        text
    });
    read.await.expect("it is read")
}

#[actix_web::test]
async fn att_35_a_silent_upload_is_a_408_and_the_end_of_its_connection() {
    let app = app().await;
    let waiting = app.clock().waiting();
    let whole = form("x1", "T", "abc");
    let stream = begin(
        &app,
        &format!("authorization: Bearer good\r\ncontent-length: {}", whole.len()),
        &whole[..whole.len() - 20],
    );
    while app.clock().waiting() == waiting {
        tokio::time::sleep(Patience::from_millis(5)).await;
    }
    app.advance(Duration::seconds(30));

    let reported = until_closed(stream).await;
    assert!(reported.starts_with("HTTP/1.1 408 "), "{reported}");
    assert!(reported.to_lowercase().contains("connection: close"), "{reported}");
}

#[actix_web::test]
async fn att_28_an_upload_without_a_credential_is_rejected_before_it_is_read() {
    let app = app().await;
    let stream = begin(&app, "transfer-encoding: chunked", "5\r\n--x1\r\r\n");

    let reported = until_closed(stream).await;

    assert!(reported.starts_with("HTTP/1.1 401 "), "{reported}");
    assert!(reported.to_lowercase().contains("connection: close"), "{reported}");
}

#[actix_web::test]
async fn a_connection_is_used_again_after_an_upload() {
    let app = app().await;
    let whole = form("x1", "T", "abc") + "epilogue";
    let head = format!("authorization: Bearer good\r\ncontent-length: {}", whole.len());
    let mut stream = begin(&app, &head, &whole);
    let again = format!(
        "POST /api{UPLOAD} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         content-type: multipart/form-data; boundary=x1\r\n{head}\r\n\r\n{whole}"
    );
    stream.write_all(again.as_bytes()).expect("it is read");

    let reported = until_closed(stream).await;

    assert_eq!(reported.matches("HTTP/1.1 200 OK").count(), 2, "{reported}");
}
