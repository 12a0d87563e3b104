//! Updates of series from a day on: which windows stay, and which follow the series as it is then.

use actix_web::http::Method;
use backoffice_calendar::Day;
use backoffice_test_accounts::id_of;
use backoffice_test_support::{TestResponse, UndoableWrite};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, builder, one, text};
use crate::series::{contents, create, days, path, series, windows};

async fn update(fixture: &Fixture, id: Uuid, body: &Value) -> TestResponse {
    let updated = fixture.send(Method::PUT, &fixture.a.token, &path(id), body).await;
    assert_eq!(updated.status, 200, "{body}: {}", updated.text());
    updated
}

/// Undoes a write and expects the windows before it, then redoes it and expects the present ones. Returns the write for another undo.
async fn undo_and_redo(fixture: &Fixture, id: Uuid, written: &TestResponse, before: &[Value]) -> UndoableWrite {
    let after = contents(fixture, id).await;

    let (status, body) = fixture.app.undo(&fixture.a.token, written).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(contents(fixture, id).await, before);
    let (status, body) = fixture.app.redo(&fixture.a.token, written).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(contents(fixture, id).await, after);
    UndoableWrite {
        token: text(&body["undoToken"]),
        ..written.undoable_write()
    }
}

/// Returns this day and those that follow it week by week.
fn weekly(first: &str, count: i64) -> Vec<String> {
    let first = Day::parse(first).expect("a day");
    let days = (0..count).map(|week| first.plus_days(7 * week).expect("a day"));
    days.map(|day| day.to_string()).collect()
}

/// Returns the first days of the windows with this note.
fn noted(windows: &[Value], note: &Value) -> Vec<String> {
    let found = windows.iter().filter(|window| window["note"] == *note);
    found.map(|window| text(&window["startDate"])).collect()
}

/// Returns the first days of the exceptions.
fn exceptions(windows: &[Value]) -> Vec<String> {
    let found = windows.iter().filter(|window| window["isException"] == true);
    found.map(|window| text(&window["startDate"])).collect()
}

#[actix_web::test]
async fn an_update_changes_the_windows_that_one_from_a_later_day_kept() {
    let fixture = Fixture::new().await;
    let (id, _) = create(&fixture, series("2026-01-05", "2026-01-06", "FREQ=WEEKLY;COUNT=40")).await;

    let first = update(&fixture, id, &json!({"from": "2026-06-01", "note": "A"})).await;
    let kept = windows(&fixture, id).await;
    let own = kept.iter().find(|window| window["startDate"] == "2026-04-06");
    let own = one(id_of(own.expect("the window of a Monday")));
    let (changed, _) = fixture.app.put(&fixture.a.token, &own, json!({"note": "Own"})).await;
    let before = contents(&fixture, id).await;
    let second = update(&fixture, id, &json!({"from": "2026-03-02", "note": "B"})).await;
    let after = windows(&fixture, id).await;

    assert_eq!((first.json()["count"].clone(), changed), (json!(19), 200));
    assert_eq!(noted(&kept, &Value::Null), weekly("2026-01-05", 21));
    assert_eq!(noted(&kept, &json!("A")), weekly("2026-06-01", 19));
    assert_eq!(exceptions(&kept), [] as [String; 0]);
    assert_eq!(second.json()["count"], 31);
    assert_eq!(noted(&after, &Value::Null), weekly("2026-01-05", 8));
    assert_eq!(noted(&after, &json!("A")), [] as [String; 0]);
    assert_eq!(noted(&after, &json!("Own")), ["2026-04-06"]);
    assert_eq!(noted(&after, &json!("B")).len(), 31);
    assert_eq!(exceptions(&after), ["2026-04-06"]);
    assert_eq!(exceptions(&before), ["2026-04-06"]);
    undo_and_redo(&fixture, id, &second, &before).await;
}

#[actix_web::test]
async fn a_rule_applies_from_the_day_of_its_last_update() {
    let fixture = Fixture::new().await;
    let mondays = "FREQ=WEEKLY;BYDAY=MO;UNTIL=20260831";
    let (id, _) = create(&fixture, series("2026-01-05", "2026-01-06", mondays)).await;
    let tuesdays = "FREQ=WEEKLY;BYDAY=TU;UNTIL=20260630";
    let row = async || fixture.app.read(&fixture.a.token, &path(id)).await;

    let original = contents(&fixture, id).await;
    let later = update(&fixture, id, &json!({"from": "2026-06-01", "rrule": tuesdays})).await;
    let expected = [weekly("2026-01-05", 21), weekly("2026-06-02", 5)].concat();
    assert_eq!(days(&fixture, id).await, expected);
    let stored = row().await;
    assert_eq!(
        (&stored["startDate"], &stored["namedStartDate"]),
        (&json!("2026-06-01"), &json!("2026-01-05"))
    );
    undo_and_redo(&fixture, id, &later, &original).await;

    let before = contents(&fixture, id).await;
    let same_rule = json!({"from": "2026-03-02", "rrule": tuesdays});
    let earlier = update(&fixture, id, &same_rule).await;
    let expected = [weekly("2026-01-05", 8), weekly("2026-03-03", 18)].concat();
    assert_eq!(
        (earlier.json()["count"].clone(), days(&fixture, id).await),
        (json!(18), expected)
    );
    assert_eq!(exceptions(&windows(&fixture, id).await), [] as [String; 0]);
    assert_eq!(row().await["startDate"], "2026-03-02");
    undo_and_redo(&fixture, id, &earlier, &before).await;
    let again = update(&fixture, id, &same_rule).await;
    assert_eq!((again.json()["count"].clone(), again.operation()), (json!(0), None));

    let wednesdays = "FREQ=WEEKLY;BYDAY=WE;UNTIL=20260331";
    update(&fixture, id, &json!({"from": "2026-02-02", "rrule": wednesdays})).await;
    let expected = [weekly("2026-01-05", 4), weekly("2026-02-04", 8)].concat();
    assert_eq!(days(&fixture, id).await, expected);

    // No rule begins before the day that the client named.
    update(&fixture, id, &json!({"from": "2025-06-02", "note": "All"})).await;
    assert_eq!(
        noted(&windows(&fixture, id).await, &json!("All")),
        weekly("2026-01-07", 12)
    );
    let stored = row().await;
    assert_eq!(
        (&stored["startDate"], stored.get("namedStartDate")),
        (&json!("2026-01-05"), None)
    );
}

#[actix_web::test]
async fn an_update_without_a_day_applies_from_today() {
    let fixture = Fixture::new().await;
    let (id, _) = create(&fixture, series("2025-12-01", "2025-12-02", "FREQ=WEEKLY;COUNT=12")).await;

    update(&fixture, id, &json!({"from": "2026-02-02", "note": "A"})).await;
    update(&fixture, id, &json!({})).await;

    // Monday, 2026-01-05, is today.
    let windows = windows(&fixture, id).await;
    assert_eq!(noted(&windows, &Value::Null), weekly("2025-12-01", 5));
    assert_eq!(noted(&windows, &json!("A")), weekly("2026-01-05", 7));
}

#[actix_web::test]
async fn a_window_of_an_earlier_rule_is_changed_deleted_and_restored() {
    let fixture = Fixture::new().await;
    let (id, _) = create(&fixture, series("2026-01-05", "2026-01-06", "FREQ=WEEKLY;COUNT=6")).await;
    update(&fixture, id, &json!({"from": "2026-02-02", "note": "A"})).await;
    let before = contents(&fixture, id).await;
    let second = one(id_of(&before[1]));

    for (method, body) in [(Method::PUT, json!({"note": "Own"})), (Method::DELETE, json!({}))] {
        let written = fixture.send(method.clone(), &fixture.a.token, &second, &body).await;
        assert_eq!(written.status, 200, "{method}: {}", written.text());
        let redone = undo_and_redo(&fixture, id, &written, &before).await;
        let (status, body) = fixture.app.undo(&fixture.a.token, redone).await;
        assert_eq!(
            (status, contents(&fixture, id).await),
            (200, before.clone()),
            "{method}: {body}"
        );
    }
}

#[actix_web::test]
async fn the_windows_between_the_horizon_and_the_day_of_an_update_keep_the_earlier_fields() {
    let config = "[calendar]\nhorizon = \"30d\"\n";
    let fixture = Fixture::without_calendar(builder().config(config)).await;
    let (id, count) = create(&fixture, series("2026-01-05", "2026-01-06", "FREQ=WEEKLY")).await;
    let before = contents(&fixture, id).await;

    let too_far = json!({"from": "2199-12-31", "note": "A"});
    let too_far = fixture.code(Method::PUT, &path(id), &too_far).await;
    let updated = update(&fixture, id, &json!({"from": "2026-03-02", "note": "A"})).await;

    assert_eq!(count, json!(5));
    assert_eq!(too_far, (400, "too_many_occurrences".to_owned()));
    assert_eq!(updated.json()["count"], 3);
    assert_eq!(
        noted(&windows(&fixture, id).await, &Value::Null),
        weekly("2026-01-05", 8)
    );
    undo_and_redo(&fixture, id, &updated, &before).await;
    fixture.app.advance(time::Duration::days(70));
    fixture.enqueue(backoffice_calendar::ExtendAllSeries::default()).await;
    fixture.app.run_jobs().await;
    let sql = format!(
        "select series_date::text as day, note from calendar_windows where series_id = '{id}' order by series_date"
    );
    let stored = fixture.app.rows(&sql).await;
    let with = |note: Value| -> Vec<String> {
        let found = stored.iter().filter(|row| row["note"] == note);
        found.map(|row| text(&row["day"])).collect()
    };
    assert_eq!(with(Value::Null), weekly("2026-01-05", 8));
    assert_eq!(with(json!("A")), weekly("2026-03-02", 7));
}

#[actix_web::test]
async fn a_series_that_has_ended_before_loses_exceptions_of_later_days() {
    let fixture = Fixture::new().await;
    let (id, _) = create(&fixture, series("2026-03-02", "2026-03-03", "FREQ=WEEKLY;COUNT=4")).await;
    let last = one(id_of(&windows(&fixture, id).await[3]));
    let (changed, _) = fixture.app.put(&fixture.a.token, &last, json!({"note": "Own"})).await;
    update(
        &fixture,
        id,
        &json!({"from": "2026-03-02", "rrule": "FREQ=WEEKLY;UNTIL=20260309"}),
    )
    .await;
    let before = contents(&fixture, id).await;

    let query = format!("{}?from=2026-03-16", path(id));
    let ended = fixture.send(Method::DELETE, &fixture.a.token, &query, &json!({})).await;
    let left = days(&fixture, id).await;
    undo_and_redo(&fixture, id, &ended, &before).await;
    let again = fixture.send(Method::DELETE, &fixture.a.token, &query, &json!({})).await;

    assert_eq!((changed, before.len()), (200, 3));
    assert_eq!((ended.status, left), (200, weekly("2026-03-02", 2)));
    assert_eq!((again.status, again.operation()), (200, None));
}
