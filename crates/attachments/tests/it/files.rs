//! The bytes of files.

use actix_web::http::Method;
use backoffice_test_support::TestRequest;
use serde_json::json;
use uuid::Uuid;

use crate::{LIBRARY, NOTE, TwoTenants, Upload, fixture, stored, uploaded};

fn get(fixture: &TwoTenants, id: Uuid) -> TestRequest<'_> {
    let path = format!("/attachments/file/{id}");
    fixture.app.request(Method::GET, &path).bearer(&fixture.a.token)
}

const PDF: Upload<'static> = Upload {
    name: "contract.pdf",
    bytes: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3",
    kind: "application/pdf",
};

#[actix_web::test]
async fn att_14_a_file_is_sent_as_what_it_is_and_nothing_more() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], PDF).await;

    let whole = get(&fixture, id).send().await;

    assert_eq!(whole.status, 200);
    for (name, value) in [
        ("content-type", "application/pdf"),
        (
            "content-disposition",
            "attachment; filename=\"contract.pdf\"; filename*=UTF-8''contract.pdf",
        ),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; sandbox"),
        ("cross-origin-resource-policy", "same-origin"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "private, no-cache"),
        ("vary", "Authorization, Cookie, X-Api-Key"),
        ("accept-ranges", "bytes"),
    ] {
        assert_eq!(whole.header(name).as_deref(), Some(value), "{name}");
    }
    let etag = whole.header("etag").expect("a tag");
    let unchanged = get(&fixture, id).header("If-None-Match", &etag).send().await;
    assert_eq!((unchanged.status, unchanged.text().as_str()), (304, ""));
    assert_eq!(unchanged.header("vary"), whole.header("vary"));
    let failed = get(&fixture, id).header("If-Match", "\"other\"").send().await;
    assert_eq!(failed.status, 412);
    let path = format!("/attachments/file/{id}");
    let head = fixture
        .app
        .request(Method::HEAD, &path)
        .bearer(&fixture.a.token)
        .send()
        .await;
    assert_eq!((head.status, head.text().as_str()), (200, ""));
    for name in ["content-type", "content-disposition", "etag", "last-modified"] {
        assert_eq!(head.header(name), whole.header(name), "{name}");
    }
    let by_query = fixture.app.request(Method::GET, &format!("/attachments/file?id={id}"));
    assert_eq!(by_query.bearer(&fixture.a.token).send().await.status, 200);
    for path in ["/attachments/file", "/attachments/file/x"] {
        let response = fixture
            .app
            .request(Method::GET, path)
            .bearer(&fixture.a.token)
            .send()
            .await;
        assert_eq!(response.status, 400, "{path}");
    }
}

#[actix_web::test]
async fn att_15_parts_of_a_file() {
    let fixture = fixture().await;
    let bytes: Vec<u8> = (0..1000_u32)
        .map(|number| b'a' + u8::try_from(number % 26).expect("small"))
        .collect();
    let id = uploaded(&fixture, &[], Upload { bytes: &bytes, ..NOTE }).await;

    for (range, status, part) in [
        ("bytes=0-99", 206, Some(0..100)),
        ("bytes=-10", 206, Some(990..1000)),
        ("bytes=990-5000", 206, Some(990..1000)),
        ("bytes=1000-", 416, None),
        ("bytes=0-1,5-6", 200, Some(0..1000)),
    ] {
        let response = get(&fixture, id).header("Range", range).send().await;
        assert_eq!(response.status, status, "{range}");
        match part {
            Some(part) => assert_eq!(response.text().as_bytes(), &bytes[part], "{range}"),
            None => assert_eq!(response.header("content-range").as_deref(), Some("bytes */1000")),
        }
    }
    let other = get(&fixture, id)
        .header("Range", "bytes=0-1")
        .header("If-Range", "\"other\"");
    assert_eq!(other.send().await.status, 200, "of another version");
}

#[actix_web::test]
async fn att_16_an_image_is_shown_in_place_unless_it_is_to_be_saved() {
    let fixture = fixture().await;
    let file = Upload {
        name: "zdjęcie \\\"1\\\".png",
        bytes: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0",
        kind: "image/png",
    };
    let id = uploaded(&fixture, &[], file).await;

    let shown = get(&fixture, id).send().await;
    let path = format!("/attachments/file/{id}?download=1");
    let saved = fixture
        .app
        .request(Method::GET, &path)
        .bearer(&fixture.a.token)
        .send()
        .await;

    let disposition = shown.header("content-disposition").expect("a disposition");
    assert!(disposition.starts_with("inline; "), "{disposition}");
    let expected = "attachment; filename=\"zdj_cie _1_.png\"; filename*=UTF-8''zdj%C4%99cie%20%221%22.png";
    assert_eq!(saved.header("content-disposition").as_deref(), Some(expected));
}

#[actix_web::test]
async fn texts_are_sent_with_their_encoding() {
    let fixture = fixture().await;
    let utf8 = uploaded(
        &fixture,
        &[],
        Upload {
            bytes: "ąę".as_bytes(),
            ..NOTE
        },
    )
    .await;
    let other = uploaded(
        &fixture,
        &[],
        Upload {
            bytes: b"\xb1\xea\x80\x81",
            ..NOTE
        },
    )
    .await;

    let kind = async |id| get(&fixture, id).send().await.header("content-type");

    assert_eq!(kind(utf8).await.as_deref(), Some("text/plain; charset=utf-8"));
    assert_eq!(kind(other).await.as_deref(), Some("text/plain"));
}

#[actix_web::test]
async fn a_file_whose_bytes_are_missing_is_not_available() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;
    std::fs::remove_dir_all(fixture.app.data_dir().join("attachments/privateAttachments")).expect("removed");

    let response = get(&fixture, id).send().await;

    assert_eq!(
        (response.status, response.json()),
        (404, json!({"error": "File not available"}))
    );
}

#[actix_web::test]
async fn att_26_methods_that_a_path_does_not_have_are_not_found() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;

    for (method, path) in [
        (Method::PATCH, format!("/attachments/file/{id}")),
        (Method::PATCH, LIBRARY.to_owned()),
        (Method::PUT, format!("{LIBRARY}/{id}")),
        (Method::HEAD, "/attachments/transfer".to_owned()),
    ] {
        let response = fixture
            .app
            .request_outside(method.clone(), &format!("/api{path}"))
            .bearer(&fixture.a.token);
        assert_eq!(response.send().await.status, 404, "{method} {path}");
    }
    let visitor = fixture
        .app
        .request(Method::HEAD, &format!("/attachments/file/{id}"))
        .send()
        .await;
    assert_eq!((visitor.status, visitor.text().as_str()), (401, ""));
}

#[actix_web::test]
async fn att_21_a_deleted_file_is_gone_with_its_bytes() {
    let fixture = fixture().await;
    for path in [LIBRARY.to_owned() + "/{id}", "/attachments?id={id}".to_owned()] {
        let id = uploaded(&fixture, &[("tags", "a")], NOTE).await;
        assert_eq!(stored(&fixture.app).await, (1, 0, 1, 12));
        let path = path.replace("{id}", &id.to_string());

        let deleted = fixture
            .app
            .delete(&fixture.a.token, &path, serde_json::Value::Null)
            .await;

        assert_eq!(deleted, (200, json!({"ok": true})));
        assert_eq!(stored(&fixture.app).await, (0, 0, 0, 0));
        assert_eq!(get(&fixture, id).send().await.status, 404);
        let again = fixture
            .app
            .delete(&fixture.a.token, &path, serde_json::Value::Null)
            .await;
        assert_eq!(again, (404, json!({"error": "Attachment not found"})));
    }
    let left = fixture
        .app
        .rows("select 1 as one from attachments_staged union all select 1 from attachments_tags")
        .await;
    assert_eq!(left.len(), 0);
}
