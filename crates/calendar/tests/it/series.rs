//! Series of windows.

use actix_web::http::Method;
use backoffice_test_accounts::id_of;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{E1, Fixture, SERIES, WINDOWS, one, text};

/// Returns the body of a series of the excavator with one day per occurrence.
pub(crate) fn series(first: &str, end: &str, rrule: &str) -> Value {
    json!({"resourceType": "equipment", "resourceId": E1, "startDate": first, "endDateExclusive": end,
        "reasonCode": "inspection", "rrule": rrule})
}

/// Creates a series and returns its id and the number of its windows.
pub(crate) async fn create(fixture: &Fixture, body: Value) -> (Uuid, Value) {
    let (status, body) = fixture.app.post(&fixture.a.token, SERIES, body).await;
    assert_eq!(status, 201, "{body}");
    (id_of(&body), body["count"].clone())
}

/// Returns the path of a series.
pub(crate) fn path(id: Uuid) -> String {
    format!("{SERIES}/{id}")
}

/// Returns the windows of a series.
pub(crate) async fn windows(fixture: &Fixture, series: Uuid) -> Vec<Value> {
    fixture.list(&format!("{WINDOWS}?seriesId={series}&pageSize=100")).await
}

/// Returns the first days of the windows of a series.
pub(crate) async fn days(fixture: &Fixture, series: Uuid) -> Vec<String> {
    let windows = windows(fixture, series).await;
    windows.iter().map(|window| text(&window["startDate"])).collect()
}

/// Returns the windows of a series without the times of their last changes.
pub(crate) async fn contents(fixture: &Fixture, series: Uuid) -> Vec<Value> {
    let mut windows = windows(fixture, series).await;
    for window in &mut windows {
        window["updatedAt"] = Value::Null;
    }
    windows
}

const FRIDAYS: [&str; 10] = [
    "2026-01-09",
    "2026-01-23",
    "2026-02-06",
    "2026-02-20",
    "2026-03-06",
    "2026-03-20",
    "2026-04-03",
    "2026-04-17",
    "2026-05-01",
    "2026-05-15",
];

#[actix_web::test]
async fn dsp_31_a_series_keeps_past_windows_and_exceptions_and_undo_restores_it() {
    let fixture = Fixture::new().await;
    let rule = "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR;COUNT=10";
    let (id, count) = create(&fixture, series("2026-01-09", "2026-01-10", rule)).await;
    let first = days(&fixture, id).await;
    let second = id_of(&windows(&fixture, id).await[1]);
    let moved = json!({"startDate": "2026-01-24", "endDateExclusive": "2026-01-26"});
    let (moved_status, _) = fixture.app.put(&fixture.a.token, &one(second), moved).await;
    let before = contents(&fixture, id).await;
    let (_, row_before) = fixture.app.get(&fixture.a.token, &path(id)).await;

    let body = json!({"from": "2026-03-01", "rrule": "FREQ=WEEKLY;BYDAY=MO;COUNT=5"});
    let changed = fixture.send(Method::PUT, &fixture.a.token, &path(id), &body).await;
    let after = days(&fixture, id).await;
    let (undo_status, undone) = fixture.app.undo(&fixture.a.token, &changed).await;
    let restored = contents(&fixture, id).await;
    let (_, mut row_after) = fixture.app.get(&fixture.a.token, &path(id)).await;
    let (redo_status, _) = fixture.app.redo(&fixture.a.token, &changed).await;

    assert_eq!((count, first), (json!(10), FRIDAYS.map(str::to_owned).to_vec()));
    assert_eq!((moved_status, changed.status), (200, 200));
    let expected = [
        "2026-01-09",
        "2026-01-24",
        "2026-02-06",
        "2026-02-20",
        "2026-03-02",
        "2026-03-09",
        "2026-03-16",
        "2026-03-23",
        "2026-03-30",
    ];
    assert_eq!(after, expected);
    assert_eq!((undo_status, redo_status), (200, 200), "{undone}");
    assert_eq!(restored, before);
    row_after["updatedAt"] = row_before["updatedAt"].clone();
    assert_eq!(row_after, row_before);
    assert_eq!(days(&fixture, id).await, expected);
}

#[actix_web::test]
async fn an_exception_of_later_days_stays_and_its_day_is_not_created_again() {
    let fixture = Fixture::new().await;
    let (id, _) = create(&fixture, series("2026-03-02", "2026-03-03", "FREQ=WEEKLY;COUNT=3")).await;
    let second = id_of(&windows(&fixture, id).await[1]);
    fixture
        .app
        .put(
            &fixture.a.token,
            &one(second),
            json!({"note": "Longer", "endDateExclusive": "2026-03-12"}),
        )
        .await;

    let (status, _) = fixture
        .app
        .put(&fixture.a.token, &path(id), json!({"reasonCode": "breakdown"}))
        .await;

    let windows = windows(&fixture, id).await;
    let fields: Vec<(String, String)> = windows
        .iter()
        .map(|window| (text(&window["endDateExclusive"]), text(&window["reasonCode"])))
        .collect();
    let pair = |end: &str, code: &str| (end.to_owned(), code.to_owned());
    let expected = [
        pair("2026-03-03", "breakdown"),
        pair("2026-03-12", "inspection"),
        pair("2026-03-17", "breakdown"),
    ];
    assert_eq!((status, fields), (200, expected.to_vec()));
}

#[actix_web::test]
async fn dsp_32_rules_have_a_form_and_a_bound() {
    let fixture = Fixture::new().await;
    let post =
        async |rule: &str, first: &str, end: &str| fixture.code(Method::POST, SERIES, &series(first, end, rule)).await;
    let invalid = (400, "invalid_recurrence".to_owned());

    assert_eq!(post("FREQ=HOURLY", "2026-01-09", "2026-01-10").await, invalid);
    assert_eq!(post("RRULE:garbage", "2026-01-09", "2026-01-10").await, invalid);
    assert_eq!(
        post("FREQ=DAILY;COUNT=1001", "2020-01-09", "2020-01-10").await,
        (400, "too_many_occurrences".to_owned())
    );
    assert_eq!(
        post("FREQ=DAILY", "2024-01-09", "2024-01-10").await,
        (400, "too_many_occurrences".to_owned())
    );
    let (daily, count) = create(&fixture, series("2026-01-05", "2026-01-06", "FREQ=DAILY")).await;
    let (monthly, _) = create(
        &fixture,
        series("2026-01-31", "2026-02-01", "FREQ=MONTHLY;BYMONTHDAY=31;COUNT=4"),
    )
    .await;

    // Up to the horizon of 730 days, both ends included.
    assert_eq!(count, json!(731));
    let (_, row) = fixture.app.get(&fixture.a.token, &path(daily)).await;
    assert_eq!(row["createdUntil"], "2028-01-05");
    assert_eq!(
        days(&fixture, monthly).await,
        ["2026-01-31", "2026-03-31", "2026-05-31", "2026-07-31"]
    );
    assert_eq!(fixture.app.rows("select id from calendar_series").await.len(), 2);
}

#[actix_web::test]
async fn a_deleted_window_is_left_out_and_undo_brings_it_back() {
    let fixture = Fixture::new().await;
    let (id, _) = create(&fixture, series("2026-03-02", "2026-03-03", "FREQ=WEEKLY;COUNT=3")).await;
    let before = contents(&fixture, id).await;
    let second = id_of(&before[1]);

    let deleted = fixture
        .send(Method::DELETE, &fixture.a.token, &one(second), &json!({}))
        .await;
    let (_, row) = fixture.app.get(&fixture.a.token, &path(id)).await;
    let (changed, _) = fixture
        .app
        .put(&fixture.a.token, &path(id), json!({"note": "Yearly check"}))
        .await;
    let without = days(&fixture, id).await;
    let (conflict, _) = fixture.app.undo(&fixture.a.token, &deleted).await;

    assert_eq!((deleted.status, changed), (200, 200));
    assert_eq!(row["exdates"], json!(["2026-03-09"]));
    assert_eq!(without, ["2026-03-02", "2026-03-16"]);
    assert_eq!(conflict, 400);
}

#[actix_web::test]
async fn the_undo_of_a_deleted_window_restores_the_same_row() {
    let fixture = Fixture::new().await;
    let (id, _) = create(&fixture, series("2026-03-02", "2026-03-03", "FREQ=WEEKLY;COUNT=3")).await;
    let before = contents(&fixture, id).await;

    let deleted = fixture
        .send(Method::DELETE, &fixture.a.token, &one(id_of(&before[1])), &json!({}))
        .await;
    let (status, body) = fixture.app.undo(&fixture.a.token, &deleted).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(contents(&fixture, id).await, before);
    let (_, row) = fixture.app.get(&fixture.a.token, &path(id)).await;
    assert_eq!(row["exdates"], json!([]));
}

#[actix_web::test]
async fn the_undo_of_an_exception_restores_the_window_of_the_rule() {
    let fixture = Fixture::new().await;
    let (id, _) = create(&fixture, series("2026-03-02", "2026-03-03", "FREQ=WEEKLY;COUNT=3")).await;
    let before = contents(&fixture, id).await;

    let path = one(id_of(&before[1]));
    let moved = fixture
        .send(Method::PUT, &fixture.a.token, &path, &json!({"note": "x"}))
        .await;
    let (status, body) = fixture.app.undo(&fixture.a.token, &moved).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(contents(&fixture, id).await, before);
}

#[actix_web::test]
async fn a_series_ends_before_a_day_or_is_deleted_with_its_windows() {
    let fixture = Fixture::new().await;
    let (id, _) = create(&fixture, series("2026-03-02", "2026-03-03", "FREQ=WEEKLY")).await;
    let all = contents(&fixture, id).await;

    let query = format!("{}?from=2026-03-16", path(id));
    let ended = fixture.send(Method::DELETE, &fixture.a.token, &query, &json!({})).await;
    let left = days(&fixture, id).await;
    let (_, row) = fixture.app.get(&fixture.a.token, &path(id)).await;
    let (undo_status, body) = fixture.app.undo(&fixture.a.token, &ended).await;
    let restored = contents(&fixture, id).await;
    let deleted = fixture
        .send(Method::DELETE, &fixture.a.token, &path(id), &json!({}))
        .await;
    let gone = fixture.app.rows("select id from calendar_windows").await.len();
    let (again, code) = fixture.code(Method::DELETE, &path(id), &json!({})).await;
    let (undelete_status, _) = fixture.app.undo(&fixture.a.token, &deleted).await;

    assert_eq!((ended.status, ended.json()), (200, json!({"deleted": true})));
    assert_eq!(left, ["2026-03-02", "2026-03-09"]);
    assert_eq!(row["endsOn"], "2026-03-15");
    assert_eq!((undo_status, restored == all), (200, true), "{body}");
    assert_eq!((deleted.status, gone), (200, 0));
    assert_eq!((again, code.as_str()), (404, "series_not_found"));
    assert_eq!((undelete_status, contents(&fixture, id).await), (200, all));
}

#[actix_web::test]
async fn a_series_that_ends_loses_its_later_exceptions_and_undo_restores_them() {
    let fixture = Fixture::new().await;
    let (id, _) = create(&fixture, series("2026-03-02", "2026-03-03", "FREQ=WEEKLY;COUNT=4")).await;
    let all = windows(&fixture, id).await;
    for (index, note) in [(1, "earlier"), (3, "later")] {
        let path = one(id_of(&all[index]));
        let (status, _) = fixture.app.put(&fixture.a.token, &path, json!({"note": note})).await;
        assert_eq!(status, 200);
    }
    let before = contents(&fixture, id).await;

    let query = format!("{}?from=2026-03-16", path(id));
    let ended = fixture.send(Method::DELETE, &fixture.a.token, &query, &json!({})).await;

    assert_eq!(ended.status, 200, "{}", ended.text());
    assert_eq!(contents(&fixture, id).await, before[..2]);
    let (status, body) = fixture.app.undo(&fixture.a.token, &ended).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(contents(&fixture, id).await, before);
    let (status, body) = fixture.app.redo(&fixture.a.token, &ended).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(contents(&fixture, id).await, before[..2]);
}

#[actix_web::test]
async fn an_update_of_a_series_without_a_change_stores_nothing() {
    let fixture = Fixture::new().await;
    let (id, _) = create(&fixture, series("2026-03-02", "2026-03-03", "FREQ=WEEKLY;COUNT=4")).await;
    let before = fixture.app.snapshot().await;

    for body in [
        json!({}),
        json!({"reasonCode": "inspection", "rrule": "FREQ=WEEKLY;COUNT=4"}),
    ] {
        let updated = fixture.send(Method::PUT, &fixture.a.token, &path(id), &body).await;

        assert_eq!((updated.status, updated.json()), (200, json!({"id": id, "count": 0})));
        assert_eq!(updated.operation(), None);
    }

    assert!(
        before == fixture.app.snapshot().await,
        "an update has changed the database"
    );
}

#[actix_web::test]
async fn a_schedule_creates_what_follows_once() {
    let fixture = Fixture::new().await;
    let (id, count) = create(&fixture, series("2026-01-05", "2026-01-06", "FREQ=WEEKLY")).await;
    let (finished, _) = create(&fixture, series("2026-01-05", "2026-01-06", "FREQ=WEEKLY;COUNT=2")).await;
    let stored = async |id: Uuid| {
        let sql = format!("select series_date from calendar_windows where series_id = '{id}'");
        fixture.app.rows(&sql).await.len()
    };

    fixture.app.advance(time::Duration::days(70));
    let job = backoffice_calendar::ExtendAllSeries::default();
    fixture.enqueue(job).await;
    fixture.app.run_jobs().await;
    let extended = stored(id).await;
    fixture.enqueue(backoffice_calendar::ExtendAllSeries::default()).await;
    fixture.app.run_jobs().await;

    assert_eq!(count, json!(105));
    assert_eq!(extended, 115);
    assert_eq!((stored(id).await, stored(finished).await), (115, 2));
}

#[actix_web::test]
async fn a_series_of_another_tenant_is_unknown() {
    let fixture = Fixture::new().await;
    let (id, _) = create(&fixture, series("2026-03-02", "2026-03-03", "FREQ=WEEKLY;COUNT=3")).await;

    let foreign = fixture.app.get(&fixture.b.token, &path(id)).await;
    let malformed = fixture.app.get(&fixture.b.token, &format!("{SERIES}/x")).await;
    let (changed, _) = fixture.app.put(&fixture.b.token, &path(id), json!({"note": "x"})).await;
    let (deleted, _) = fixture.app.delete(&fixture.b.token, &path(id), json!({})).await;

    assert_eq!((foreign.0, &foreign.1["code"]), (404, &json!("series_not_found")));
    assert_eq!(malformed, foreign);
    assert_eq!((changed, deleted), (404, 404));
}

#[actix_web::test]
async fn the_fields_of_a_series_have_rules() {
    let fixture = Fixture::new().await;
    let valid = series("2026-03-02", "2026-03-03", "FREQ=WEEKLY;COUNT=3");
    let (id, _) = create(&fixture, valid.clone()).await;
    let with = |field: &str, value: Value| {
        let mut body = valid.clone();
        body[field] = value;
        body
    };

    for (field, value, expected) in [
        ("resourceType", json!("crane"), "invalid_resource_type"),
        ("endDateExclusive", json!("2026-03-02"), "invalid_date_range"),
        ("startDate", json!("2199-12-31"), "invalid_date_range"),
        ("endDateExclusive", json!("2200-01-01"), "invalid_date"),
        ("rrule", Value::Null, "invalid_recurrence"),
        ("rrule", json!("FREQ=DAILY;UNTIL=20260101"), "invalid_recurrence"),
    ] {
        let response = fixture.code(Method::POST, SERIES, &with(field, value)).await;
        assert_eq!(response, (400, expected.to_owned()), "{field}");
    }
    for (body, expected) in [
        (json!({"from": "x"}), "invalid_date"),
        (
            json!({"from": "2199-12-31", "rrule": "FREQ=DAILY;COUNT=1"}),
            "invalid_date_range",
        ),
        (json!({"id": E1}), "id_mismatch"),
        (json!({"rrule": "FREQ=HOURLY"}), "invalid_recurrence"),
        (json!({"resourceType": "worker"}), "invalid_reason_code"),
        (
            json!({"rrule": "FREQ=DAILY", "from": "2020-01-01", "startDate": "2020-01-01",
                "endDateExclusive": "2020-01-02"}),
            "too_many_occurrences",
        ),
    ] {
        let response = fixture.code(Method::PUT, &path(id), &body).await;
        assert_eq!(response, (400, expected.to_owned()), "{body}");
    }
    assert_eq!(days(&fixture, id).await, ["2026-03-02", "2026-03-09", "2026-03-16"]);
}
