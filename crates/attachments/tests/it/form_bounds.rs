//! Bounds and the form of the parts of an upload.

use actix_web::http::Method;

use crate::{
    ATTACHMENTS, NOTE, RECORD, Upload, fixture, fixture_with, form, rejected, rejection, request, stored, upload,
};

#[actix_web::test]
async fn an_upload_has_at_most_64_parts() {
    let fixture = fixture().await;
    let send = async |further: usize| {
        let parts: Vec<_> = RECORD
            .into_iter()
            .chain((0..further).map(|_| ("unknown", "x")))
            .collect();
        request(&fixture.app, &fixture.a.token, &parts, Some(NOTE)).send().await
    };

    let (most, more) = (send(61).await, send(62).await);

    assert_eq!(most.status, 200, "{}", most.text());
    assert_eq!(rejection(&more), rejected(400, "too_many_parts"));
    assert_eq!(stored(&fixture.app).await, (1, 0, 1, 12));
}

#[actix_web::test]
async fn the_parts_of_an_upload_besides_its_file_are_bounded() {
    let fixture = fixture().await;
    let text = "x".repeat(64 * 1024 + 1);
    let send = async |parts: &[(&str, &str)]| upload(&fixture.app, &fixture.a.token, parts, NOTE).await;

    let longest = send(&[("unknown", &text[1..])]).await;
    let longer = send(&[("unknown", &text)]).await;
    let all = send(&[("unknown", &text[1..]); 16]).await;

    assert_eq!(longest.status, 200, "{}", longest.text());
    assert_eq!(rejection(&longer), rejected(400, "field_too_large"));
    assert_eq!(
        rejection(&all),
        rejected(400, "field_too_large"),
        "with the record, more than 1 MiB"
    );
    assert_eq!(stored(&fixture.app).await, (1, 0, 1, 12));
}

#[actix_web::test]
async fn a_file_beyond_the_quota_is_rejected_before_it_has_arrived() {
    let fixture = fixture_with("tenant_quota = \"1MiB\"").await;
    let bytes = vec![b'a'; 1024 * 1024 + 1];
    // A program is rejected once it has arrived.
    let program = |bytes| Upload {
        name: "a.exe",
        bytes,
        ..NOTE
    };

    let larger = upload(&fixture.app, &fixture.a.token, &[], program(&bytes)).await;
    let fitting = upload(&fixture.app, &fixture.a.token, &[], program(&bytes[1..])).await;

    assert_eq!(rejection(&larger), rejected(413, "attachment_quota_exceeded"));
    assert_eq!(rejection(&fitting), rejected(400, "dangerous_file"));
    assert_eq!(stored(&fixture.app).await, (0, 0, 0, 0));
}

#[actix_web::test]
async fn a_malformed_body_is_rejected_in_plain_words() {
    let fixture = fixture().await;
    let kind = "multipart/form-data; boundary=x";
    let whole = String::from_utf8(form("x", &RECORD, Some(NOTE))).expect("a text");
    let with = |part: &str, other: &str| whole.replace(part, other);

    for (body, kind, reason) in [
        (
            whole.clone(),
            "multipart/form-data",
            "the Content-Type must name a boundary",
        ),
        (
            with("--x", "--y"),
            "multipart/form-data; boundary=z",
            "it must end with the boundary",
        ),
        (
            whole[..whole.len() - 8].to_owned(),
            kind,
            "it must end with the boundary",
        ),
        (
            with("Content-Type: text/plain", "Content-Length: twelve"),
            kind,
            "the Content-Length of a part must be its length",
        ),
        (
            with("form-data; name=\"entityId\"", "attachment"),
            kind,
            "each part must have a Content-Disposition",
        ),
        (
            with("form-data; name=\"entityId\"", "form-data"),
            kind,
            "each part must have a Content-Disposition",
        ),
        (
            with("text/plain", "multipart/mixed; boundary=y"),
            kind,
            "a part must not consist of parts",
        ),
        (
            with("Content-Type: text/plain", "Content Type"),
            kind,
            "the headers of a part are not valid",
        ),
    ] {
        let sent = fixture.app.request(Method::POST, ATTACHMENTS).bearer(&fixture.a.token);
        let response = sent.body(body, kind).send().await;

        assert_eq!(rejection(&response), rejected(400, "invalid_multipart"), "{reason}");
        let text = response.json()["error"].as_str().expect("a text").to_owned();
        let rest = text.strip_prefix("the body is not valid multipart/form-data: ");
        assert!(rest.is_some_and(|rest| rest.contains(reason)), "{reason}: {text}");
        for jargon in ["stream", "field", "parsing", "Error", "Payload"] {
            assert!(!text.contains(jargon), "{text}");
        }
    }
    assert_eq!(stored(&fixture.app).await, (0, 0, 0, 0));
}
