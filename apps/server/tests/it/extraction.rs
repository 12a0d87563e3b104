//! Texts of documents, extracted by child processes of the server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use backoffice_test_support::TestDatabase;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::office::{ADMINISTRATOR, office, sign_in};
use crate::server::Server;
use crate::support::Folder;

/// Returns a PDF with one page for each text.
fn pdf(pages: &[&str]) -> Vec<u8> {
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        String::new(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    let mut kids = Vec::new();
    for page in pages {
        let content = format!("BT /F1 12 Tf 72 720 Td ({page}) Tj ET");
        let (page, stream) = (objects.len() + 1, objects.len() + 2);
        kids.push(format!("{page} 0 R"));
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents {stream} 0 R >>"
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    objects[1] = format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), kids.len());
    let mut file = "%PDF-1.4\n".to_owned();
    let mut offsets = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
    }
    let start = file.len();
    file.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
    for offset in offsets {
        file.push_str(&format!("{offset:010} 00000 n \n"));
    }
    let size = objects.len() + 1;
    file.push_str(&format!(
        "trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    ));
    file.into_bytes()
}

/// Returns head and body of a request that uploads a file.
pub(crate) fn upload_request(token: &str, name: &str, bytes: &[u8]) -> (String, Vec<u8>) {
    let mut body = Vec::new();
    for (name, value) in [("entityId", "attachments.library"), ("recordId", "all")] {
        let part = format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend_from_slice(part.as_bytes());
    }
    let head = format!("--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n");
    body.extend_from_slice(head.as_bytes());
    body.extend_from_slice(bytes);
    body.extend_from_slice(b"\r\n--x--\r\n");
    let head = format!(
        "POST /api/attachments HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    (head, body)
}

/// Uploads a file and returns its id.
fn upload(server: &Server, token: &str, name: &str, bytes: &[u8]) -> String {
    let (head, body) = upload_request(token, name, bytes);
    let mut stream = TcpStream::connect(server.api).expect("the server listens");
    stream.write_all(head.as_bytes()).expect("sent");
    stream.write_all(&body).expect("sent");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    let (_, body) = response.split_once("\r\n\r\n").expect("a body");
    let body: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{response}"));
    body["item"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{response}"))
        .to_owned()
}

/// Waits until no file waits for its text.
async fn wait_for_texts(database: &TestDatabase, server: &Server) {
    let started = Instant::now();
    let waiting = "select 1 as one from attachments_attachments where content_state = 'pending'";
    while !database.rows(waiting).await.is_empty() {
        assert!(started.elapsed() < Duration::from_secs(60), "{}", server.log());
        sleep(Duration::from_millis(20)).await;
    }
}

fn content(server: &Server, token: &str, id: &str) -> Value {
    server.get(&format!("/api/attachments/library/{id}"), token).body["item"]["content"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_of_documents_are_found_after_the_upload() {
    let (office, database) = office().await;
    let mut server = office.serve(&[]).await;
    let token = sign_in(&server, ADMINISTRATOR);
    let long = "Zażółć gęślą jaźń\n".repeat(80_000);

    let report = upload(&server, &token, "report.pdf", &pdf(&["First page", "Second page"]));
    let text = upload(&server, &token, "long.txt", long.as_bytes());
    let broken = upload(&server, &token, "broken.pdf", b"%PDF-1.4\nnothing of a document");

    // The broken document is tried three times, within about 8 seconds.
    wait_for_texts(&database, &server).await;

    let pages = content(&server, &token, &report);
    let pages = pages.as_str().expect("a text");
    assert!(pages.contains("First page") && pages.contains("Second page"), "{pages}");
    let kept = content(&server, &token, &text);
    let kept = kept.as_str().expect("a text");
    assert_eq!(kept.chars().count(), 1024 * 1024);
    assert!(long.starts_with(kept));
    assert_eq!(content(&server, &token, &broken), json!(null));
    let state = format!("select content_state from attachments_attachments where id = '{broken}'");
    assert_eq!(database.rows(&state).await, [json!({"content_state": "failed"})]);
    server.check_health();
}

#[test]
fn a_child_ends_with_an_error_when_a_document_is_broken_or_needs_too_much_memory() {
    let folder = Folder::new();
    let child = |kind: &str, document: &[u8]| {
        let mut child = crate::support::program(&folder)
            .args(["extract-text", kind])
            .env_clear()
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut input = child.stdin.take().expect("a pipe");
        // A child that has reached its limits closes the pipe.
        let _written = input.write_all(document);
        drop(input);
        child.wait_with_output().expect("an end")
    };

    let read = child("pdf", &pdf(&["A page"]));
    assert!(read.status.success());
    assert_eq!(String::from_utf8_lossy(&read.stdout).trim(), "A page");
    assert!(!child("pdf", b"%PDF-1.7").status.success());
    assert!(!child("docx", b"PK\x03\x04").status.success());
    assert!(!child("other", b"").status.success());
    let large = "x".repeat(200 * 1024 * 1024);
    let valid = pdf(&["A page", &large]);
    assert!(
        !child("pdf", &valid).status.success(),
        "the bytes and the parsed page need more than 256 MiB"
    );
}
