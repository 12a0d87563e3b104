//! Files as responses, HEAD, PATCH, and endpoints that serve callers with and without a credential.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration as Patience;

use actix_web::http::Method;
use actix_web::http::header::{CACHE_CONTROL, HeaderValue};
use actix_web::web::Bytes;
use backoffice_core::acl::Rights;
use backoffice_core::http::{Access, Caller, Conditions, Contents, Download, FileResponse, Json, Routes};
use backoffice_core::identity::{ActorKind, Identity};
use backoffice_core::{Module, RequestContext, Result, Timestamp, Visitor};
use backoffice_test_support::{Duration, TestApp, TestRequest, TestResponse, Tokens};
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::json;
use uuid::Uuid;

use crate::sample::Note;
use crate::uploads::upload;

static FILES: Module = Module {
    name: "files",
    title: "Files",
    routes,
    start: |startup| {
        startup
            .authenticator(Arc::new(Tokens(identity)))
            .provide(Arc::new(Endless::default()));
        Ok(())
    },
    ..Module::EMPTY
};

/// The token `good` is valid.
fn identity(token: &str) -> Option<Identity> {
    (token == "good").then(|| Identity {
        kind: ActorKind::User,
        id: Some(Uuid::from_u128(1)),
        tenant: Uuid::from_u128(2),
        rights: Rights::none(),
        ..Identity::system()
    })
}

/// The endless files of a platform.
#[derive(Debug, Default)]
struct Endless {
    /// Those that are open.
    open: AtomicUsize,
    /// Pieces that they have produced.
    produced: AtomicUsize,
}

impl Endless {
    fn of(app: &TestApp) -> Arc<Self> {
        app.platform().provided().get().expect("the module provides it")
    }

    fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

/// An endless file, which is open until it is dropped.
struct Opened(Arc<Endless>);

impl Opened {
    fn new(files: Arc<Endless>) -> Self {
        files.open.fetch_add(1, Ordering::SeqCst);
        Self(files)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
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
        etag: Some("v1".to_owned()),
        modified: Timestamp::parse("2026-11-20T07:00:00.250Z").expect("an instant"),
        content_type: HeaderValue::from_static("text/plain"),
        headers: vec![(
            CACHE_CONTROL,
            HeaderValue::from_static(if is_private { "private" } else { "public" }),
        )],
        contents: Contents::Stream(Box::new(|range| {
            let bounds = usize::try_from(range.start).expect("short")..usize::try_from(range.end).expect("short");
            let pieces: Vec<_> = CONTENT[bounds]
                .chunks(64)
                .map(|piece| Ok(Bytes::from_static(piece)))
                .collect();
            Box::pin(async move { Ok(stream::iter(pieces).boxed()) })
        })),
    };
    conditions.respond(download).await
}

async fn read_endless(visitor: Visitor, conditions: Conditions) -> Result<FileResponse> {
    let files = visitor.provided::<Endless>()?;
    let download = Download {
        length: 1 << 40,
        etag: Some("endless".to_owned()),
        modified: Timestamp::UNIX_EPOCH,
        content_type: HeaderValue::from_static("application/octet-stream"),
        headers: Vec::new(),
        contents: Contents::Stream(Box::new(move |_range| {
            let opened = Opened::new(files);
            let piece = move |()| {
                opened.0.produced.fetch_add(1, Ordering::SeqCst);
                Ok(Bytes::from_static(CONTENT))
            };
            Box::pin(async move { Ok(stream::repeat(()).map(piece).boxed()) })
        })),
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

pub(crate) async fn app() -> TestApp {
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
    assert_eq!(send(app.request(Method::HEAD, "/files/endless"), &[]).await.status, 200);
    assert_eq!(Endless::of(&app).open(), 0, "HEAD opens no file");
    let note = app.request(Method::HEAD, "/files/note").send().await;
    assert_eq!(note.status, 404, "only endpoints with GET have HEAD");
}

#[actix_web::test]
async fn a_client_that_goes_or_stalls_closes_the_file() {
    let app = app().await;
    let files = Endless::of(&app);
    let until_open = async |expected: usize| {
        for _ in 0..1000 {
            if files.open() == expected {
                return;
            }
            tokio::time::sleep(Patience::from_millis(5)).await;
        }
        panic!("{} files are open, not {expected}", files.open());
    };

    let mut gone = app.request(Method::GET, "/files/endless").open().await;
    assert!(gone.next().await.is_some());
    until_open(1).await;
    drop(gone);
    until_open(0).await;

    files.produced.store(0, Ordering::SeqCst);
    let mut stalled = app.request(Method::GET, "/files/endless").open().await;
    assert!(stalled.next().await.is_some());
    until_open(1).await;
    // One piece was read, one is on its way, and the third waits for the client.
    while files.produced.load(Ordering::SeqCst) < 3 {
        tokio::task::yield_now().await;
    }
    app.advance(Duration::seconds(59));
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(files.open(), 1, "still in time");
    app.advance(Duration::seconds(1));
    until_open(0).await;
    assert_eq!(
        files.produced.load(Ordering::SeqCst),
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
