//! Assignments: their fields and what they refer to.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{ASSIGNMENTS, Fixture, JOB_SITES, RESOURCES, codes};

#[actix_web::test]
async fn an_assignment_has_all_of_its_fields() {
    let fixture = Fixture::new().await;
    let mut body = fixture.at("08:00", "12:00");
    body["status"] = json!("confirmed");
    body["note"] = json!("Bring fuel");

    let (status, written) = fixture.post(ASSIGNMENTS, body).await;

    assert_eq!(status, 201, "{written}");
    assert_eq!(written["alertIds"], json!([]));
    let id = written["id"].as_str().expect("an id").parse().expect("a UUID");
    let item = fixture.item(ASSIGNMENTS, id).await;
    assert_eq!(
        item,
        json!({"id": id, "tenantId": fixture.a.id, "organizationId": fixture.a.organization, "jobSiteId": fixture.s1,
            "subjectType": "equipment", "subjectId": fixture.e1, "startAt": "2026-01-06T08:00:00.000Z",
            "endAt": "2026-01-06T12:00:00.000Z", "startDate": null, "endDateExclusive": null, "status": "confirmed",
            "note": "Bring fuel", "createdAt": "2026-01-05T08:00:00.000Z", "updatedAt": "2026-01-05T08:00:00.000Z"})
    );
}

#[actix_web::test]
async fn every_invalid_field_is_named_with_its_code() {
    let fixture = Fixture::new().await;
    let cases = [
        (json!({"startAt": null}), "invalid_interval", "startAt"),
        (json!({"startAt": "yesterday"}), "invalid_interval", "startAt"),
        (json!({"startAt": "2026-01-06T08:00:00"}), "invalid_interval", "startAt"),
        (json!({"endAt": "2026-01-06T08:00:00Z"}), "invalid_interval", "endAt"),
        (json!({"endAt": "2200-01-06T08:00:00Z"}), "invalid_interval", "endAt"),
        (json!({"endAt": "2027-01-07T08:00:00.001Z"}), "span_too_long", "endAt"),
        (json!({"status": "done"}), "invalid_status", "status"),
        (json!({"note": "x".repeat(1001)}), "invalid_note", "note"),
        (json!({"subjectType": "crane"}), "invalid_resource_type", "subjectType"),
        (
            json!({"jobSiteId": Uuid::from_u128(1)}),
            "job_site_not_found",
            "jobSiteId",
        ),
        (
            json!({"subjectId": Uuid::from_u128(1)}),
            "subject_not_found",
            "subjectId",
        ),
        (json!({"subjectType": "vehicle"}), "subject_not_found", "subjectId"),
        (json!({"jobSiteId": "x"}), "invalid_body", "jobSiteId"),
    ];
    for (changes, code, path) in cases {
        let mut body = fixture.at("08:00", "12:00");
        for (name, value) in changes.as_object().expect("changes") {
            body[name] = value.clone();
        }
        let (status, rejection) = fixture.post(ASSIGNMENTS, body).await;

        let (found, details) = codes(&rejection);
        assert_eq!(
            (status, found, details[0].0),
            (400, code, path),
            "{changes}: {rejection}"
        );
    }
    assert_eq!(fixture.app.count("dispatch_assignments").await, 0);

    let (_, rejection) = fixture.post(ASSIGNMENTS, json!({})).await;
    let expected = [
        ("jobSiteId", "required"),
        ("subjectType", "required"),
        ("subjectId", "required"),
        ("startAt", "invalid_interval"),
        ("endAt", "invalid_interval"),
    ];
    assert_eq!(codes(&rejection), ("invalid_interval", expected.to_vec()));
}

#[actix_web::test]
async fn the_longest_assignment_takes_366_days() {
    let fixture = Fixture::new().await;
    let mut body = fixture.at("08:00", "12:00");
    body["endAt"] = json!("2027-01-07T08:00:00Z");

    let id = fixture.create(ASSIGNMENTS, body).await;

    assert_eq!(fixture.item(ASSIGNMENTS, id).await["endAt"], "2027-01-07T08:00:00.000Z");
}

#[actix_web::test]
async fn a_closed_site_and_an_inactive_subject_are_rejected_when_they_are_new() {
    let fixture = Fixture::new().await;
    let assignment = fixture.assign("08:00", "12:00").await;
    fixture.put(JOB_SITES, fixture.s1, json!({"status": "closed"})).await;
    fixture.put(RESOURCES, fixture.e1, json!({"isActive": false})).await;

    let (status, rejection) = fixture.post(ASSIGNMENTS, fixture.at("14:00", "16:00")).await;
    let expected = [("jobSiteId", "job_site_closed"), ("subjectId", "subject_inactive")];
    assert_eq!(
        (status, codes(&rejection)),
        (400, ("job_site_closed", expected.to_vec()))
    );

    // An assignment keeps what it has.
    let body = json!({"jobSiteId": fixture.s1, "subjectId": fixture.e1, "note": "N"});
    assert_eq!(fixture.put(ASSIGNMENTS, assignment, body).await.0, 200);
    assert_eq!(
        fixture
            .put(ASSIGNMENTS, assignment, json!({"jobSiteId": fixture.s2}))
            .await
            .0,
        200
    );
    let (status, rejection) = fixture
        .put(ASSIGNMENTS, assignment, json!({"jobSiteId": fixture.s1}))
        .await;
    assert_eq!((status, codes(&rejection).0), (400, "job_site_closed"));
}

#[actix_web::test]
async fn every_change_of_status_is_allowed() {
    let fixture = Fixture::new().await;
    let id = fixture.assign("08:00", "12:00").await;

    for status in ["completed", "planned", "cancelled", "confirmed", "planned"] {
        let (code, written) = fixture.put(ASSIGNMENTS, id, json!({ "status": status })).await;

        assert_eq!((code, written), (200, json!({"id": id, "alertIds": []})));
        assert_eq!(fixture.item(ASSIGNMENTS, id).await["status"], status);
    }
}

#[actix_web::test]
async fn one_end_of_an_assignment_moves_alone() {
    let fixture = Fixture::new().await;
    let id = fixture.assign("08:00", "12:00").await;

    assert_eq!(
        fixture
            .put(ASSIGNMENTS, id, json!({"endAt": "2026-01-06T10:00:00+01:00"}))
            .await
            .0,
        200
    );
    let item = fixture.item(ASSIGNMENTS, id).await;
    assert_eq!(
        (&item["startAt"], &item["endAt"]),
        (&json!("2026-01-06T08:00:00.000Z"), &json!("2026-01-06T09:00:00.000Z"))
    );

    let (status, rejection) = fixture
        .put(ASSIGNMENTS, id, json!({"startAt": "2026-01-06T09:00:00Z"}))
        .await;
    assert_eq!((status, codes(&rejection).0), (400, "invalid_interval"));
    // The item as a client reads it can be sent back.
    assert_eq!(fixture.put(ASSIGNMENTS, id, item).await.0, 200);
}

#[actix_web::test]
async fn a_missing_assignment_has_its_own_code() {
    let fixture = Fixture::new().await;
    let missing = json!({"code": "assignment_not_found", "error": "Assignment not found"});

    for id in ["x".to_owned(), Uuid::from_u128(1).to_string()] {
        let path = format!("{ASSIGNMENTS}/{id}");
        assert_eq!(fixture.app.get(&fixture.a.token, &path).await, (404, missing.clone()));
        assert_eq!(
            fixture.app.put(&fixture.a.token, &path, json!({})).await,
            (404, missing.clone())
        );
        assert_eq!(
            fixture.app.delete(&fixture.a.token, &path, Value::Null).await,
            (404, missing.clone())
        );
    }
}
