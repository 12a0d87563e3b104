//! Undo and redo.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::fixture::{ASSIGNMENTS, Fixture, JOB_SITES, RESOURCES};

#[actix_web::test]
async fn a_deleted_assignment_comes_back_with_its_id() {
    let fixture = Fixture::new().await;
    let id = fixture.assign("08:00", "12:00").await;
    let before = fixture.item(ASSIGNMENTS, id).await;

    let deleted = fixture
        .app
        .send(
            &fixture.a.token,
            Method::DELETE,
            &format!("{ASSIGNMENTS}/{id}"),
            Value::Null,
        )
        .await;
    let undone = fixture.app.undo(&fixture.a.token, &deleted).await;

    assert_eq!(undone.0, 200, "{}", undone.1);
    let after = fixture.item(ASSIGNMENTS, id).await;
    assert_eq!(
        (&before["startAt"], &before["createdAt"]),
        (&after["startAt"], &after["createdAt"])
    );
}

#[actix_web::test]
async fn an_assignment_does_not_come_back_to_a_deleted_site() {
    let fixture = Fixture::new().await;
    let id = fixture.assign("08:00", "12:00").await;
    let deleted = fixture
        .app
        .send(
            &fixture.a.token,
            Method::DELETE,
            &format!("{ASSIGNMENTS}/{id}"),
            Value::Null,
        )
        .await;
    assert_eq!(fixture.remove(JOB_SITES, fixture.s1).await.0, 200);

    let undone = fixture.app.undo(&fixture.a.token, &deleted).await;

    assert_eq!(undone.0, 400, "{}", undone.1);
    assert_eq!(
        (&undone.1["code"], &undone.1["fields"]),
        (&json!("undo_conflict"), &json!(["jobSiteId"]))
    );
}

#[actix_web::test]
async fn the_creation_of_a_site_with_live_assignments_is_not_undone() {
    let fixture = Fixture::new().await;
    let created = fixture
        .app
        .send(&fixture.a.token, Method::POST, JOB_SITES, json!({"name": "New"}))
        .await;
    let mut body = fixture.at("08:00", "12:00");
    body["jobSiteId"] = created.json()["id"].clone();
    fixture.create(ASSIGNMENTS, body).await;

    let undone = fixture.app.undo(&fixture.a.token, &created).await;

    assert_eq!((undone.0, &undone.1["code"]), (400, &json!("undo_conflict")));
}

#[actix_web::test]
async fn a_restored_worker_has_no_deleted_user() {
    let fixture = Fixture::new().await;
    let (user, _) = fixture.user("worker@alpha.test", &["employee"]).await;
    let worker = fixture
        .create(RESOURCES, json!({"type": "worker", "name": "W", "userId": user}))
        .await;
    let deleted = fixture
        .app
        .send(
            &fixture.a.token,
            Method::DELETE,
            &format!("{RESOURCES}/{worker}"),
            Value::Null,
        )
        .await;
    let (status, body) = fixture
        .app
        .delete(&fixture.a.token, &format!("/auth/users?id={user}"), Value::Null)
        .await;
    assert_eq!(status, 200, "{body}");

    let undone = fixture.app.undo(&fixture.a.token, &deleted).await;

    assert_eq!(undone.0, 200, "{}", undone.1);
    assert_eq!(fixture.item(RESOURCES, worker).await["userId"], Value::Null);
}

#[actix_web::test]
async fn instants_of_dates_are_not_part_of_a_change() {
    let fixture = Fixture::new().await;
    let body = json!({"jobSiteId": fixture.s1, "subjectType": "equipment", "subjectId": fixture.e1, "startDate": "2026-01-06",
        "endDateExclusive": "2026-01-07"});
    let id = fixture.create(ASSIGNMENTS, body).await;

    fixture
        .put(
            ASSIGNMENTS,
            id,
            json!({"startDate": "2026-01-07", "endDateExclusive": "2026-01-08"}),
        )
        .await;

    let entries = format!("select changes from audit_action_logs where resource_id = '{id}' and action_type = 'edit'");
    let changes = &fixture.app.rows(&entries).await[0]["changes"];
    let changed: Vec<&String> = changes.as_object().expect("changes").keys().collect();
    assert_eq!(changed, ["endDateExclusive", "startDate"], "{changes}");
}

#[actix_web::test]
async fn a_code_that_was_taken_meanwhile_keeps_a_record_from_coming_back() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    for (path, body) in [
        (JOB_SITES, json!({"name": "S3", "code": "A-1"})),
        (RESOURCES, json!({"type": "vehicle", "name": "V1", "code": "A-1"})),
    ] {
        let id = fixture.create(path, body.clone()).await;
        let one = format!("{path}/{id}");
        let deleted = fixture.app.send(token, Method::DELETE, &one, Value::Null).await;
        fixture.create(path, body).await;

        let undone = fixture.app.undo(token, &deleted).await;

        assert_eq!(undone.0, 400, "{}", undone.1);
        assert_eq!(
            (&undone.1["code"], &undone.1["fields"]),
            (&json!("undo_conflict"), &json!(["code"]))
        );
    }
}
