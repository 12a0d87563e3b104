//! What the action log says about files and partitions, and what undo restores.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::{LIBRARY, NOTE, PARTITIONS, fixture, id_of, uploaded};

const FIELDS: &str = "/attachments/fields";

#[actix_web::test]
async fn entries_leave_out_hidden_columns_and_undo_keeps_them() {
    let fixture = fixture().await;
    let token = &fixture.a.token;
    let id = uploaded(&fixture, &[("tags", "old"), ("cf_a", "1")], NOTE).await;
    let row = async || {
        let sql = format!("select * from attachments_attachments where id = '{id}'");
        let mut row = fixture.app.rows(&sql).await.remove(0);
        row.as_object_mut().expect("a row").remove("updated_at");
        row
    };
    let before = row().await;

    let body = json!({"tags": ["new"], "fileName": "other.txt", "cf_a": "2"});
    let path = format!("{LIBRARY}/{id}");
    let changed = fixture.app.send(token, Method::PATCH, &path, body).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let after = row().await;

    let actions = format!("/audit_logs/audit-logs/actions?resourceId={id}");
    let entries = fixture.app.read(token, &actions).await;
    let snapshots = ["snapshotBefore", "snapshotAfter"].map(|name| &entries["items"][0][name]);
    assert_eq!(snapshots.map(|one| &one["tags"]), [&json!(["old"]), &json!(["new"])]);
    assert_eq!(entries["items"][1]["snapshotAfter"]["fileName"], "note.txt");
    let text = entries.to_string();
    let value = |column: &str| before[column].as_str().expect("a text").trim_start_matches("\\x");
    for hidden in [
        "storageKey",
        value("storage_key"),
        "sha256",
        value("sha256"),
        "isUtf8",
        value("content"),
    ] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }

    let (status, body) = fixture.app.undo(token, &changed).await;
    assert_eq!((status, row().await), (200, before), "{body}");
    let (status, body) = fixture.app.redo(token, &changed).await;
    assert_eq!((status, row().await), (200, after), "{body}");
}

#[actix_web::test]
async fn the_creation_of_a_partition_with_files_or_fields_is_not_undone() {
    let fixture = fixture().await;
    let token = &fixture.a.token;
    let body = json!({"code": "docs", "title": "Documents"});
    let created = fixture.app.send(token, Method::POST, PARTITIONS, body).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let assert_conflict = async |kind: &str| {
        let (status, body) = fixture.app.undo(token, &created).await;
        assert_eq!(
            (status, &body["code"], &body["fields"]),
            (400, &json!("undo_conflict"), &json!([kind]))
        );
    };

    let file = uploaded(&fixture, &[("partitionCode", "docs")], NOTE).await;
    assert_conflict("attachments.attachment").await;
    let path = format!("{LIBRARY}/{file}");
    assert_eq!(fixture.app.delete(token, &path, Value::Null).await.0, 200);
    let body = json!({"entityId": "x.y", "fieldKey": "photo", "partitionCode": "docs"});
    let (status, field) = fixture.app.put(token, FIELDS, body).await;
    assert_eq!(status, 200, "{field}");
    assert_conflict("attachments.field").await;
    let path = format!("{FIELDS}?id={}", id_of(&field));
    assert_eq!(fixture.app.delete(token, &path, Value::Null).await.0, 200);

    let (status, body) = fixture.app.undo(token, &created).await;
    assert_eq!(status, 200, "{body}");
}
