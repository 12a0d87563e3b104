//! The windows that the platform adds to series as time passes.

use actix_web::http::Method;
use backoffice_calendar::ExtendAllSeries;
use backoffice_test_accounts::{id_of, login};
use backoffice_test_support::TestResponse;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, SERIES, WINDOWS, one};
use crate::series::{create, path, series, windows};

/// Creates a series with 25 windows, one each month, up to the horizon of 2028-01-05.
async fn monthly(fixture: &Fixture) -> Uuid {
    let body = series("2026-01-05", "2026-01-06", "FREQ=MONTHLY;BYMONTHDAY=5");
    let (id, count) = create(fixture, body).await;
    assert_eq!(count, json!(25));
    id
}

/// Lets the platform extend all series five weeks later: the one of [`monthly`] by the window of 2028-02-05. Returns a new access token of the administrator.
async fn extend(fixture: &Fixture) -> String {
    fixture.app.advance(time::Duration::weeks(5));
    fixture.enqueue(ExtendAllSeries::default()).await;
    fixture.app.run_jobs().await;
    assert_eq!(
        fixture
            .app
            .count("calendar_windows where series_date = '2028-02-05'")
            .await,
        1
    );
    login(&fixture.app, "admin@alpha.test").await
}

/// Returns the row of a series, without what a volatile field holds, and the rows of its windows, all in the form in which they are stored.
async fn stored(fixture: &Fixture) -> (Value, Vec<Value>) {
    let row = "select to_jsonb(s) - 'updated_at' - 'created_until' as row from calendar_series s";
    let windows = "select to_jsonb(w) - 'updated_at' as row from calendar_windows w order by series_date";
    let mut rows = fixture.app.rows(row).await;
    assert_eq!(rows.len(), 1);
    (rows.remove(0), fixture.app.rows(windows).await)
}

async fn created_until(fixture: &Fixture) -> Value {
    fixture.app.rows("select created_until from calendar_series").await[0]["created_until"].clone()
}

/// Undoes a change that precedes an extension, and expects the rows before it with the window of the extension.
async fn undo(fixture: &Fixture, token: &str, changed: &TestResponse, before: &(Value, Vec<Value>)) {
    let (status, body) = fixture.app.undo(token, changed).await;
    assert_eq!(status, 200, "{body}");
    let (row, windows) = stored(fixture).await;
    assert_eq!(row, before.0);
    assert_eq!((&windows[..25], windows.len()), (&before.1[..], 26));
    let added = &windows[25]["row"];
    assert_eq!(
        (&added["series_date"], &added["note"]),
        (&json!("2028-02-05"), &Value::Null)
    );
    assert_eq!(created_until(fixture).await, "2028-02-09");
}

#[actix_web::test]
async fn a_change_of_a_series_is_undone_and_redone_after_an_extension() {
    let fixture = Fixture::new().await;
    let id = monthly(&fixture).await;
    let before = stored(&fixture).await;
    let note = json!({"note": "Changed"});
    let changed = fixture.send(Method::PUT, &fixture.a.token, &path(id), &note).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let token = extend(&fixture).await;
    let extended = stored(&fixture).await;

    undo(&fixture, &token, &changed, &before).await;
    let (status, body) = fixture.app.redo(&token, &changed).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(stored(&fixture).await, extended);
    assert_eq!(created_until(&fixture).await, "2028-02-09");
}

#[actix_web::test]
async fn a_change_of_a_window_is_undone_after_an_extension_of_its_series() {
    let fixture = Fixture::new().await;
    let id = monthly(&fixture).await;
    let before = stored(&fixture).await;
    let second = one(id_of(&windows(&fixture, id).await[1]));
    let note = json!({"note": "Changed"});
    let changed = fixture.send(Method::PUT, &fixture.a.token, &second, &note).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let token = extend(&fixture).await;

    undo(&fixture, &token, &changed, &before).await;
}

#[actix_web::test]
async fn the_last_window_of_a_rule_stays_when_a_change_before_it_is_undone() {
    let fixture = Fixture::new().await;
    let body = series("2026-01-05", "2026-01-06", "FREQ=MONTHLY;BYMONTHDAY=5;COUNT=26");
    let (id, _) = create(&fixture, body).await;
    let before = stored(&fixture).await;
    let note = json!({"note": "Changed"});
    let changed = fixture.send(Method::PUT, &fixture.a.token, &path(id), &note).await;
    let token = extend(&fixture).await;
    assert_eq!(created_until(&fixture).await, "2199-12-31");

    let (status, body) = fixture.app.undo(&token, &changed).await;

    assert_eq!(status, 200, "{body}");
    let (row, windows) = stored(&fixture).await;
    assert_eq!((row, &windows[..25], windows.len()), (before.0, &before.1[..], 26));
    assert_eq!(created_until(&fixture).await, "2199-12-31");
}

#[actix_web::test]
async fn the_end_of_another_rule_does_not_create_windows_without_end() {
    let fixture = Fixture::new().await;
    let id = monthly(&fixture).await;
    let before = stored(&fixture).await;
    let rule = json!({"rrule": "FREQ=MONTHLY;BYMONTHDAY=5;COUNT=3"});
    let changed = fixture.send(Method::PUT, &fixture.a.token, &path(id), &rule).await;
    assert_eq!(created_until(&fixture).await, "2199-12-31");

    let (status, body) = fixture.app.undo(&fixture.a.token, &changed).await;

    assert_eq!((status, stored(&fixture).await), (200, before), "{body}");
    assert_eq!(created_until(&fixture).await, "2028-01-05");
}

#[actix_web::test]
async fn an_extension_is_no_change_of_its_series() {
    let fixture = Fixture::new().await;
    let id = monthly(&fixture).await;
    let mut row = fixture.app.read(&fixture.a.token, &path(id)).await;
    let of_series = format!("{WINDOWS}?seriesId={id}");
    let get = async |token: &str, path: &str, tag: &str| {
        let request = fixture.app.request(Method::GET, path).bearer(token);
        request.header("If-None-Match", tag).send().await
    };
    let mut tags = Vec::new();
    for path in [path(id), of_series] {
        let tag = get(&fixture.a.token, &path, "W/\"other\"").await.header("etag");
        tags.push((path, tag.expect("a tag")));
    }
    let logged = async || {
        let mut rows = fixture.app.rows("select * from audit_action_logs order by id").await;
        rows.extend(
            fixture
                .app
                .rows("select * from audit_resource_versions order by id")
                .await,
        );
        rows.extend(fixture.app.rows("select * from core_outbox_events order by id").await);
        rows
    };
    let before = logged().await;

    fixture.app.advance(time::Duration::weeks(5));
    fixture.enqueue(ExtendAllSeries::default()).await;
    fixture.app.run_jobs().await;
    assert_eq!(logged().await, before);

    let token = login(&fixture.app, "admin@alpha.test").await;
    for (path, tag) in tags {
        assert_eq!(get(&token, &path, &tag).await.status, 200, "{path} has changed");
    }
    let extended = fixture.app.read(&token, &path(id)).await;
    row["createdUntil"] = json!("2028-02-09");
    assert_eq!(extended, row);
    let request = fixture.app.request(Method::PUT, &path(id)).bearer(&token);
    let request = request.header(
        "If-Match",
        &format!("\"{}\"", row["updatedAt"].as_str().expect("an instant")),
    );
    let changed = request.json(&json!({"note": "Changed"})).send().await;
    assert_eq!(changed.status, 200, "{}", changed.text());
}

#[actix_web::test]
async fn the_series_of_a_deleted_tenant_are_extended_once_the_tenant_is_back() {
    let fixture = Fixture::new().await;
    monthly(&fixture).await;
    let of_beta = series("2026-01-05", "2026-01-06", "FREQ=MONTHLY;BYMONTHDAY=5");
    let (status, body) = fixture.app.post(&fixture.b.token, SERIES, of_beta).await;
    assert_eq!(status, 201, "{body}");
    fixture.delete_alpha().await;
    let extend = async || {
        fixture.app.advance(time::Duration::weeks(5));
        fixture.enqueue(ExtendAllSeries::default()).await;
        fixture.app.run_jobs().await;
    };
    let last_windows = async || {
        let sql = "select s.tenant_id, max(w.series_date) as last from calendar_series s \
            join calendar_windows w on w.tenant_id = s.tenant_id and w.series_id = s.id group by s.tenant_id";
        let rows = fixture.app.rows(sql).await;
        [fixture.a.id, fixture.b.id].map(|tenant| {
            let own = rows.iter().find(|row| row["tenant_id"] == json!(tenant));
            own.map(|row| row["last"].clone()).unwrap_or_default()
        })
    };

    extend().await;
    assert_eq!(last_windows().await, ["2028-01-05", "2028-02-05"]);
    let open = "core_jobs where kind = 'calendar.series.extend_all' and state <> 'done'";
    assert_eq!(fixture.app.count(open).await, 0);

    fixture.restore_alpha().await;
    extend().await;
    assert_eq!(last_windows().await, ["2028-03-05"; 2]);
}
