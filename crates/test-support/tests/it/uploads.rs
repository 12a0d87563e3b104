//! Bodies of several parts, read while they arrive.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration as Patience;

use actix_web::http::Method;
use backoffice_core::http::{Json, Multipart};
use backoffice_core::{RequestContext, Result};
use backoffice_test_support::{Duration, TestApp, TestResponse};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::files::app;
use crate::raw;

/// What a request has uploaded: name, file name and length of each part.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Uploaded {
    parts: Vec<String>,
    sha256: Option<String>,
}

#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the body")]
pub(crate) struct UploadForm {
    title: String,
    #[schema(format = Binary)]
    file: String,
}

pub(crate) async fn upload(_context: RequestContext, mut body: Multipart<UploadForm>) -> Result<Json<Uploaded>> {
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

/// Sends a part of an upload, with these headers.
fn begin(app: &TestApp, headers: &str, body: &str) -> TcpStream {
    let head = format!(
        "POST /api{UPLOAD} HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=x1\r\n{headers}\r\n\r\n"
    );
    raw::send(raw::serve(app), &(head + body))
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

    let reported = raw::until_closed(stream).await;
    assert!(reported.starts_with("HTTP/1.1 408 "), "{reported}");
    assert!(reported.to_lowercase().contains("connection: close"), "{reported}");
}

#[actix_web::test]
async fn an_upload_that_arrives_too_slowly_is_a_408_although_it_is_never_silent() {
    let app = app().await;
    let waiting = app.clock().waiting();
    let start = form("x1", "T", "");
    // Without the last boundary.
    let start = &start[..start.len() - 10];
    let mut stream = begin(&app, "authorization: Bearer good\r\ncontent-length: 100000", start);
    while app.clock().waiting() == waiting {
        tokio::time::sleep(Patience::from_millis(5)).await;
    }
    for _ in 0..8 {
        stream.write_all(b"a").expect("it is read");
        tokio::time::sleep(Patience::from_millis(50)).await;
        app.advance(Duration::seconds(10));
    }
    // The server may have closed the connection by now.
    let _closed = stream.write_all(b"a");

    let reported = raw::until_closed(stream).await;
    assert!(reported.starts_with("HTTP/1.1 408 "), "{reported}");
    assert!(reported.contains("the body arrives too slowly"), "{reported}");
}

#[actix_web::test]
async fn att_28_an_upload_without_a_credential_is_rejected_before_it_is_read() {
    let app = app().await;
    let stream = begin(&app, "transfer-encoding: chunked", "5\r\n--x1\r\r\n");

    let reported = raw::until_closed(stream).await;

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

    let reported = raw::until_closed(stream).await;

    assert_eq!(reported.matches("HTTP/1.1 200 OK").count(), 2, "{reported}");
}
