//! Preferences.

use actix_web::http::Method;
use serde_json::{Value, json};
use time::Duration;

use crate::fixture::{Fixture, LIST, PREFERENCES, done};

const DEFAULTS: [(&str, bool, bool, bool); 2] = [
    ("samples.sample.done", true, true, false),
    ("samples.sample.failed", true, false, true),
];

fn channels(body: &Value) -> Vec<(String, bool, bool, bool)> {
    let flag = |item: &Value, name: &str| item[name].as_bool().expect("a flag");
    let items = body["items"].as_array().expect("items").iter();
    let one = |item: &Value| {
        let name = item["type"].as_str().expect("a type").to_owned();
        (name, flag(item, "inApp"), flag(item, "push"), flag(item, "email"))
    };
    items.map(one).collect()
}

fn expected(rows: [(&str, bool, bool, bool); 2]) -> Vec<(String, bool, bool, bool)> {
    rows.iter()
        .map(|(name, in_app, push, email)| ((*name).to_owned(), *in_app, *push, *email))
        .collect()
}

#[actix_web::test]
async fn every_type_is_listed_with_the_channels_of_the_caller() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;

    let body = fixture.get(token, PREFERENCES).await;
    assert_eq!(channels(&body), expected(DEFAULTS));
    assert_eq!(body["items"][0]["title"], "Finished samples");
    let (status, changed) = fixture
        .prefer(
            token,
            json!([{"type": "samples.sample.done", "push": false, "email": true}]),
        )
        .await;

    assert_eq!(status, 200, "{changed}");
    let after = expected([("samples.sample.done", true, false, true), DEFAULTS[1]]);
    assert_eq!(channels(&changed), after);
    assert_eq!(channels(&fixture.get(token, PREFERENCES).await), after);
    let (_, other) = fixture.user("other@alpha.example", &["employee"]).await;
    for token in [&other, &fixture.b.token, &fixture.root] {
        assert_eq!(channels(&fixture.get(token, PREFERENCES).await), expected(DEFAULTS));
    }
}

#[actix_web::test]
async fn not_2_a_muted_type_has_no_row_until_the_change_is_undone() {
    let fixture = Fixture::new().await;
    let (user, token) = (fixture.a.admin, &fixture.a.token);
    let rows = async || {
        fixture
            .app
            .rows("select * from notifications_preferences order by type")
            .await
    };
    fixture
        .prefer(token, json!([{"type": "samples.sample.failed", "email": false}]))
        .await;
    let before = rows().await;
    let body = json!({"items": [{"type": "samples.sample.done", "inApp": false}]});
    let muted = fixture.app.send(token, Method::PUT, PREFERENCES, body).await;
    assert_eq!(muted.status, 200, "{}", muted.text());

    assert_eq!(fixture.send(&[done(user, "A")]).await, 0);

    assert_eq!(fixture.listed(token, LIST).await.len(), 0);
    let (status, undone) = fixture.app.undo(token, &muted).await;
    assert_eq!(status, 200, "{undone}");
    let without_time = |mut rows: Vec<Value>| {
        for row in &mut rows {
            row.as_object_mut().expect("a row").remove("updated_at");
        }
        rows
    };
    assert_eq!(without_time(rows().await), without_time(before));
    assert_eq!(fixture.send(&[done(user, "A")]).await, 1);
    let (status, redone) = fixture.app.redo(token, &muted).await;
    assert_eq!(status, 200, "{redone}");
    assert_eq!(fixture.send(&[done(user, "A")]).await, 0);
}

#[actix_web::test]
async fn a_change_without_an_effect_writes_no_entry() {
    let fixture = Fixture::new().await;
    let entries = async || {
        fixture
            .app
            .count("audit_action_logs where resource_kind = 'notifications.preference'")
            .await
    };

    for items in [json!([]), json!([{"type": "samples.sample.done", "push": true}])] {
        let (status, body) = fixture.prefer(&fixture.a.token, items).await;
        assert_eq!((status, channels(&body)), (200, expected(DEFAULTS)));
    }

    assert_eq!(entries().await, 0);
    assert_eq!(fixture.app.count("notifications_preferences").await, 0);
}

#[actix_web::test]
async fn invalid_changes_are_rejected() {
    let fixture = Fixture::new().await;
    let one = json!({"type": "samples.sample.done", "push": false});
    for (items, path, code) in [
        (json!([one, {"type": "unknown"}]), "items[1].type", "unknown_reference"),
        (json!([one, one]), "items[1].type", "not_unique"),
        (
            json!([{"type": "samples.sample.done", "push": null}]),
            "items[0].push",
            "required",
        ),
        (
            json!([{"type": "samples.sample.done", "email": "yes"}]),
            "items[0].email",
            "invalid_type",
        ),
        (json!([{"push": true}]), "items[0].type", "required"),
        (json!(vec![one; 201]), "items", "too_long"),
        (json!({}), "items", "invalid_type"),
    ] {
        let (status, body) = fixture.prefer(&fixture.a.token, items).await;

        assert_eq!(status, 400, "{body}");
        assert_eq!(
            (&body["details"][0]["path"], &body["details"][0]["code"]),
            (&json!(path), &json!(code)),
            "{body}"
        );
    }
    assert_eq!(fixture.app.count("notifications_preferences").await, 0);
}

#[actix_web::test]
async fn an_administrator_can_not_undo_the_change_of_another_user() {
    let fixture = Fixture::new().await;
    let (_, other) = fixture.user("other@alpha.example", &["employee"]).await;
    let body = json!({"items": [{"type": "samples.sample.done", "inApp": false}]});
    let changed = fixture.app.send(&other, Method::PUT, PREFERENCES, body).await;

    let rejected = fixture.app.undo(&fixture.a.token, &changed).await;

    assert_eq!(rejected, (400, json!({"error": "Undo token not available"})));
    assert_eq!(fixture.app.count("notifications_preferences where not in_app").await, 1);
    let (status, body) = fixture.app.undo(&other, &changed).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.app.count("notifications_preferences").await, 0);
}

#[actix_web::test]
async fn snapshots_have_the_user_and_the_times_of_the_preferences() {
    let fixture = Fixture::new().await;
    let (user, token) = (fixture.a.admin, &fixture.a.token);
    let change = async |name: &str| {
        let body = json!({"items": [{"type": name, "inApp": false}]});
        let changed = fixture.app.send(token, Method::PUT, PREFERENCES, body).await;
        assert_eq!(changed.status, 200, "{}", changed.text());
        changed
    };
    let first = change("samples.sample.done").await;
    fixture.app.advance(Duration::seconds(90));
    let second = change("samples.sample.failed").await;

    let path = format!("/audit_logs/audit-logs/actions?resourceKind=notifications.preference&resourceId={user}");
    let entries = fixture.app.read(token, &path).await;

    let (newer, older) = (&entries["items"][0], &entries["items"][1]);
    let (before, after) = (&older["snapshotAfter"], &newer["snapshotAfter"]);
    for snapshot in [before, after] {
        assert_eq!(snapshot["id"], json!(user), "{snapshot}");
        assert_eq!(snapshot.get("organizationId"), Some(&Value::Null), "{snapshot}");
        assert_eq!(snapshot["createdAt"], before["items"][0]["createdAt"], "{snapshot}");
    }
    assert_eq!(before["updatedAt"], before["createdAt"]);
    // Ordered by type, so the second preference is the last one.
    assert_eq!(after["updatedAt"], after["items"][1]["createdAt"]);
    assert_ne!(after["updatedAt"], before["updatedAt"]);
    assert_eq!(
        (&older["changedFields"], &newer["changedFields"]),
        (&json!(["items", "userId"]), &json!(["items"]))
    );

    // Snapshots of earlier releases do not have these fields.
    let earlier = "update audit_action_logs set
        snapshot_before = snapshot_before - array['id', 'organizationId', 'createdAt', 'updatedAt'],
        snapshot_after = snapshot_after - array['id', 'organizationId', 'createdAt', 'updatedAt']
        where resource_kind = 'notifications.preference'";
    assert_eq!(fixture.app.sql(earlier).await, 2);
    for write in [&second, &first] {
        let (status, body) = fixture.app.undo(token, write).await;
        assert_eq!(status, 200, "{body}");
    }
    assert_eq!(fixture.app.count("notifications_preferences").await, 0);
    for write in [&first, &second] {
        let (status, body) = fixture.app.redo(token, write).await;
        assert_eq!(status, 200, "{body}");
    }
    assert_eq!(fixture.app.count("notifications_preferences where not in_app").await, 2);
}
