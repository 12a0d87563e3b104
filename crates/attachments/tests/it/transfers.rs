//! Moves of files to other records: repeated ones, ones at the same time, and what undo returns.

use actix_web::http::Method;
use backoffice_test_support::{DatabaseSnapshot, TestResponse, details};
use futures_util::future::join;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{LIBRARY, NOTE, TwoTenants, builder, deal, fixture, id_of, ids, of_record, request, uploaded};

const TRANSFER: &str = "/attachments/transfer";

async fn transfer(fixture: &TwoTenants, token: &str, body: &Value) -> TestResponse {
    let request = fixture.app.request(Method::POST, TRANSFER).bearer(token);
    request.json(body).send().await
}

/// Uploads a file to a deal as the administrator of Alpha.
async fn attached(fixture: &TwoTenants, deal: Uuid) -> Uuid {
    let record = deal.to_string();
    let parts = [("entityId", "customers.deal"), ("recordId", record.as_str())];
    let response = request(&fixture.app, &fixture.a.token, &parts, Some(NOTE)).send().await;
    assert_eq!(response.status, 200, "{}", response.text());
    id_of(&response.json()["item"])
}

async fn snapshot(fixture: &TwoTenants) -> DatabaseSnapshot {
    fixture.app.snapshot_without(&["audit_access_logs"], &[]).await
}

/// Checks that an undo or redo is a conflict in the record of the file, and that it changes nothing.
async fn assert_conflict(fixture: &TwoTenants, before: &DatabaseSnapshot, response: (u16, Value)) {
    let (status, body) = response;
    assert_eq!(
        (status, &body["code"], &body["fields"]),
        (400, &json!("undo_conflict"), &json!(["recordId"]))
    );
    assert_eq!(snapshot(fixture).await, *before);
}

#[actix_web::test]
async fn a_repeated_move_from_a_record_returns_the_stored_response() {
    let fixture = fixture().await;
    let file = uploaded(&fixture, &[], NOTE).await;
    let send = async |to: &str| {
        let body = json!({"entityId": "x.y", "attachmentIds": [file], "toRecordId": to, "fromRecordId": "r1"});
        let request = fixture.app.request(Method::POST, TRANSFER).bearer(&fixture.a.token);
        request.header("Idempotency-Key", "move-1").json(&body).send().await
    };

    let (first, repeated, other) = (send("r2").await, send("r2").await, send("r3").await);

    let moved = json!({"ok": true, "updated": 1});
    assert_eq!((first.status, first.json()), (200, moved.clone()), "{}", first.text());
    assert_eq!((repeated.status, repeated.json()), (200, moved));
    assert_eq!(repeated.header("idempotency-replayed").as_deref(), Some("true"));
    assert_eq!(other.status, 422);
    let events = "core_outbox_events where name = 'attachments.attachment.transferred'";
    assert_eq!(fixture.app.count(events).await, 1);
}

#[actix_web::test]
async fn a_move_from_null_is_rejected_and_moves_nothing() {
    let fixture = fixture().await;
    let file = uploaded(&fixture, &[], NOTE).await;
    let body = json!({"entityId": "x.y", "attachmentIds": [file], "toRecordId": "r2", "fromRecordId": null});

    let response = transfer(&fixture, &fixture.a.token, &body).await;

    assert_eq!(
        (response.status, details(&response.json())),
        (400, vec![("fromRecordId", "required")])
    );
    let (_, page) = fixture.app.get(&fixture.a.token, &of_record()).await;
    assert_eq!(ids(&page), [file]);
}

#[actix_web::test]
async fn a_move_to_the_record_of_the_file_keeps_its_assignment() {
    let fixture = fixture().await;
    let assignments = json!([{"type": "x.y", "id": "r1", "label": "One", "href": "/one"}]);
    let file = uploaded(&fixture, &[("assignments", &assignments.to_string())], NOTE).await;
    let body = json!({"entityId": "x.y", "attachmentIds": [file], "toRecordId": "r1"});

    let response = transfer(&fixture, &fixture.a.token, &body).await;

    assert_eq!(
        (response.status, response.json()),
        (200, json!({"ok": true, "updated": 1}))
    );
    let (_, detail) = fixture.app.get(&fixture.a.token, &format!("{LIBRARY}/{file}")).await;
    assert_eq!(
        (&detail["item"]["recordId"], &detail["item"]["assignments"]),
        (&json!("r1"), &assignments)
    );
}

#[actix_web::test]
async fn a_file_that_was_moved_away_meanwhile_stays_there() {
    let fixture = TwoTenants::inside(builder().pool_size(8).build().await).await;
    let file = uploaded(&fixture, &[], NOTE).await;
    let body = json!({"entityId": "x.y", "attachmentIds": [file], "toRecordId": "r2", "fromRecordId": "r1"});
    let away = format!("begin; update attachments_attachments set record_id = 'r9' where id = '{file}'");
    assert_eq!(fixture.app.sql(&away).await, 1);

    let moved_away = async {
        let waiting = "select pid from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))";
        while fixture.app.rows(waiting).await.is_empty() {}
        fixture.app.sql("commit").await
    };
    let (response, _) = join(transfer(&fixture, &fixture.a.token, &body), moved_away).await;

    assert_eq!(
        (response.status, response.json()),
        (404, json!({"error": "Attachment not found"}))
    );
    let records = fixture.app.rows("select record_id from attachments_attachments").await;
    assert_eq!(records, [json!({"record_id": "r9"})]);
}

#[actix_web::test]
async fn undo_and_redo_require_the_features_of_the_record() {
    let fixture = fixture().await;
    let (one, other) = (deal(&fixture).await, deal(&fixture).await);
    let file = attached(&fixture, one).await;
    let role = fixture
        .role("Files", &["attachments.*", "audit_logs.*", "customers.*"], None)
        .await;
    let (_, token) = fixture.user("files@alpha.test", &["Files"]).await;
    let patch = fixture.app.request(Method::PATCH, &format!("{LIBRARY}/{file}"));
    let changed = patch.bearer(&token).json(&json!({"tags": ["a"]})).send().await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let body = json!({"entityId": "customers.deal", "attachmentIds": [file], "toRecordId": other});
    let moved = transfer(&fixture, &token, &body).await;
    assert_eq!(moved.status, 200, "{}", moved.text());
    let missing = (
        403,
        json!({"error": "Forbidden", "requiredFeatures": ["customers.deals.manage"]}),
    );
    let without = async || {
        fixture.acl(role, &["attachments.*", "audit_logs.*"], None).await;
        snapshot(&fixture).await
    };
    let with = async || {
        let all = ["attachments.*", "audit_logs.*", "customers.*"];
        fixture.acl(role, &all, None).await;
    };

    let before = without().await;
    assert_eq!(fixture.app.undo(&token, &moved).await, missing);
    assert_eq!(snapshot(&fixture).await, before);
    with().await;
    assert_eq!(fixture.app.undo(&token, &moved).await.0, 200);
    let before = without().await;
    assert_eq!(fixture.app.redo(&token, &moved).await, missing);
    assert_eq!(fixture.app.undo(&token, &changed).await, missing);
    assert_eq!(snapshot(&fixture).await, before);
    with().await;
    assert_eq!(fixture.app.undo(&token, &changed).await.0, 200);
    let (_, detail) = fixture.app.get(&token, &format!("{LIBRARY}/{file}")).await;
    assert_eq!(
        (&detail["item"]["tags"], &detail["item"]["recordId"]),
        (&json!([]), &json!(one))
    );
}

#[actix_web::test]
async fn files_do_not_return_to_a_deleted_record() {
    let fixture = fixture().await;
    let token = &fixture.a.token;
    let (one, other) = (deal(&fixture).await, deal(&fixture).await);
    let files = [attached(&fixture, one).await, attached(&fixture, one).await];
    let body = json!({"entityId": "customers.deal", "attachmentIds": files, "toRecordId": other});
    let moved = transfer(&fixture, token, &body).await;
    assert_eq!(moved.status, 200, "{}", moved.text());
    let delete = async |deal: Uuid| {
        let path = format!("/customers/deals?id={deal}");
        let deleted = fixture.app.request(Method::DELETE, &path).bearer(token).send().await;
        assert_eq!(deleted.status, 200, "{}", deleted.text());
        (deleted, snapshot(&fixture).await)
    };

    let (deleted, before) = delete(one).await;
    assert_conflict(&fixture, &before, fixture.app.undo(token, &moved).await).await;
    assert_eq!(fixture.app.undo(token, &deleted).await.0, 200);
    assert_eq!(fixture.app.undo(token, &moved).await.0, 200);
    let (_, page) = fixture
        .app
        .get(token, &format!("/attachments?entityId=customers.deal&recordId={one}"))
        .await;
    let mut returned = ids(&page);
    returned.sort();
    assert_eq!(returned, files);

    let (_, before) = delete(other).await;
    assert_conflict(&fixture, &before, fixture.app.redo(token, &moved).await).await;
}

#[actix_web::test]
async fn files_do_not_return_to_a_full_field() {
    let fixture = fixture().await;
    let token = &fixture.a.token;
    let photo = [("fieldKey", "photo")];
    let first = uploaded(&fixture, &photo, NOTE).await;
    let body = json!({"entityId": "x.y", "attachmentIds": [first], "toRecordId": "r2"});
    let moved = transfer(&fixture, token, &body).await;
    let limit = json!({"entityId": "x.y", "fieldKey": "photo", "maxCount": 1});
    let (status, body) = fixture.app.put(token, "/attachments/fields", limit).await;
    assert_eq!(status, 200, "{body}");
    let second = uploaded(&fixture, &photo, NOTE).await;
    let before = snapshot(&fixture).await;

    assert_conflict(&fixture, &before, fixture.app.undo(token, &moved).await).await;

    let path = format!("{LIBRARY}/{second}");
    assert_eq!(fixture.app.delete(token, &path, Value::Null).await.0, 200);
    assert_eq!(fixture.app.undo(token, &moved).await.0, 200);
    let (_, page) = fixture.app.get(token, &of_record()).await;
    assert_eq!(ids(&page), [first]);
}
