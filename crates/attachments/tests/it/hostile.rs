//! Files that attack: each is rejected, or stored and served as what it is, and none is executed.

use actix_web::http::Method;
use backoffice_test_support::{TestApp, TestResponse};
use serde_json::Value;

use crate::{NOTE, RECORD, TwoTenants, Upload, fixture_with, form, stored, upload};

/// What must happen to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// 400 with this code.
    Rejected(&'static str),
    /// Stored under this name and type, and sent as an attachment.
    Saved(&'static str, &'static str),
    /// Stored under this name and type, and shown in place: a raster image.
    Shown(&'static str, &'static str),
}
use Fate::{Rejected, Saved, Shown};

const ACTIVE: Fate = Rejected("active_content");
const PROGRAM: Fate = Rejected("dangerous_file");
const BINARY: &str = "application/octet-stream";
const TEXT: &str = "text/plain";
const ZIP: &str = "application/zip";

/// Returns the beginning of an image of this size.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend_from_slice(&[8, 6, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

/// Returns these bytes with a script after them.
fn with_script(bytes: &[u8]) -> Vec<u8> {
    [bytes, b"\n<script>alert(1)</script>"].concat()
}

/// Returns the documents that browsers execute, under every disguise.
fn documents() -> Vec<(&'static str, Vec<u8>, &'static str, Fate)> {
    let svg: &[u8] = b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>";
    let html: &[u8] = b"<!DOCTYPE html><script>alert(1)</script>";
    let one = |name, bytes: &[u8], kind, fate| (name, bytes.to_vec(), kind, fate);
    vec![
        one("a.svg", svg, "image/svg+xml", ACTIVE),
        one("a.SVG", b"plain", "text/plain", ACTIVE),
        one("a.svg.", svg, "image/png", ACTIVE),
        one("a.svg ", b"plain", "image/png", ACTIVE),
        one("a.png", svg, "image/png", ACTIVE),
        one("a", svg, "", ACTIVE),
        one("a.txt", svg, "text/plain", ACTIVE),
        one("a.txt", b"\xef\xbb\xbf <svg onload=alert(1)>", "text/plain", ACTIVE),
        one("a.xml", b"<?xml version=\"1.0\"?><svg/>", "application/xml", ACTIVE),
        one(
            "a.bin",
            b"<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\"/>",
            "",
            ACTIVE,
        ),
        one("a.htm", b"plain", "text/plain", ACTIVE),
        one("a.html", html, "text/html", ACTIVE),
        one("a.xhtml", b"plain", "", ACTIVE),
        one("a.txt", html, "text/plain", ACTIVE),
        one("a.jpg", html, "image/jpeg", ACTIVE),
        one("a.pdf", html, "application/pdf", ACTIVE),
        one("a.csv", b"\n\n\t <HTML><BODY>", "text/csv", ACTIVE),
        one("a.json", b"<script>alert(1)</script>", "application/json", ACTIVE),
        one("a.md", b"<iframe src=javascript:alert(1)>", "text/markdown", ACTIVE),
        one("a.txt", b"<math><mtext></mtext></math>", "", ACTIVE),
        one("a.bin", b"plain", "text/html", ACTIVE),
        one("a.bin", b"plain", "TEXT/HTML", ACTIVE),
        one("a.bin", b"plain", "image/svg+xml", ACTIVE),
        one("a.bin", b"plain", "application/xhtml+xml", ACTIVE),
        one("a.bin", b"plain", "text/javascript", ACTIVE),
        one("a.bin", b"/*\0*/alert(1)", "application/javascript", ACTIVE),
        one("a.bin", b"/*\0*/alert(1)", "", Saved("a.bin", BINARY)),
        one("a.bin", b"\x00\x01", "text/html;x", Saved("a.bin", BINARY)),
        one(
            "a.txt",
            b"text <script>alert(1)</script>",
            "text/plain",
            Saved("a.txt", TEXT),
        ),
        one("a.csv", b"=cmd|'/c calc'!A0,1", "text/csv", Saved("a.csv", "text/csv")),
        one(
            "a.md",
            b"[x](javascript:alert(1))",
            "text/markdown",
            Saved("a.md", "text/markdown"),
        ),
    ]
}

/// Returns programs, and names that pretend.
fn programs() -> Vec<(&'static str, Vec<u8>, &'static str, Fate)> {
    let one = |name, bytes: &[u8], kind, fate| (name, bytes.to_vec(), kind, fate);
    vec![
        one("a.exe", b"plain", "text/plain", PROGRAM),
        one("a.EXE .", b"plain", "text/plain", PROGRAM),
        one("a.exe.pdf", b"%PDF-1.7", "application/pdf", PROGRAM),
        one("x\u{202e}gnp.exe", b"plain", "image/png", PROGRAM),
        one("a.e\u{200b}xe", b"plain", "", PROGRAM),
        one("a.\u{ff45}xe.bat", b"plain", "", PROGRAM),
        one("a.sh", b"plain", "", PROGRAM),
        one("a.png", b"MZ\x90\x00", "image/png", PROGRAM),
        one("a.txt", b"#!/bin/sh\nrm -rf /", "text/plain", PROGRAM),
        one("a.pdf", b"\x7fELF\x02\x01", "application/pdf", PROGRAM),
        one("a.bin", b"\xca\xfe\xba\xbe\x00\x00", "", PROGRAM),
        one("a.bin", b"\xcf\xfa\xed\xfe\x07\x00", "", PROGRAM),
        one("../../etc/passwd", b"root", "", Saved("passwd", TEXT)),
        // Some clients escape backslashes, others send them as they are.
        one(r"..\..\boot.ini", b"root", "", Saved("boot.ini", TEXT)),
        one("..\\\\..\\\\boot.ini", b"root", "", Saved("boot.ini", TEXT)),
        one("/", b"root", "", Saved("file", TEXT)),
        one("..", b"root", "", Saved("file", TEXT)),
        one(".htaccess", b"Options +Indexes", "", Saved(".htaccess", TEXT)),
        one("CON", b"device", "", Saved("CON", TEXT)),
        one("a.txt:stream", b"stream", "", Saved("a.txt:stream", TEXT)),
        one("%2e%2e%2fa.txt", b"encoded", "", Saved("%2e%2e%2fa.txt", TEXT)),
        one(
            "a';drop table x;--.txt",
            b"sql",
            "",
            Saved("a';drop table x;--.txt", TEXT),
        ),
    ]
}

/// Returns images, archives and documents that are something else too, or too much.
fn containers() -> Vec<(&'static str, Vec<u8>, &'static str, Fate)> {
    let image = "image/png";
    let gif = b"GIF89a\x01\0\x01\0\0\0\0";
    let bomb = [b"PK\x03\x04".as_slice(), &[0; 22], b"a"].concat();
    vec![
        ("a.gif", with_script(gif), "image/gif", Shown("a.gif", "image/gif")),
        (
            "a.gif",
            [gif.as_slice(), b"=1;alert(1)//"].concat(),
            "text/plain",
            Shown("a.gif", "image/gif"),
        ),
        ("a.png", with_script(&png(1, 1)), image, Shown("a.png", image)),
        ("a.txt", with_script(&png(1, 1)), "text/plain", Shown("a.txt", image)),
        ("bomb.png", png(50_000, 50_000), image, Shown("bomb.png", image)),
        ("most.png", png(u32::MAX, u32::MAX), image, Shown("most.png", image)),
        ("none.png", png(0, 0), image, Shown("none.png", image)),
        ("cut.png", b"\x89PNG\r\n\x1a\n".to_vec(), image, Shown("cut.png", image)),
        (
            "cut.jpg",
            b"\xff\xd8\xff\xe0".to_vec(),
            "image/jpeg",
            Shown("cut.jpg", "image/jpeg"),
        ),
        (
            "false.jpg",
            with_script(b"\xff\xd8\xff\xe0\0\x10JFIF"),
            "image/jpeg",
            Shown("false.jpg", "image/jpeg"),
        ),
        (
            "a.webp",
            b"RIFF\xff\xff\xff\xffWEBPVP8 ".to_vec(),
            "image/webp",
            Shown("a.webp", "image/webp"),
        ),
        (
            "a.pdf",
            with_script(b"%PDF-1.7"),
            "application/pdf",
            Saved("a.pdf", "application/pdf"),
        ),
        (
            "a.html.pdf",
            b"%PDF-1.7".to_vec(),
            "application/pdf",
            Saved("a.html.pdf", "application/pdf"),
        ),
        ("bomb.zip", bomb.clone(), ZIP, Saved("bomb.zip", ZIP)),
        ("bomb.docx", bomb.clone(), "", Saved("bomb.docx", ZIP)),
        ("a.png", bomb, image, Saved("a.png", ZIP)),
        ("a.txt", b"\xff\xfe<\0h\0t\0m\0l\0>\0".to_vec(), "text/plain", ACTIVE),
        ("a.txt", vec![0x80; 9000], "text/plain", Saved("a.txt", TEXT)),
    ]
}

/// Checks that a stored file is sent as what it is, whole and in parts, and that no size of it costs more than its bound.
async fn check_served(app: &TestApp, token: &str, item: &Value, bytes: &[u8], fate: Fate) {
    let (name, kind, is_inline) = match fate {
        Saved(name, kind) => (name, kind, false),
        Shown(name, kind) => (name, kind, true),
        Rejected(code) => panic!("{item} instead of {code}"),
    };
    assert_eq!((&item["fileName"], &item["mimeType"]), (&name.into(), &kind.into()));
    let url = item["url"]
        .as_str()
        .and_then(|url| url.strip_prefix("/api"))
        .expect("an address");
    let get = async |path: &str, range: &str| {
        let request = app.request(Method::GET, path).bearer(token).header("Range", range);
        request.send().await
    };
    let whole = get(url, "none").await;
    assert_eq!((whole.status, whole.body.as_ref()), (200, bytes), "{name}");
    let header = |name: &str| whole.header(name).unwrap_or_default();
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("content-security-policy"), "default-src 'none'; sandbox");
    let sent = header("content-type");
    assert_eq!(sent.split(';').next(), Some(kind), "{name}");
    let disposition = header("content-disposition");
    let expected = if is_inline { "inline; " } else { "attachment; " };
    assert!(disposition.starts_with(expected), "{name}: {disposition}");
    assert!(!disposition.contains(['\r', '\n', '<']), "{disposition}");
    let last = bytes.len() - 1;
    for (range, expected) in [
        ("bytes=0-0".to_owned(), 206),
        (format!("bytes={last}-"), 206),
        (format!("bytes={last}-99999999999999999999"), 206),
        (format!("bytes={}-", bytes.len()), 416),
        ("bytes=-0".to_owned(), 416),
        ("bytes=-99999999999999999999".to_owned(), 206),
        ("bytes=0-0,-1".to_owned(), 200),
        ("bytes=9-1".to_owned(), 200),
    ] {
        assert_eq!(get(url, &range).await.status, expected, "{name}: {range}");
    }
    let image = url.replace("/file/", "/image/");
    let rendered: TestResponse = get(&format!("{image}?width=10&height=10"), "none").await;
    assert!(rendered.status < 500, "{name}: {}", rendered.text());
    if rendered.status == 200 {
        let sent = rendered.header("content-type").unwrap_or_default();
        assert!(
            sent.starts_with("image/") && !rendered.text().contains("script"),
            "{name}"
        );
    }
}

#[actix_web::test]
async fn hostile_files_are_rejected_or_harmless() {
    let fixture = fixture_with("").await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let files = [documents(), programs(), containers()].concat();
    assert!(files.len() >= 60, "{}", files.len());
    let mut kept = 0;

    for (name, bytes, kind, fate) in &files {
        let file = Upload { name, bytes, kind };
        let response = upload(app, token, &[], file).await;

        match fate {
            Rejected(code) => {
                let expected = (400, Some(*code));
                let found = response.json();
                assert_eq!(
                    (response.status, found["code"].as_str()),
                    expected,
                    "{name} {kind}: {found}"
                );
            }
            fate => {
                assert_eq!(response.status, 200, "{name} {kind}: {}", response.text());
                check_served(app, token, &response.json()["item"], bytes, *fate).await;
                kept += 1;
            }
        }
    }

    let (objects, spool, rows, _) = stored(app).await;
    assert_eq!((objects, spool, rows), (kept, 0, kept));
}

/// Sends a body as it is.
async fn send(fixture: &TwoTenants, body: Vec<u8>, kind: &str) -> TestResponse {
    let request = fixture
        .app
        .request(Method::POST, "/attachments")
        .bearer(&fixture.a.token);
    request.body(body, kind).send().await
}

#[actix_web::test]
async fn hostile_bodies_are_rejected_and_leave_nothing() {
    let fixture = fixture_with("max_upload = \"64KiB\"").await;
    let whole = form("x", &RECORD, Some(NOTE));
    let kind = "multipart/form-data; boundary=x";
    let mut bodies: Vec<(Vec<u8>, &str)> = (0..whole.len() - 4)
        .step_by(7)
        .map(|end| (whole[..end].to_vec(), kind))
        .collect();
    let large = Upload {
        bytes: &vec![b'a'; 70 * 1024],
        ..NOTE
    };
    let long_head = format!(
        "--x\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\n",
        "n".repeat(100_000)
    );
    bodies.extend([
        (form("x", &RECORD, Some(large)), kind),
        (form("y", &RECORD, Some(NOTE)), kind),
        (long_head.into_bytes(), kind),
        (vec![b'-'; 50_000], kind),
        (vec![0; 50_000], kind),
        (whole.clone(), "multipart/form-data"),
        (whole.clone(), "multipart/form-data; boundary="),
        (whole.clone(), "multipart/mixed; boundary=x"),
        (whole.clone(), "application/json"),
        (whole.clone(), "application/x-www-form-urlencoded"),
    ]);

    for (number, (body, kind)) in bodies.into_iter().enumerate() {
        let response = send(&fixture, body, kind).await;
        assert!(
            (400..500).contains(&response.status),
            "{number} {kind}: {} {}",
            response.status,
            response.text()
        );
    }

    assert_eq!(stored(&fixture.app).await, (0, 0, 0, 0));
    assert_eq!(send(&fixture, whole, kind).await.status, 200);
}
