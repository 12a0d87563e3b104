//! Marks.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::fixture::{Fixture, LIST, done};

#[actix_web::test]
async fn marks_are_idempotent_and_have_no_log_entry() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    fixture.send(&[done(fixture.a.admin, "A")]).await;
    let one = fixture.listed(token, LIST).await.remove(0);
    let entries = fixture.app.count("audit_action_logs").await;
    let shown = async |status: &str| fixture.listed(token, &format!("{LIST}?status={status}")).await;

    for (mark, status, is_read) in [
        ("read", "read", true),
        ("unread", "unread", false),
        ("read", "read", true),
    ] {
        for _ in 0..2 {
            assert_eq!(fixture.mark(token, &one, mark).await, 200, "{mark}");
        }
        let now = shown(status).await;
        assert_eq!((now.len(), now[0]["readAt"] != Value::Null), (1, is_read), "{mark}");
    }
    for _ in 0..2 {
        assert_eq!(fixture.mark(token, &one, "dismiss").await, 200);
    }
    assert_eq!(shown("dismissed").await.len(), 1);
    assert_eq!(fixture.listed(token, LIST).await.len(), 0);
    let dismissed = shown("dismissed").await;
    for mark in ["read", "unread"] {
        assert_eq!(fixture.mark(token, &one, mark).await, 200, "{mark} of a dismissed one");
    }
    assert_eq!(shown("dismissed").await, dismissed);
    assert_eq!(fixture.app.count("audit_action_logs").await, entries);
}

#[actix_web::test]
async fn a_mark_ignores_an_idempotency_key() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    fixture.send(&[done(fixture.a.admin, "A")]).await;
    let read_all = async |key: &str| {
        let request = fixture.app.request(Method::POST, "/notifications/read-all");
        let request = request.bearer(token).header("Idempotency-Key", key);
        let response = request.json(&json!({})).send().await;
        assert_eq!(response.header("idempotency-replayed"), None);
        (response.status, response.json())
    };

    assert_eq!(read_all("one").await, (200, json!({"updated": 1})));
    assert_eq!(read_all("one").await, (200, json!({"updated": 0})));
    assert_eq!(read_all("not a key").await.0, 200);
}

#[actix_web::test]
async fn unknown_and_expired_notifications_are_not_found() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    fixture.send(&[done(fixture.a.admin, "A")]).await;
    let one = fixture.listed(token, LIST).await.remove(0);

    assert_eq!(fixture.mark(token, &json!({"id": fixture.a.id}), "read").await, 404);
    assert_eq!(fixture.mark(token, &json!({"id": "x"}), "read").await, 400);
    fixture
        .app
        .sql("update notifications_notifications set expires_at = '2026-11-01'")
        .await;
    for mark in ["read", "unread", "dismiss"] {
        assert_eq!(fixture.mark(token, &one, mark).await, 404, "{mark}");
    }
}

#[actix_web::test]
async fn read_all_marks_only_the_callers_own() {
    let fixture = Fixture::new().await;
    let (other, other_token) = fixture.user("other@alpha.example", &["employee"]).await;
    fixture.send(&[done(fixture.a.admin, "A"), done(other, "B")]).await;

    let (status, body) = fixture
        .app
        .post(&fixture.a.token, "/notifications/read-all", json!({}))
        .await;

    assert_eq!((status, body), (200, json!({"updated": 1})));
    assert_eq!(fixture.get(&other_token, LIST).await["unreadCount"], 1);
}
