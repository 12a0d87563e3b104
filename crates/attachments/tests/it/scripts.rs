//! Types of files that pages load: no file is stored or sent under one of them.

use actix_web::http::Method;
use serde_json::json;

use crate::{NOTE, Upload, fixture, rejected, rejection, stored, upload, uploaded};

/// The JavaScript types of the standard "MIME Sniffing".
const SCRIPTS: [&str; 16] = [
    "application/ecmascript",
    "application/javascript",
    "application/x-ecmascript",
    "application/x-javascript",
    "text/ecmascript",
    "text/javascript",
    "text/javascript1.0",
    "text/javascript1.1",
    "text/javascript1.2",
    "text/javascript1.3",
    "text/javascript1.4",
    "text/javascript1.5",
    "text/jscript",
    "text/livescript",
    "text/x-ecmascript",
    "text/x-javascript",
];

/// A script that is not a text, so that its type follows from its name and the client's word.
const SCRIPT: Upload<'static> = Upload {
    name: "a.bin",
    bytes: b"/*\0*/window.pwn=1",
    kind: "application/javascript",
};

#[actix_web::test]
async fn att_7_scripts_are_rejected_under_every_type_that_browsers_execute() {
    let fixture = fixture().await;
    let others = ["Application/JavaScript", "application/javascript; charset=utf-8"];

    for kind in SCRIPTS.into_iter().chain(others) {
        for bytes in [SCRIPT.bytes, NOTE.bytes] {
            let file = Upload { bytes, kind, ..SCRIPT };
            let response = upload(&fixture.app, &fixture.a.token, &[], file).await;
            assert_eq!(rejection(&response), rejected(400, "active_content"), "{kind}");
        }
    }
    assert_eq!(stored(&fixture.app).await, (0, 0, 0, 0));
}

#[actix_web::test]
async fn the_client_does_not_choose_a_type_that_pages_load() {
    let fixture = fixture().await;
    let binary = "application/octet-stream";

    for (kind, expected) in [
        ("text/css", binary),
        ("text/xsl", binary),
        ("application/atom+xml", binary),
        ("application/mathml+xml", binary),
        ("video/mp4", "video/mp4"),
        ("application/wasm", "application/wasm"),
        ("application/vnd.ms-excel", "application/vnd.ms-excel"),
        (
            "application/vnd.oasis.opendocument.text",
            "application/vnd.oasis.opendocument.text",
        ),
    ] {
        let response = upload(&fixture.app, &fixture.a.token, &[], Upload { kind, ..SCRIPT }).await;
        assert_eq!(
            (response.status, &response.json()["item"]["mimeType"]),
            (200, &json!(expected)),
            "{kind}"
        );
    }
    let style = Upload {
        name: "a.css",
        bytes: b"a { color: red }",
        kind: "text/css",
    };
    let response = upload(&fixture.app, &fixture.a.token, &[], style).await;
    assert_eq!(response.json()["item"]["mimeType"], "text/plain", "{}", response.text());
}

#[actix_web::test]
async fn a_file_that_was_stored_as_a_script_is_not_sent_as_one() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], Upload { kind: "", ..SCRIPT }).await;

    for kind in SCRIPTS.into_iter().chain(["text/html", "image/svg+xml", "text/css"]) {
        let earlier = format!("update attachments_attachments set mime_type = '{kind}' where id = '{id}'");
        assert_eq!(fixture.app.sql(&earlier).await, 1);

        let path = format!("/attachments/file/{id}");
        let sent = fixture
            .app
            .request(Method::GET, &path)
            .bearer(&fixture.a.token)
            .send()
            .await;

        assert_eq!((sent.status, &sent.body[..]), (200, SCRIPT.bytes), "{kind}");
        let header = |name: &str| sent.header(name).unwrap_or_default();
        assert_eq!(header("content-type"), "application/octet-stream", "{kind}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert!(header("content-disposition").starts_with("attachment; "), "{kind}");
    }
}
