//! What the action log says about files and partitions, and what undo restores.

use actix_web::http::Method;
use backoffice_test_support::TestResponse;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::s3_server::S3Server;
use crate::{LIBRARY, NOTE, PARTITIONS, TwoTenants, fixture, fixture_with, id_of, uploaded};

const FIELDS: &str = "/attachments/fields";
const ACTIONS: &str = "/audit_logs/audit-logs/actions";

const UP: &str = include_str!("../../migrations/2026-11-27-170000-0700_name_settings_in_the_log/up.sql");
const DOWN: &str = include_str!("../../migrations/2026-11-27-170000-0700_name_settings_in_the_log/down.sql");

/// Returns the row of a file, without the time of its last change.
async fn row_of(fixture: &TwoTenants, id: Uuid) -> Value {
    let sql = format!("select * from attachments_attachments where id = '{id}'");
    let mut row = fixture.app.rows(&sql).await.remove(0);
    row.as_object_mut().expect("a row").remove("updated_at");
    row
}

#[actix_web::test]
async fn entries_leave_out_hidden_columns_and_undo_keeps_them() {
    let fixture = fixture().await;
    let token = &fixture.a.token;
    let id = uploaded(&fixture, &[("tags", "old"), ("cf_a", "1")], NOTE).await;
    let row = async || row_of(&fixture, id).await;
    let before = row().await;

    let body = json!({"tags": ["new"], "fileName": "other.txt", "cf_a": "2"});
    let path = format!("{LIBRARY}/{id}");
    let changed = fixture.app.send(token, Method::PATCH, &path, body).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let after = row().await;

    let actions = format!("{ACTIONS}?resourceId={id}");
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
async fn entries_of_earlier_releases_with_hidden_columns_are_undone_and_redone() {
    let fixture = fixture().await;
    let token = &fixture.a.token;
    let id = uploaded(&fixture, &[("tags", "old")], NOTE).await;
    let before = row_of(&fixture, id).await;
    let path = format!("{LIBRARY}/{id}");
    let changed = fixture
        .app
        .send(token, Method::PATCH, &path, json!({"tags": ["new"]}))
        .await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let after = row_of(&fixture, id).await;
    let hidden = r#"'{"storageKey": "former", "sha256": [1, 2], "isUtf8": false}'"#;
    let earlier = format!(
        "update audit_action_logs set snapshot_before = snapshot_before || {hidden}, snapshot_after = snapshot_after || {hidden} where id = '{}'",
        changed.undoable_write().log_id
    );
    assert_eq!(fixture.app.sql(&earlier).await, 1);

    let (status, body) = fixture.app.undo(token, &changed).await;
    assert_eq!((status, row_of(&fixture, id).await), (200, before), "{body}");
    let (status, body) = fixture.app.redo(token, &changed).await;
    assert_eq!((status, row_of(&fixture, id).await), (200, after), "{body}");
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

/// A partition that was created in a folder, and whose new files are in a bucket since.
struct Moved {
    fixture: TwoTenants,
    created: TestResponse,
    moved: TestResponse,
    /// Its folder exists as long as it does.
    _server: S3Server,
}

impl Moved {
    async fn new() -> Self {
        let server = S3Server::start().await;
        let fixture = fixture_with(S3Server::section()).await;
        let body = json!({"code": "docs", "title": "Documents"});
        let created = fixture.app.send(&fixture.a.token, Method::POST, PARTITIONS, body).await;
        assert_eq!(created.status, 201, "{}", created.text());
        let id = id_of(&created.json()["item"]);
        let body = json!({"id": id, "storageDriver": "s3", "configJson": server.config()});
        let moved = fixture.app.send(&fixture.a.token, Method::PUT, PARTITIONS, body).await;
        assert_eq!(moved.status, 200, "{}", moved.text());
        Self {
            fixture,
            created,
            moved,
            _server: server,
        }
    }

    /// Returns what the log says about partitions.
    async fn entries(&self) -> Vec<Value> {
        let sql = "select id, snapshot_before, snapshot_after, changes, changed_fields from audit_action_logs
            where resource_kind = 'attachments.partition' order by id";
        self.fixture.app.rows(sql).await
    }

    /// Undoes both changes, the last one first, and redoes them.
    async fn undo_and_redo(&self) {
        let (app, token) = (&self.fixture.app, &self.fixture.a.token);
        for write in [&self.moved, &self.created] {
            let (status, body) = app.undo(token, write).await;
            assert_eq!(status, 200, "{body}");
        }
        assert_eq!(app.count("attachments_partitions where code = 'docs'").await, 0);
        for write in [&self.created, &self.moved] {
            let (status, body) = app.redo(token, write).await;
            assert_eq!(status, 200, "{body}");
        }
        let moved =
            "attachments_partitions where code = 'docs' and storage_driver = 's3' and config ->> 'bucket' = 'files'";
        assert_eq!(app.count(moved).await, 1);
    }

    /// Runs a script in a transaction of a role to which row-level security applies, as it does to the owner of the schema.
    async fn run(&self, script: &str) {
        let rights = "grant update on audit_action_logs to backoffice_app; set local role backoffice_app";
        self.fixture
            .app
            .sql(&format!("begin; {rights}; {script}; commit"))
            .await;
    }
}

/// Removes the organization from snapshots, which those of earlier releases do not have.
async fn remove_organizations(fixture: &TwoTenants) {
    let sql = "update audit_action_logs
        set snapshot_before = snapshot_before - 'organizationId', snapshot_after = snapshot_after - 'organizationId'
        where resource_kind in ('attachments.partition', 'attachments.field')";
    assert!(fixture.app.sql(sql).await > 0);
}

#[actix_web::test]
async fn entries_name_the_settings_of_a_partition_as_the_api_does() {
    let docs = Moved::new().await;
    let item = docs.moved.json()["item"].clone();
    let id = id_of(&item);

    let path = format!("{ACTIONS}?resourceId={id}&fieldName=configJson");
    let entries = docs.fixture.app.read(&docs.fixture.a.token, &path).await;

    assert_eq!(entries["items"].as_array().map(Vec::len), Some(1), "{entries}");
    let entry = &entries["items"][0];
    let settings = &item["configJson"];
    assert_eq!(entry["changes"]["configJson"], json!({"from": null, "to": settings}));
    for (snapshot, settings) in [("snapshotBefore", &Value::Null), ("snapshotAfter", settings)] {
        let snapshot = entry[snapshot].as_object().expect("a snapshot");
        assert_eq!(snapshot.get("configJson"), Some(settings), "{snapshot:?}");
        assert_eq!(snapshot.get("organizationId"), Some(&Value::Null), "{snapshot:?}");
        assert_eq!(snapshot.get("config"), None, "{snapshot:?}");
    }
    assert_eq!(entry["changes"].get("organizationId"), None, "{entry}");
}

#[actix_web::test]
async fn entries_of_earlier_releases_get_the_name_of_the_settings_and_are_undone() {
    let docs = Moved::new().await;
    let present = docs.entries().await;

    docs.run(DOWN).await;

    let earlier = docs.entries().await;
    let value = |entry: &Value, column: &str, field: &str| entry[column].get(field).cloned();
    for (entry, before) in present.iter().zip(&earlier) {
        for column in ["snapshot_before", "snapshot_after", "changes"] {
            let renamed = value(entry, column, "configJson");
            assert_eq!(value(before, column, "config"), renamed, "{before}");
            assert_eq!(value(before, column, "configJson"), None, "{before}");
        }
    }
    let names = earlier[1]["changed_fields"].as_array().expect("names");
    assert!(names.contains(&json!("config")), "{names:?}");

    for _ in 0..2 {
        docs.run(UP).await;
        assert_eq!(docs.entries().await, present);
    }
    remove_organizations(&docs.fixture).await;
    docs.undo_and_redo().await;
}

#[actix_web::test]
async fn entries_that_an_earlier_release_writes_after_the_migration_are_undone_and_redone() {
    let docs = Moved::new().await;
    docs.run(DOWN).await;
    remove_organizations(&docs.fixture).await;

    docs.undo_and_redo().await;

    let written = docs.entries().await;
    // The deletion was redone last.
    let deleted = &written.last().expect("an entry")["snapshot_before"];
    assert!(deleted.get("configJson").is_some(), "{deleted}");
    assert_eq!(deleted.get("config"), None, "{deleted}");
}

#[actix_web::test]
async fn new_credentials_that_an_earlier_release_has_logged_are_not_undone() {
    let fixture = fixture().await;
    let token = &fixture.a.token;
    let body = json!({"code": "docs", "title": "Documents"});
    let (_, created) = fixture.app.post(token, PARTITIONS, body).await;
    let body = json!({"id": id_of(&created["item"]), "title": "Renamed"});
    let changed = fixture.app.send(token, Method::PUT, PARTITIONS, body).await;
    // Entries about new credentials had tokens.
    let earlier = format!(
        "update audit_action_logs set snapshot_before = jsonb_set(snapshot_before, '{{credentialsVersion}}', '7') where id = '{}'",
        changed.undoable_write().log_id
    );
    assert_eq!(fixture.app.sql(&earlier).await, 1);

    let (status, body) = fixture.app.undo(token, &changed).await;

    assert_eq!((status, &body["code"]), (409, &json!("credentials_not_kept")), "{body}");
    let kept = "attachments_partitions where title = 'Renamed' and credentials_version = 0";
    assert_eq!(fixture.app.count(kept).await, 1);
}

#[actix_web::test]
async fn snapshots_of_constraints_have_all_common_fields_and_earlier_ones_are_undone() {
    let fixture = fixture().await;
    let token = &fixture.a.token;
    let body = json!({"entityId": "x.y", "fieldKey": "photo", "maxBytes": 5});
    let set = fixture.app.send(token, Method::PUT, FIELDS, body).await;
    assert_eq!(set.status, 200, "{}", set.text());

    let path = format!("{ACTIONS}?resourceKind=attachments.field");
    let entries = fixture.app.read(token, &path).await;

    let entry = &entries["items"][0];
    let snapshot = entry["snapshotAfter"].as_object().expect("a snapshot");
    assert_eq!(snapshot.get("organizationId"), Some(&Value::Null), "{entry}");
    assert_eq!(entry["changes"].get("organizationId"), None, "{entry}");
    remove_organizations(&fixture).await;
    let (status, body) = fixture.app.undo(token, &set).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.app.count("attachments_fields").await, 0);
}
