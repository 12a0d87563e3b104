//! Constraints of the files of fields, and bulk deletion.

use backoffice_test_support::details;
use futures_util::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{LIBRARY, NOTE, TwoTenants, Upload, builder, fixture, rejected, rejection, stored, upload, uploaded};

const FIELDS: &str = "/attachments/fields";

async fn set(fixture: &TwoTenants, body: Value) -> Uuid {
    let (status, body) = fixture.app.put(&fixture.a.token, FIELDS, body).await;
    assert_eq!(status, 200, "{body}");
    backoffice_test_accounts::id_of(&body)
}

/// The first bytes of an image, followed by zeros.
fn png(length: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0".to_vec();
    bytes.resize(length, 0);
    bytes
}

#[actix_web::test]
async fn att_8_a_field_accepts_what_its_constraints_say() {
    let fixture = fixture().await;
    let body = json!({"entityId": "x:y", "fieldKey": "photo", "acceptExtensions": [".PNG"], "maxBytes": 1_048_576, "maxCount": 2});
    let id = set(&fixture, body.clone()).await;
    assert_eq!(set(&fixture, body).await, id, "replaces");
    let parts = [("fieldKey", "photo")];
    let (small, large) = (png(100), png(2 * 1_048_576));
    let photo = |bytes| Upload {
        name: "a.png",
        bytes,
        kind: "image/png",
    };
    let send = |file| upload(&fixture.app, &fixture.a.token, &parts, file);

    for (file, code) in [
        (
            Upload {
                name: "a.pdf",
                bytes: b"%PDF-1.7",
                kind: "",
            },
            "attachment_type_not_allowed",
        ),
        (
            Upload {
                name: "a.png",
                bytes: b"%PDF-1.7",
                kind: "",
            },
            "attachment_type_not_allowed",
        ),
        (photo(&large), "attachment_too_large_for_field"),
    ] {
        assert_eq!(rejection(&send(file).await), rejected(403, code));
    }
    let other = upload(&fixture.app, &fixture.a.token, &[("fieldKey", "other")], photo(&small)).await;
    assert_eq!(rejection(&other), rejected(400, "unknown_field_key"));
    assert_eq!(send(photo(&small)).await.status, 200);
    let both = join_all([send(photo(&small)), send(photo(&small)), send(photo(&small))]).await;
    let accepted = both.iter().filter(|response| response.status == 200).count();
    assert_eq!(accepted, 1, "the second of two");
    for response in both.iter().filter(|response| response.status != 200) {
        assert_eq!(rejection(response), rejected(403, "attachment_limit_reached"));
    }
    assert_eq!(stored(&fixture.app).await, (2, 0, 2, 200));
    assert_eq!(
        upload(&fixture.app, &fixture.a.token, &[], NOTE).await.status,
        200,
        "without a field"
    );
}

#[actix_web::test]
async fn att_9_constraints_of_all_fields_hold_without_one() {
    let fixture = fixture().await;
    set(
        &fixture,
        json!({"entityId": "x.y", "fieldKey": "*", "maxBytes": 1024, "maxCount": 1}),
    )
    .await;
    let large = vec![b'a'; 2048];

    let response = upload(&fixture.app, &fixture.a.token, &[], Upload { bytes: &large, ..NOTE }).await;

    assert_eq!(rejection(&response), rejected(403, "attachment_too_large_for_field"));
    let with_key = upload(&fixture.app, &fixture.a.token, &[("fieldKey", "any")], NOTE).await;
    assert_eq!(with_key.status, 200, "no other field has constraints");
    let second = upload(&fixture.app, &fixture.a.token, &[], NOTE).await;
    assert_eq!(rejection(&second), rejected(403, "attachment_limit_reached"));
    assert_eq!(
        upload(&fixture.app, &fixture.b.token, &[], Upload { bytes: &large, ..NOTE })
            .await
            .status,
        200,
        "of another tenant"
    );
}

#[actix_web::test]
async fn a_move_keeps_the_limits_of_its_target() {
    let fixture = fixture().await;
    let first = uploaded(&fixture, &[("fieldKey", "photo")], NOTE).await;
    let second = uploaded(&fixture, &[("fieldKey", "photo")], NOTE).await;
    set(&fixture, json!({"entityId": "x.y", "fieldKey": "photo", "maxCount": 1})).await;
    let transfer = async |ids: &[Uuid]| {
        let body = json!({"entityId": "x.y", "attachmentIds": ids, "toRecordId": "r2"});
        fixture.app.post(&fixture.a.token, "/attachments/transfer", body).await
    };

    let (status, body) = transfer(&[first, second]).await;

    assert_eq!((status, &body["code"]), (400, &json!("attachment_limit_reached")));
    assert_eq!(transfer(&[first]).await.0, 200);
    assert_eq!(transfer(&[second]).await.0, 400);
}

#[actix_web::test]
async fn a_field_decides_about_the_partition() {
    let fixture = fixture().await;
    let (_, employee) = fixture.user("employee@alpha.test", &["employee"]).await;
    set(
        &fixture,
        json!({"entityId": "x.y", "fieldKey": "photo", "partitionCode": "PRODUCTSmedia"}),
    )
    .await;

    let response = upload(&fixture.app, &employee, &[("fieldKey", "photo")], NOTE).await;

    assert_eq!(
        response.json()["item"]["partitionCode"],
        "productsMedia",
        "{}",
        response.text()
    );
    let (_, list) = fixture
        .app
        .get(&fixture.a.token, &format!("{FIELDS}?entityId=x:y"))
        .await;
    let item = &list["items"][0];
    let expected = json!({"id": item["id"], "entityId": "x.y", "fieldKey": "photo", "acceptExtensions": null, "maxBytes": null,
        "maxCount": null, "partitionCode": "productsMedia", "source": "tenant"});
    assert_eq!(*item, expected);
    let path = format!("{FIELDS}?id={}", item["id"].as_str().expect("an id"));
    assert_eq!(fixture.app.delete(&fixture.b.token, &path, Value::Null).await.0, 404);
    assert_eq!(
        fixture.app.delete(&fixture.a.token, &path, Value::Null).await,
        (200, json!({"ok": true}))
    );
    assert_eq!(fixture.app.delete(&fixture.a.token, &path, Value::Null).await.0, 404);
    assert_eq!(
        upload(&fixture.app, &employee, &[("fieldKey", "photo")], NOTE)
            .await
            .json()["item"]["partitionCode"],
        "privateAttachments"
    );
    for body in [
        json!({"entityId": "x.y", "fieldKey": ""}),
        json!({"entityId": "x.y", "fieldKey": "a", "acceptExtensions": []}),
        json!({"entityId": "x.y", "fieldKey": "a", "acceptExtensions": ["a b"]}),
        json!({"entityId": "x.y", "fieldKey": "a", "maxBytes": 0}),
        json!({"entityId": "x.y", "fieldKey": "a", "maxCount": -1}),
        json!({"entityId": "x.y", "fieldKey": "a", "partitionCode": "nowhere"}),
        json!({"fieldKey": "a"}),
    ] {
        assert_eq!(
            fixture.app.put(&fixture.a.token, FIELDS, body.clone()).await.0,
            400,
            "{body}"
        );
    }
    assert_eq!(
        fixture
            .app
            .put(&employee, FIELDS, json!({"entityId": "x.y", "fieldKey": "a"}))
            .await
            .0,
        403
    );
}

#[actix_web::test]
async fn constraints_are_listed_by_their_ids() {
    let fixture = fixture().await;
    let one = set(&fixture, json!({"entityId": "x.y", "fieldKey": "one"})).await;
    let two = set(&fixture, json!({"entityId": "x.y", "fieldKey": "two"})).await;
    let other = set(&fixture, json!({"entityId": "a.b", "fieldKey": "one"})).await;
    let unknown = Uuid::from_u128(7);

    for (query, expected) in [
        (String::new(), vec![other, one, two]),
        (format!("id={two}"), vec![two]),
        (format!("id={unknown}"), vec![]),
        (format!("ids={two},{unknown},{other}"), vec![other, two]),
        (format!("ids={one},{other}&entityId=x.y"), vec![one]),
        (format!("id={one}&ids={two}"), vec![]),
        ("ids=".to_owned(), vec![]),
    ] {
        let list = fixture.app.read(&fixture.a.token, &format!("{FIELDS}?{query}")).await;
        assert_eq!(crate::ids(&list), expected, "{query}");
    }
    let foreign = fixture.app.read(&fixture.b.token, &format!("{FIELDS}?id={one}")).await;
    assert_eq!(crate::ids(&foreign), [] as [Uuid; 0]);
    for (query, rejected) in [
        ("id=x", vec!["id"]),
        ("id=", vec!["id"]),
        ("ids=x", vec!["ids"]),
        ("ids=x&entityId=", vec!["entityId", "ids"]),
        ("entityId=&tenantId=zz", vec!["tenantId", "entityId"]),
    ] {
        let (status, body) = fixture.app.get(&fixture.a.token, &format!("{FIELDS}?{query}")).await;
        let paths: Vec<&str> = details(&body).into_iter().map(|(path, _)| path).collect();
        assert_eq!((status, paths), (400, rejected), "{query}");
    }
}

#[actix_web::test]
async fn att_32_many_files_are_deleted_in_the_background() {
    let fixture = TwoTenants::inside(builder().build().await).await;
    let mut ids = Vec::new();
    for _ in 0..30 {
        ids.push(uploaded(&fixture, &[("tags", "a")], NOTE).await);
    }
    let kept = uploaded(&fixture, &[], NOTE).await;
    let foreign = upload(&fixture.app, &fixture.b.token, &[], NOTE).await;
    let foreign = backoffice_test_accounts::id_of(&foreign.json()["item"]);
    ids.push(foreign);
    let path = format!("{LIBRARY}/bulk-delete");

    fixture.app.advance(backoffice_test_support::Duration::SECOND);
    let unconfirmed = fixture
        .app
        .post(&fixture.a.token, &path, json!({"ids": ids, "confirm": false}))
        .await;
    assert_eq!(unconfirmed.0, 400);
    let (status, body) = fixture
        .app
        .post(&fixture.a.token, &path, json!({"ids": [], "confirm": false}))
        .await;
    let expected = vec![("ids", "out_of_range"), ("confirm", "invalid_value")];
    assert_eq!((status, details(&body)), (400, expected));
    let (status, started) = fixture
        .app
        .post(&fixture.a.token, &path, json!({"ids": ids, "confirm": true}))
        .await;
    assert_eq!(status, 201, "{started}");
    fixture.app.run_jobs().await;

    let job = started["progressJobId"].as_str().expect("a job");
    let (_, job) = fixture
        .app
        .get(&fixture.a.token, &format!("/progress/jobs/{job}"))
        .await;
    assert_eq!(
        (&job["status"], &job["succeededCount"]),
        (&json!("completed_with_errors"), &json!(30)),
        "{job}"
    );
    let (_, page) = fixture.app.get(&fixture.a.token, LIBRARY).await;
    assert_eq!((crate::ids(&page), &page["availableTags"]), (vec![kept], &json!([])));
    for _ in 0..200 {
        if stored(&fixture.app).await.0 == 2 {
            break;
        }
        actix_web::rt::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(stored(&fixture.app).await, (2, 0, 2, 24));
    let entries = fixture.app.rows("select undo_secret is null as final from audit_action_logs where command_id = 'attachments.attachment.delete'").await;
    assert_eq!(
        (entries.len(), entries.iter().all(|row| row["final"] == true)),
        (30, true)
    );
}
