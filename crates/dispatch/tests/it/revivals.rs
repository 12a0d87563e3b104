//! Assignments that become live again, after their job sites and resources may have been deleted.

use actix_web::http::Method;
use backoffice_test_support::TestResponse;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{ASSIGNMENTS, Fixture, JOB_SITES, RESOURCES, codes};

/// Time next week.
fn next_week() -> Value {
    json!({"startAt": "2026-01-12T08:00:00Z", "endAt": "2026-01-12T12:00:00Z"})
}

/// Creates an assignment that has ended.
async fn ended(fixture: &Fixture) -> Uuid {
    let mut body = fixture.at("08:00", "12:00");
    body["startAt"] = json!("2026-01-02T08:00:00Z");
    body["endAt"] = json!("2026-01-02T12:00:00Z");
    fixture.create(ASSIGNMENTS, body).await
}

/// Changes an assignment, which can be undone.
async fn change(fixture: &Fixture, id: Uuid, body: Value) -> TestResponse {
    let path = format!("{ASSIGNMENTS}/{id}");
    let response = fixture.app.send(&fixture.a.token, Method::PUT, &path, body).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response
}

/// Deletes the job site and the resource of the assignments.
async fn delete_references(fixture: &Fixture) {
    assert_eq!(fixture.remove(JOB_SITES, fixture.s1).await.0, 200);
    assert_eq!(fixture.remove(RESOURCES, fixture.e1).await.0, 200);
}

/// Asserts that a change of an assignment is rejected because of its deleted job site and resource.
async fn assert_rejected(fixture: &Fixture, id: Uuid, body: Value) {
    let (status, rejection) = fixture.put(ASSIGNMENTS, id, body.clone()).await;

    let expected = [("jobSiteId", "job_site_not_found"), ("subjectId", "subject_not_found")];
    assert_eq!(
        (status, codes(&rejection)),
        (400, ("job_site_not_found", expected.to_vec())),
        "{body}"
    );
}

/// Asserts that an undo or redo is rejected because of this field.
fn assert_conflict((status, body): (u16, Value), field: &str) {
    assert_eq!(
        (status, &body["code"], &body["fields"]),
        (400, &json!("undo_conflict"), &json!([field])),
        "{body}"
    );
}

#[actix_web::test]
async fn a_cancelled_assignment_of_deleted_records_is_not_planned_again() {
    let fixture = Fixture::new().await;
    let id = fixture.assign("08:00", "12:00").await;
    let cancelled = change(&fixture, id, json!({"status": "cancelled"})).await;
    delete_references(&fixture).await;

    assert_rejected(&fixture, id, json!({"status": "planned"})).await;
    assert_rejected(&fixture, id, json!({"status": "confirmed"})).await;
    assert_conflict(fixture.app.undo(&fixture.a.token, &cancelled).await, "jobSiteId");

    assert_eq!(fixture.item(ASSIGNMENTS, id).await["status"], "cancelled");
    // Changes that do not make it live are accepted.
    let moved = json!({"startAt": "2026-01-02T08:00:00Z", "endAt": "2026-01-02T12:00:00Z"});
    for body in [json!({"status": "completed"}), json!({"note": "N"}), next_week(), moved] {
        change(&fixture, id, body).await;
    }
    let planned = change(&fixture, id, json!({"status": "planned"})).await;
    assert_eq!(fixture.app.undo(&fixture.a.token, &planned).await.0, 200);
    assert_eq!(fixture.app.redo(&fixture.a.token, &planned).await.0, 200);
}

#[actix_web::test]
async fn a_new_job_site_does_not_make_up_for_a_deleted_resource() {
    let fixture = Fixture::new().await;
    let id = fixture.assign("08:00", "12:00").await;
    let cancelled = change(&fixture, id, json!({"status": "cancelled"})).await;
    assert_eq!(fixture.remove(RESOURCES, fixture.e1).await.0, 200);

    let undone = fixture.app.undo(&fixture.a.token, &cancelled).await;
    let body = json!({"status": "planned", "jobSiteId": fixture.s2});
    let (status, rejection) = fixture.put(ASSIGNMENTS, id, body).await;

    assert_conflict(undone, "subjectId");
    let expected = vec![("subjectId", "subject_not_found")];
    assert_eq!(
        (status, codes(&rejection)),
        (400, ("subject_not_found", expected)),
        "{rejection}"
    );
    let other = fixture
        .create(RESOURCES, json!({"type": "equipment", "name": "E2"}))
        .await;
    change(&fixture, id, json!({"status": "planned", "subjectId": other})).await;
}

#[actix_web::test]
async fn an_assignment_of_deleted_records_that_has_ended_does_not_move_into_the_future() {
    let fixture = Fixture::new().await;
    let id = ended(&fixture).await;
    let dates = json!({"jobSiteId": fixture.s1, "subjectType": "equipment", "subjectId": fixture.e1, "startDate": "2026-01-02",
        "endDateExclusive": "2026-01-03"});
    let by_dates = fixture.create(ASSIGNMENTS, dates).await;
    delete_references(&fixture).await;

    assert_rejected(&fixture, id, next_week()).await;
    assert_rejected(&fixture, id, json!({"endAt": "2026-01-06T12:00:00Z"})).await;
    assert_rejected(&fixture, by_dates, json!({"endDateExclusive": "2026-01-13"})).await;
    assert_rejected(&fixture, by_dates, next_week()).await;
    let days = json!({"startDate": "2026-01-12", "endDateExclusive": "2026-01-13"});
    assert_rejected(&fixture, id, days).await;

    for body in [
        json!({"endAt": "2026-01-02T13:00:00Z"}),
        json!({"status": "completed"}),
        json!({"status": "planned"}),
    ] {
        change(&fixture, id, body).await;
    }
    change(&fixture, by_dates, json!({"endDateExclusive": "2026-01-04"})).await;
}

#[actix_web::test]
async fn an_undo_or_redo_does_not_return_an_assignment_to_deleted_records() {
    let fixture = Fixture::new().await;
    let by_dates = json!({"jobSiteId": fixture.s1, "subjectType": "equipment", "subjectId": fixture.e1, "startDate": "2026-01-12",
        "endDateExclusive": "2026-01-13"});
    let by_dates = fixture.create(ASSIGNMENTS, by_dates).await;
    let past = json!({"startDate": "2026-01-02", "endDateExclusive": "2026-01-03"});
    let moved_back = change(&fixture, by_dates, past).await;
    let id = ended(&fixture).await;
    let moved_on = change(&fixture, id, next_week()).await;
    assert_eq!(fixture.app.undo(&fixture.a.token, &moved_on).await.0, 200);
    delete_references(&fixture).await;

    assert_conflict(fixture.app.redo(&fixture.a.token, &moved_on).await, "jobSiteId");
    assert_conflict(fixture.app.undo(&fixture.a.token, &moved_back).await, "jobSiteId");

    assert_eq!(
        fixture.item(ASSIGNMENTS, id).await["startAt"],
        "2026-01-02T08:00:00.000Z"
    );
    assert_eq!(fixture.item(ASSIGNMENTS, by_dates).await["startDate"], "2026-01-02");
}

#[actix_web::test]
async fn an_assignment_is_live_again_on_its_closed_job_site_with_its_inactive_resource() {
    let fixture = Fixture::new().await;
    let id = fixture.assign("08:00", "12:00").await;
    let cancelled = change(&fixture, id, json!({"status": "cancelled"})).await;
    fixture.put(JOB_SITES, fixture.s1, json!({"status": "closed"})).await;
    fixture.put(RESOURCES, fixture.e1, json!({"isActive": false})).await;

    assert_eq!(fixture.app.undo(&fixture.a.token, &cancelled).await.0, 200);
    for body in [
        json!({"status": "completed"}),
        json!({"status": "confirmed"}),
        next_week(),
    ] {
        change(&fixture, id, body).await;
    }
}

#[actix_web::test]
async fn an_assignment_is_not_live_again_with_records_that_are_deleted_meanwhile() {
    let fixture = Fixture::new().await;
    let database = fixture.app.database();
    let of_site = format!(
        "update dispatch_job_sites set deleted_at = now() where id = '{}'",
        fixture.s1
    );
    let of_resource = format!(
        "update dispatch_resources set deleted_at = now() where id = '{}'",
        fixture.e1
    );
    let id = fixture.assign("08:00", "12:00").await;
    let past = ended(&fixture).await;
    let cancelled = change(&fixture, id, json!({"status": "cancelled"})).await;

    let planned = fixture.put(ASSIGNMENTS, id, json!({"status": "planned"}));
    let (status, rejection) = database.while_changing(&of_resource, planned).await;
    assert_eq!((status, codes(&rejection).0), (400, "subject_not_found"));
    fixture.app.sql("update dispatch_resources set deleted_at = null").await;
    let moved = fixture.put(ASSIGNMENTS, past, next_week());
    let (status, rejection) = database.while_changing(&of_site, moved).await;
    assert_eq!((status, codes(&rejection).0), (400, "job_site_not_found"));
    fixture.app.sql("update dispatch_job_sites set deleted_at = null").await;
    let undone = fixture.app.undo(&fixture.a.token, &cancelled);
    assert_conflict(database.while_changing(&of_site, undone).await, "jobSiteId");

    assert_eq!(fixture.item(ASSIGNMENTS, id).await["status"], "cancelled");
}
