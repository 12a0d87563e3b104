//! Writes that name the version that their client has read.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::fixture::{CALENDAR, Fixture, SERIES, WINDOWS, builder, one};

const STALE: &str = "2026-01-01T00:00:00.000Z";

/// Sends writes with a stale version in both headers, and expects that they are rejected and change nothing.
async fn rejects(fixture: &Fixture, method: Method, path: &str, body: &Value, current: &Value) {
    let before = fixture.app.snapshot().await;
    for (name, value) in [
        ("If-Match", format!("\"{STALE}\"")),
        ("X-Expected-Updated-At", STALE.to_owned()),
    ] {
        let request = fixture.app.request(method.clone(), path).bearer(&fixture.a.token);
        let response = request.header(name, &value).json(body).send().await;

        let expected = json!({"error": "record_modified", "code": "optimistic_lock_conflict",
            "currentUpdatedAt": current, "expectedUpdatedAt": STALE});
        assert_eq!(
            (response.status, response.json()),
            (409, expected),
            "{method} {path} {name}"
        );
    }
    assert!(
        before == fixture.app.snapshot().await,
        "{method} {path} has changed the database"
    );
}

async fn updated_at(fixture: &Fixture, path: &str) -> Value {
    fixture.app.read(&fixture.a.token, path).await["updatedAt"].clone()
}

#[actix_web::test]
async fn a_stale_version_rejects_a_write() {
    let fixture = Fixture::new().await;
    let single = fixture.window("2026-03-29", "2026-03-30").await;
    let series = json!({"resourceType": "equipment", "resourceId": crate::fixture::E1, "startDate": "2026-03-02",
        "endDateExclusive": "2026-03-03", "reasonCode": "inspection", "rrule": "FREQ=WEEKLY;COUNT=2"});
    let series = fixture.create(SERIES, series).await;
    let of_series = fixture.list(&format!("{WINDOWS}?seriesId={series}")).await;
    let calendar = json!({"timeZone": "Asia/Tokyo", "offWeekdays": [], "holidays": [{"date": "2026-12-25"}]});
    let note = json!({"note": "x"});

    for (path, body, is_deletable) in [
        (CALENDAR.to_owned(), calendar, false),
        (one(single), note.clone(), true),
        (one(backoffice_test_accounts::id_of(&of_series[0])), note.clone(), true),
        (format!("{SERIES}/{series}"), note, true),
    ] {
        let current = updated_at(&fixture, &path).await;
        rejects(&fixture, Method::PUT, &path, &body, &current).await;
        if is_deletable {
            rejects(&fixture, Method::DELETE, &path, &json!({}), &current).await;
        }

        let request = fixture.app.request(Method::PUT, &path).bearer(&fixture.a.token);
        let tag = format!("\"{}\"", current.as_str().expect("an instant"));
        let response = request.header("If-Match", &tag).json(&body).send().await;
        assert_eq!(response.status, 200, "{path}: {}", response.text());
    }
}

#[actix_web::test]
async fn a_version_rejects_the_first_working_calendar_of_an_organization() {
    let fixture = Fixture::without_calendar(builder()).await;
    let calendar = json!({"timeZone": "Asia/Tokyo", "offWeekdays": [], "holidays": []});

    rejects(&fixture, Method::PUT, CALENDAR, &calendar, &Value::Null).await;

    assert_eq!(updated_at(&fixture, CALENDAR).await, Value::Null);
    let (status, body) = fixture.app.put(&fixture.a.token, CALENDAR, calendar).await;
    assert_eq!(status, 200, "{body}");
}
