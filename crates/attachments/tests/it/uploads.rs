//! Uploads.

use std::io::{Cursor, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration as Patience;

use actix_web::http::Method;
use futures_util::future::join_all;
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::{
    ATTACHMENTS, LIBRARY, NOTE, RECORD, Upload, fixture, fixture_with, form, of_record, rejected, rejection, request,
    stored, upload, uploaded,
};

#[actix_web::test]
async fn att_1_a_text_file_is_stored_with_its_text() {
    let fixture = fixture().await;
    let file = Upload {
        name: "ąćę notatka.txt",
        ..NOTE
    };

    let response = upload(&fixture.app, &fixture.a.token, &[], file).await;

    let body = response.json();
    let item = &body["item"];
    assert_eq!((response.status, &body["ok"]), (200, &json!(true)), "{body}");
    let expected = json!({"id": item["id"], "url": format!("/api/attachments/file/{}", item["id"].as_str().expect("an id")),
        "fileName": "ąćę notatka.txt", "fileSize": 12, "content": "Twelve bytes", "mimeType": "text/plain",
        "partitionCode": "privateAttachments", "thumbnailUrl": null, "tags": [], "assignments": [{"type": "x.y", "id": "r1"}],
        "customFields": {}});
    assert_eq!(*item, expected);
    let (_, page) = fixture.app.get(&fixture.a.token, &of_record()).await;
    assert_eq!((&page["total"], &page["items"][0]["id"]), (&json!(1), &item["id"]));
    assert_eq!(page["pageSize"], 100);
    let (_, usage) = fixture.app.get(&fixture.a.token, "/attachments/usage").await;
    assert_eq!(
        usage,
        json!({"usedBytes": 12, "quotaBytes": 536_870_912, "fileCount": 1})
    );
    assert_eq!(stored(&fixture.app).await, (1, 0, 1, 12));
}

#[actix_web::test]
async fn att_2_incomplete_and_malformed_uploads_change_nothing() {
    let fixture = fixture().await;
    let token = &fixture.a.token;
    let send = |parts: &[(&str, &str)], file: Option<Upload<'_>>| request(&fixture.app, token, parts, file).send();
    let empty = Upload { bytes: b"", ..NOTE };
    let long = "x".repeat(256);

    for (parts, file, code) in [
        (&RECORD[..], None, "file_required"),
        (&RECORD[..], Some(empty), "empty_file"),
        (&RECORD[1..], Some(NOTE), "missing_field"),
        (&RECORD[..1], Some(NOTE), "missing_field"),
        (&[("entityId", long.as_str()), RECORD[1]], Some(NOTE), "invalid_field"),
        (&[("entityId", "a\0b"), RECORD[1]], Some(NOTE), "invalid_field"),
        (&[RECORD[0], RECORD[1], ("tags", "[1]")], Some(NOTE), "invalid_field"),
        (&[RECORD[0], RECORD[1], ("tags", "a\0")], Some(NOTE), "invalid_field"),
        (
            &[RECORD[0], RECORD[1], ("assignments", "{}")],
            Some(NOTE),
            "invalid_field",
        ),
        (
            &[RECORD[0], RECORD[1], ("customFields", "[]")],
            Some(NOTE),
            "invalid_field",
        ),
        (&[RECORD[0], RECORD[1], ("cf_A", "x")], Some(NOTE), "invalid_field"),
        (
            &[RECORD[0], RECORD[1], ("partitionCode", "nowhere")],
            Some(NOTE),
            "unknown_partition",
        ),
    ] {
        let response = send(parts, file).await;
        assert_eq!(
            rejection(&response),
            rejected(400, code),
            "{parts:?}: {}",
            response.text()
        );
    }
    let (first, second) = (form("x", &RECORD, Some(NOTE)), form("x", &[], Some(NOTE)));
    let both = [&first[..first.len() - "--x--\r\n".len()], &second].concat();
    let twice = fixture.app.request(Method::POST, ATTACHMENTS).bearer(token);
    let twice = twice.body(both, "multipart/form-data; boundary=x").send().await;
    assert_eq!(rejection(&twice), rejected(400, "multiple_files"));
    let json = fixture
        .app
        .request(Method::POST, ATTACHMENTS)
        .bearer(token)
        .json(&json!({}));
    assert_eq!(rejection(&json.send().await), rejected(400, "invalid_multipart"));
    assert_eq!(stored(&fixture.app).await, (0, 0, 0, 0));
}

#[actix_web::test]
async fn att_4_a_file_beyond_the_bound_is_not_stored() {
    let fixture = fixture_with("max_upload = \"1MiB\"").await;
    let bytes = vec![b'a'; 1024 * 1024 + 1];
    let exact = Upload {
        bytes: &bytes[1..],
        ..NOTE
    };

    let streamed = upload(&fixture.app, &fixture.a.token, &[], Upload { bytes: &bytes, ..NOTE }).await;

    assert_eq!(rejection(&streamed), rejected(413, "attachment_too_large"));
    assert_eq!(stored(&fixture.app).await, (0, 0, 0, 0));
    assert_eq!(upload(&fixture.app, &fixture.a.token, &[], exact).await.status, 200);
}

#[actix_web::test]
async fn att_3_att_28_an_upload_that_can_not_succeed_is_rejected_before_its_body() {
    let fixture = fixture().await;
    let (_, plain) = fixture.user("plain@alpha.test", &[]).await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("bound");
    fixture.app.serve(listener);
    // Only the head is sent: a server that waits for the body does not respond.
    let send = async |token: &str, length: &str| {
        let head = format!(
            "POST /api/attachments HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: multipart/form-data; boundary=x\r\n{length}\r\n\r\n"
        );
        let read = move || {
            let mut stream = TcpStream::connect(address).expect("it listens");
            stream
                .set_read_timeout(Some(Patience::from_secs(20)))
                .expect("a time to wait");
            stream.write_all(head.as_bytes()).expect("it is read");
            let mut text = String::new();
            stream.read_to_string(&mut text).expect("it is closed in time");
            text
        };
        tokio::task::spawn_blocking(read).await.expect("it is read")
    };

    let large = send(&fixture.a.token, "Content-Length: 209715200").await;
    let forbidden = send(&plain, "Transfer-Encoding: chunked").await;

    assert!(
        large.starts_with("HTTP/1.1 413 ") && large.contains("\"attachment_too_large\""),
        "{large}"
    );
    assert!(forbidden.starts_with("HTTP/1.1 403 "), "{forbidden}");
    for response in [large, forbidden] {
        assert!(response.to_lowercase().contains("connection: close"), "{response}");
    }
    assert_eq!(stored(&fixture.app).await, (0, 0, 0, 0));
}

#[actix_web::test]
async fn att_5_parallel_uploads_stay_within_the_quota() {
    let fixture = fixture_with("tenant_quota = \"1000KiB\"\nper_tenant = 32\nper_principal = 32").await;
    let bytes = vec![b'a'; 100 * 1024];
    let file = Upload { bytes: &bytes, ..NOTE };

    let responses = join_all((0..20).map(|_| upload(&fixture.app, &fixture.a.token, &[], file))).await;

    let done = responses.iter().filter(|response| response.status == 200).count();
    assert_eq!(done, 10);
    for response in responses.iter().filter(|response| response.status != 200) {
        assert_eq!(rejection(response), rejected(413, "attachment_quota_exceeded"));
    }
    assert_eq!(stored(&fixture.app).await, (10, 0, 10, 1_024_000));
    let staged = fixture.app.rows("select 1 as one from attachments_staged").await;
    assert_eq!(staged.len(), 0);
    let (_, usage) = fixture.app.get(&fixture.b.token, "/attachments/usage").await;
    assert_eq!(usage["usedBytes"], 0, "of another tenant");
}

#[actix_web::test]
async fn att_6_att_7_programs_and_active_documents_are_rejected() {
    let fixture = fixture().await;

    for (name, bytes, kind, code) in [
        ("a.exe", &b"x"[..], "text/plain", "dangerous_file"),
        ("a.exe.pdf", b"%PDF-1.7", "application/pdf", "dangerous_file"),
        ("x\u{202e}gnp.exe", b"x", "image/png", "dangerous_file"),
        ("a.png", b"MZ\x90\0", "image/png", "dangerous_file"),
        (
            "a.svg",
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            "image/svg+xml",
            "active_content",
        ),
        (
            "a.txt",
            b"<html><script>alert(1)</script>",
            "text/plain",
            "active_content",
        ),
        ("a.bin", b"\0\x01", "text/html", "active_content"),
    ] {
        let response = upload(&fixture.app, &fixture.a.token, &[], Upload { name, bytes, kind }).await;
        assert_eq!(rejection(&response), rejected(400, code), "{name}");
    }
    assert_eq!(stored(&fixture.app).await, (0, 0, 0, 0));
    let file = Upload {
        name: "www.acme.com.pdf",
        bytes: b"%PDF-1.7\n",
        kind: "text/plain",
    };
    let response = upload(&fixture.app, &fixture.a.token, &[], file).await;
    assert_eq!(
        (response.status, &response.json()["item"]["mimeType"]),
        (200, &json!("application/pdf"))
    );
}

#[actix_web::test]
async fn names_lose_folders_and_invisible_characters() {
    let fixture = fixture().await;

    for (given, expected) in [
        ("..\\\\..\\\\a.txt", "a.txt"),
        ("/etc/passwd", "passwd"),
        // Browsers send backslashes as they are.
        (r"C:\temp\x.txt", "x.txt"),
        (r"..\..\a.txt", "a.txt"),
        (r"\\server\share\b.txt", "b.txt"),
        (r"C:\zdjęcia\ą;b.txt", "ą;b.txt"),
        (r"C:\temp/..\c.txt", "c.txt"),
        (r#"a\"b.txt"#, "a\"b.txt"),
        (r#"a\"/../d.txt"#, "d.txt"),
        (r#"a.txt"; filename*=UTF-8''C%3A%5Ctemp%5Ce.txt; x=""#, "e.txt"),
        (r#"..\f.txt"; filename*=UTF-8''%ff; x=""#, "f.txt"),
        ("a\u{200b}b.txt", "ab.txt"),
    ] {
        let file = Upload { name: given, ..NOTE };
        let response = upload(&fixture.app, &fixture.a.token, &[], file).await;
        assert_eq!(response.json()["item"]["fileName"], expected, "{}", response.text());
    }
}

#[actix_web::test]
async fn what_the_client_says_of_a_file_is_stored() {
    let fixture = fixture().await;
    let parts = [
        ("tags", "[\" a \", \"b\", \"a\"]"),
        (
            "assignments",
            "[{\"type\": \"customers:deal\", \"id\": \"1\", \"label\": \"L\", \"href\": \"/deals/1\", \"more\": 1}]",
        ),
        ("customFields", "{\"size\": 3}"),
        ("cf_color", "red"),
        ("fieldKey", "contract"),
        ("unknown", "ignored"),
    ];

    let id = uploaded(&fixture, &parts, NOTE).await;

    let (_, detail) = fixture.app.get(&fixture.a.token, &format!("{LIBRARY}/{id}")).await;
    let item = &detail["item"];
    assert_eq!(item["tags"], json!(["a", "b"]));
    let assignments =
        json!([{"type": "customers.deal", "id": "1", "label": "L", "href": "/deals/1"}, {"type": "x.y", "id": "r1"}]);
    assert_eq!(item["assignments"], assignments);
    assert_eq!(item["customFields"], json!({"size": 3, "color": "red"}));
    assert_eq!(
        (&item["fieldKey"], &item["entityId"], &item["recordId"]),
        (&json!("contract"), &json!("x.y"), &json!("r1"))
    );
    assert_eq!(item["uploadedBy"], json!(fixture.a.admin));
    // Of "Twelve bytes".
    let digest = item["sha256"].as_str().expect("a digest");
    assert_eq!(digest.len(), 64);
}

#[actix_web::test]
async fn att_27_a_repeated_upload_stores_one_file() {
    let fixture = fixture().await;
    let send = async |boundary: &str, file: Upload<'_>| {
        let request = fixture.app.request(Method::POST, ATTACHMENTS).bearer(&fixture.a.token);
        let kind = format!("multipart/form-data; boundary={boundary}");
        let request = request
            .header("Idempotency-Key", "k1")
            .body(form(boundary, &RECORD, Some(file)), &kind);
        request.send().await
    };

    let first = send("one", NOTE).await;
    let second = send("two", NOTE).await;
    let other = send(
        "three",
        Upload {
            bytes: b"other",
            ..NOTE
        },
    )
    .await;

    assert_eq!(
        (first.status, second.status, other.status),
        (200, 200, 422),
        "{}",
        other.text()
    );
    assert_eq!(second.header("idempotency-replayed").as_deref(), Some("true"));
    assert_eq!(first.json(), second.json());
    assert_eq!(stored(&fixture.app).await, (1, 0, 1, 12));
}

#[actix_web::test]
async fn a_repeated_upload_returns_its_response_when_the_quota_is_nearly_used() {
    let fixture = fixture_with("tenant_quota = \"3MiB\"").await;
    let bytes = vec![b'a'; 2 * 1024 * 1024];
    let file = Upload { bytes: &bytes, ..NOTE };
    let send = async |key: &str| {
        let request = request(&fixture.app, &fixture.a.token, &RECORD, Some(file));
        request.header("Idempotency-Key", key).send().await
    };

    let first = send("k1").await;
    let repeated = send("k1").await;
    let others = [
        send("k2").await,
        upload(&fixture.app, &fixture.a.token, &[], file).await,
    ];

    assert_eq!((first.status, repeated.status), (200, 200), "{}", repeated.text());
    assert_eq!(repeated.header("idempotency-replayed").as_deref(), Some("true"));
    assert_eq!(repeated.json(), first.json());
    for response in others {
        assert_eq!(rejection(&response), rejected(413, "attachment_quota_exceeded"));
    }
    assert_eq!(stored(&fixture.app).await, (1, 0, 1, 2 * 1024 * 1024));
}

/// Returns an archive of a part of 100 KiB and one with this name.
fn archive(last: &str) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, length) in [("xl/worksheets/sheet1.xml", 100 * 1024), (last, 10)] {
        archive.start_file(name, options).expect("a part");
        archive.write_all(&vec![b'a'; length]).expect("written");
    }
    archive.finish().expect("an archive").into_inner()
}

#[actix_web::test]
async fn an_office_document_is_recognized_by_its_last_part() {
    let fixture = fixture().await;
    let token = &fixture.a.token;
    let limit = json!({"entityId": "x.y", "fieldKey": "table", "acceptExtensions": ["xlsx"]});
    assert_eq!(fixture.app.put(token, "/attachments/fields", limit).await.0, 200);
    let (document, other) = (archive("[Content_Types].xml"), archive("readme.txt"));
    let book = |bytes| Upload {
        name: "book.xlsx",
        bytes,
        kind: "application/zip",
    };
    let renamed = Upload {
        name: "book.zip",
        ..book(&document)
    };
    let xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

    for (file, kind) in [
        (book(&document), xlsx),
        (book(&other), "application/zip"),
        (renamed, "application/zip"),
    ] {
        let response = upload(&fixture.app, token, &[], file).await;
        assert_eq!(response.json()["item"]["mimeType"], kind, "{}", response.text());
    }
    let of_field = [("fieldKey", "table")];
    assert_eq!(
        upload(&fixture.app, token, &of_field, book(&document)).await.status,
        200
    );
    let response = upload(&fixture.app, token, &of_field, book(&other)).await;
    assert_eq!(rejection(&response), rejected(403, "attachment_type_not_allowed"));
}

#[actix_web::test]
async fn uploads_beyond_the_places_of_a_tenant_are_rejected() {
    let fixture = fixture_with("per_tenant = 2\nper_principal = 2").await;

    let responses = join_all((0..8).map(|_| upload(&fixture.app, &fixture.a.token, &[], NOTE))).await;

    let busy: Vec<_> = responses.iter().filter(|response| response.status != 200).collect();
    assert!(!busy.is_empty() && busy.len() <= 6, "{} of 8", busy.len());
    for response in busy {
        assert_eq!(rejection(response), rejected(503, "uploads_busy"));
        assert_eq!(response.header("retry-after").as_deref(), Some("1"));
    }
    assert_eq!(
        upload(&fixture.app, &fixture.a.token, &[], NOTE).await.status,
        200,
        "places are free again"
    );
}

#[actix_web::test]
async fn a_caller_without_an_organization_names_one() {
    let fixture = fixture().await;

    let by_root = upload(&fixture.app, &fixture.root, &[], NOTE).await;
    let parts = request(&fixture.app, &fixture.root, &RECORD, Some(NOTE));
    let in_tenant = parts.header("X-Tenant-Id", &fixture.a.id.to_string()).send().await;

    assert_eq!(by_root.status, 400, "{}", by_root.text());
    assert_eq!(rejection(&in_tenant), rejected(400, "organization_required"));
    assert_eq!(stored(&fixture.app).await, (0, 0, 0, 0));
}

#[actix_web::test]
async fn an_upload_and_a_list_cost_a_constant_number_of_statements() {
    let fixture = crate::TwoTenants::inside(crate::builder().through_proxy().build().await).await;
    uploaded(&fixture, &[], NOTE).await;

    let (response, statements) = fixture
        .app
        .count_statements(upload(&fixture.app, &fixture.a.token, &[("tags", "a,b,c")], NOTE))
        .await;
    assert_eq!(response.status, 200);
    assert!(
        statements <= 8 + 3,
        "{statements} statements for an upload, with those of the session and of the transaction"
    );
    let (_, few) = fixture
        .app
        .count_statements(fixture.app.get(&fixture.a.token, LIBRARY))
        .await;
    for _ in 0..5 {
        uploaded(&fixture, &[("tags", "d,e")], NOTE).await;
    }
    let ((_, page), many): ((u16, Value), u64) = fixture
        .app
        .count_statements(fixture.app.get(&fixture.a.token, &format!("{LIBRARY}?pageSize=7")))
        .await;
    assert_eq!(
        (page["total"].clone(), few, many),
        (json!(7), 2 + 2, 3 + 2),
        "statements for a page, with the session and the version: a full one is counted"
    );
}
