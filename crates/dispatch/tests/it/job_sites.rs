//! Job sites.

use serde_json::{Value, json};

use crate::fixture::{ASSIGNMENTS, Fixture, JOB_SITES, codes};

#[actix_web::test]
async fn a_job_site_has_all_of_its_fields() {
    let fixture = Fixture::new().await;
    let body = json!({"name": " Bridge ", "code": "B-1", "address": "1 Main Street", "latitude": 52.25, "longitude": -1.5,
        "status": "planned", "startDate": "2026-01-05", "endDateExclusive": "2026-02-01", "notes": "Two\nlines"});

    let id = fixture.create(JOB_SITES, body).await;

    let item = fixture.item(JOB_SITES, id).await;
    assert_eq!(
        item,
        json!({"id": id, "tenantId": fixture.a.id, "organizationId": fixture.a.organization, "name": "Bridge", "code": "B-1",
            "address": "1 Main Street", "latitude": 52.25, "longitude": -1.5, "status": "planned", "startDate": "2026-01-05",
            "endDateExclusive": "2026-02-01", "notes": "Two\nlines", "createdAt": "2026-01-05T08:00:00.000Z",
            "updatedAt": "2026-01-05T08:00:00.000Z"})
    );
}

#[actix_web::test]
async fn a_job_site_needs_a_name_only() {
    let fixture = Fixture::new().await;

    let item = fixture.item(JOB_SITES, fixture.s1).await;

    assert_eq!(
        (&item["status"], &item["code"], &item["startDate"]),
        (&json!("active"), &Value::Null, &Value::Null)
    );
}

#[actix_web::test]
async fn every_invalid_field_is_named_with_its_code() {
    let fixture = Fixture::new().await;
    let cases = [
        (json!({}), "invalid_name", "name"),
        (json!({"name": " "}), "invalid_name", "name"),
        (json!({"name": "x".repeat(201)}), "invalid_name", "name"),
        (json!({"name": "S", "status": "open"}), "invalid_status", "status"),
        (json!({"name": "S", "code": "x".repeat(41)}), "invalid_code", "code"),
        (json!({"name": "S", "notes": "x".repeat(2001)}), "invalid_note", "notes"),
        (
            json!({"name": "S", "startDate": "2026-02-29"}),
            "invalid_date_range",
            "startDate",
        ),
        (
            json!({"name": "S", "startDate": "2026-02-02", "endDateExclusive": "2026-02-02"}),
            "invalid_date_range",
            "endDateExclusive",
        ),
        (json!({"name": "S", "latitude": 90.5}), "invalid_body", "latitude"),
        (json!({"name": 1}), "invalid_body", "name"),
    ];
    for (body, code, path) in cases {
        let (status, rejection) = fixture.post(JOB_SITES, body.clone()).await;

        let (found, details) = codes(&rejection);
        assert_eq!((status, found, details[0].0), (400, code, path), "{body}: {rejection}");
    }

    let (_, rejection) = fixture
        .post(JOB_SITES, json!({"status": "open", "longitude": 181}))
        .await;
    let expected = [
        ("name", "invalid_name"),
        ("longitude", "out_of_range"),
        ("status", "invalid_status"),
    ];
    assert_eq!(codes(&rejection), ("invalid_name", expected.to_vec()));
}

#[actix_web::test]
async fn a_code_is_unique_regardless_of_case_until_its_site_is_deleted() {
    let fixture = Fixture::new().await;
    let first = fixture.create(JOB_SITES, json!({"name": "A", "code": "k1"})).await;

    let (status, rejection) = fixture.post(JOB_SITES, json!({"name": "B", "code": "K1"})).await;
    assert_eq!((status, codes(&rejection).0), (409, "job_site_code_taken"));
    let (status, rejection) = fixture.put(JOB_SITES, fixture.s1, json!({"code": "K1"})).await;
    assert_eq!((status, codes(&rejection).0), (409, "job_site_code_taken"));

    assert_eq!(fixture.remove(JOB_SITES, first).await, (200, json!({"deleted": true})));
    assert_eq!(fixture.put(JOB_SITES, fixture.s1, json!({"code": "K1"})).await.0, 200);
}

#[actix_web::test]
async fn an_update_changes_only_the_given_fields() {
    let fixture = Fixture::new().await;
    let body = json!({"name": "A", "code": "C", "startDate": "2026-01-05", "endDateExclusive": "2026-02-01"});
    let id = fixture.create(JOB_SITES, body).await;

    let updated = fixture
        .put(JOB_SITES, id, json!({"code": null, "status": "closed"}))
        .await;

    assert_eq!(updated, (200, json!({ "id": id })));
    let item = fixture.item(JOB_SITES, id).await;
    assert_eq!(
        (&item["name"], &item["code"], &item["status"]),
        (&json!("A"), &Value::Null, &json!("closed"))
    );
    // The dates are compared with the stored ones.
    let (status, rejection) = fixture
        .put(JOB_SITES, id, json!({"endDateExclusive": "2026-01-05"}))
        .await;
    assert_eq!((status, codes(&rejection).0), (400, "invalid_date_range"));
}

#[actix_web::test]
async fn dsp_26_a_job_site_with_live_assignments_stays() {
    let fixture = Fixture::new().await;
    let assignment = fixture.assign("08:00", "12:00").await;

    let (status, rejection) = fixture.remove(JOB_SITES, fixture.s1).await;
    assert_eq!((status, codes(&rejection).0), (409, "job_site_in_use"));

    assert_eq!(
        fixture
            .put(ASSIGNMENTS, assignment, json!({"status": "completed"}))
            .await
            .0,
        200
    );
    assert_eq!(
        fixture.remove(JOB_SITES, fixture.s1).await,
        (200, json!({"deleted": true}))
    );
    assert_eq!(
        fixture.item(ASSIGNMENTS, assignment).await["jobSiteId"],
        json!(fixture.s1)
    );
}

#[actix_web::test]
async fn a_malformed_id_is_like_an_unknown_one() {
    let fixture = Fixture::new().await;
    let missing = json!({"code": "job_site_not_found", "error": "Job site not found"});

    for id in ["x", "00000000-0000-4000-8000-000000000001"] {
        let path = format!("{JOB_SITES}/{id}");
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
    let (status, again) = {
        fixture.remove(JOB_SITES, fixture.s2).await;
        fixture.remove(JOB_SITES, fixture.s2).await
    };
    assert_eq!((status, again), (404, missing));
}
