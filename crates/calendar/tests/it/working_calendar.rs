//! The working calendar, and what the replacement of its zone changes.

use actix_web::http::Method;
use backoffice_test_accounts::{CONFIG, NO_LIMITS};
use serde_json::{Value, json};

use crate::fixture::{CALENDAR, Fixture, builder, one, text};

fn calendar(zone: &str, off: Value, holidays: Value) -> Value {
    json!({"timeZone": zone, "offWeekdays": off, "holidays": holidays})
}

#[actix_web::test]
async fn an_organization_without_a_calendar_has_the_configured_zone() {
    let fixture = Fixture::without_calendar(builder()).await;

    let (status, body) = fixture.app.get(&fixture.a.token, CALENDAR).await;

    let expected = json!({"timeZone": "UTC", "offWeekdays": ["sat", "sun"], "holidays": [], "updatedAt": null});
    assert_eq!((status, body), (200, expected));
}

#[actix_web::test]
async fn the_default_zone_is_configured() {
    let fixture = Fixture::without_calendar(builder().config("[calendar]\ndefault_time_zone = \"asia/tokyo\"\n")).await;

    let (_, body) = fixture.app.get(&fixture.a.token, CALENDAR).await;
    let id = fixture.window("2026-03-29", "2026-03-30").await;

    assert_eq!(body["timeZone"], "Asia/Tokyo");
    let expected = ["2026-03-28T15:00:00.000Z", "2026-03-29T15:00:00.000Z"];
    assert_eq!(fixture.instants(id).await, expected);
}

#[actix_web::test]
async fn dsp_14_a_replacement_keeps_the_ids_of_kept_days_and_undo_restores_them() {
    let fixture = Fixture::without_calendar(builder()).await;
    let put = async |holidays: Value| {
        let body = calendar("europe/warsaw", json!(["sun", "sat"]), holidays);
        fixture.send(Method::PUT, &fixture.a.token, CALENDAR, &body).await
    };

    let first = put(json!([{"date": "2026-12-25", "name": "Christmas"}, {"date": "2026-01-06"}])).await;
    let second = put(json!([{"date": "2026-12-25"}, {"date": "2026-12-26"}, {"date": "2026-01-06"}])).await;
    let (status, _) = fixture.app.undo(&fixture.a.token, &second).await;
    let (_, restored) = fixture.app.get(&fixture.a.token, CALENDAR).await;
    let (redo_status, _) = fixture.app.redo(&fixture.a.token, &second).await;
    let (_, redone) = fixture.app.get(&fixture.a.token, CALENDAR).await;

    let (first, second) = (first.json(), second.json());
    let days = |body: &Value| -> Vec<(String, String)> {
        let holidays = body["holidays"].as_array().expect("holidays").iter();
        holidays.map(|one| (text(&one["date"]), text(&one["id"]))).collect()
    };
    assert_eq!(first["timeZone"], "Europe/Warsaw");
    assert_eq!(first["offWeekdays"], json!(["sat", "sun"]));
    assert_eq!(first["holidays"][1]["name"], "Christmas");
    assert_eq!(first["holidays"][0]["name"], "");
    let dates: Vec<String> = days(&first).into_iter().map(|(date, _)| date).collect();
    assert_eq!(dates, ["2026-01-06", "2026-12-25"]);
    assert_eq!(days(&second)[..2], days(&first)[..]);
    assert_eq!(days(&second)[2].0, "2026-12-26");
    assert_eq!((status, redo_status), (200, 200));
    assert_eq!(restored["holidays"], first["holidays"]);
    assert_eq!(redone["holidays"], second["holidays"]);
}

#[actix_web::test]
async fn dsp_15_a_calendar_has_rules() {
    let fixture = Fixture::without_calendar(builder()).await;
    let twice = json!([{"date": "2026-12-25"}, {"date": "2026-12-25"}]);
    let off = json!(["sat"]);
    let many: Vec<Value> = (0..1001).map(|_| json!({"date": "2026-12-25"})).collect();

    for (body, expected) in [
        (calendar("Mars/Olympus", off.clone(), json!([])), "invalid_time_zone"),
        (calendar("+02:00", off.clone(), json!([])), "invalid_time_zone"),
        (calendar("CET-1CEST", off.clone(), json!([])), "invalid_time_zone"),
        (calendar("Etc/Unknown", off.clone(), json!([])), "invalid_time_zone"),
        (calendar("", off.clone(), json!([])), "invalid_time_zone"),
        (
            calendar("UTC", json!(["mon", "mon"]), json!([])),
            "invalid_off_weekdays",
        ),
        (calendar("UTC", json!(["monday"]), json!([])), "invalid_off_weekdays"),
        (calendar("UTC", off.clone(), twice), "duplicate_holiday"),
        (
            calendar("UTC", off.clone(), json!([{"date": "2026-02-29"}])),
            "invalid_holiday",
        ),
        (calendar("UTC", off.clone(), json!([{"name": "x"}])), "invalid_holiday"),
        (calendar("UTC", off.clone(), json!(many)), "invalid_holiday"),
        (
            calendar(
                "UTC",
                off.clone(),
                json!([{"date": "2026-12-25", "name": "x".repeat(121)}]),
            ),
            "invalid_holiday",
        ),
        (json!({"timeZone": "UTC", "offWeekdays": ["sat"]}), "invalid_body"),
        (calendar("UTC", Value::Null, json!([])), "invalid_body"),
        (calendar("UTC", off.clone(), json!("x")), "invalid_body"),
    ] {
        let response = fixture.code(Method::PUT, CALENDAR, &body).await;
        assert_eq!(response, (400, expected.to_owned()), "{body}");
    }
    let (_, stored) = fixture.app.get(&fixture.a.token, CALENDAR).await;
    assert_eq!(stored["updatedAt"], Value::Null);
}

#[actix_web::test]
async fn the_first_calendar_derives_instants_of_an_earlier_default_zone_again() {
    let fixture = Fixture::without_calendar(builder()).await;
    let id = fixture.window("2026-03-29", "2026-03-30").await;
    let configured = format!("{CONFIG}{NO_LIMITS}[calendar]\ndefault_time_zone = \"Asia/Tokyo\"\n");
    let node = fixture.app.second_node_with(&configured).await;

    let first = fixture.instants(id).await;
    let body = calendar("Asia/Tokyo", json!(["sun"]), json!([]));
    let replaced = node.send(&fixture.a.token, Method::PUT, CALENDAR, &body).await;
    let derived = fixture.instants(id).await;
    let (status, undone) = fixture.app.undo(&fixture.a.token, &replaced).await;

    assert_eq!(first, ["2026-03-29T00:00:00.000Z", "2026-03-30T00:00:00.000Z"]);
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    assert_eq!(derived, ["2026-03-28T15:00:00.000Z", "2026-03-29T15:00:00.000Z"]);
    // The default zone of the node that undoes it.
    assert_eq!((status, fixture.instants(id).await), (200, first), "{undone}");
}

#[actix_web::test]
async fn dsp_16_another_zone_gives_windows_other_instants_and_undo_the_first_ones() {
    let fixture = Fixture::new().await;
    let id = fixture.window("2026-03-29", "2026-03-30").await;
    let first = fixture.get_window(id).await;

    let replaced = fixture.zone("America/Sao_Paulo").await;
    let moved = fixture.get_window(id).await;
    let (status, _) = fixture.app.undo(&fixture.a.token, &replaced).await;
    let back = fixture.instants(id).await;
    let (redo_status, _) = fixture.app.redo(&fixture.a.token, &replaced).await;
    let again = fixture.instants(id).await;

    let expected = ["2026-03-29T03:00:00.000Z", "2026-03-30T03:00:00.000Z"];
    assert_eq!([text(&moved["startAt"]), text(&moved["endAt"])], expected);
    for field in ["startDate", "endDateExclusive", "updatedAt"] {
        assert_eq!(moved[field], first[field], "{field}");
    }
    assert_eq!((status, redo_status), (200, 200));
    assert_eq!(back, ["2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"]);
    assert_eq!(again, expected);
}

#[actix_web::test]
async fn the_undo_of_the_first_calendar_returns_to_the_default_zone() {
    let fixture = Fixture::without_calendar(builder()).await;
    let id = fixture.window("2026-03-29", "2026-03-30").await;

    let replaced = fixture.zone("Europe/Warsaw").await;
    let in_warsaw = fixture.instants(id).await;
    let (status, body) = fixture.app.undo(&fixture.a.token, &replaced).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(in_warsaw[0], "2026-03-28T23:00:00.000Z");
    assert_eq!(fixture.instants(id).await[0], "2026-03-29T00:00:00.000Z");
}

#[actix_web::test]
async fn another_zone_changes_the_entity_tag_of_windows() {
    let fixture = Fixture::new().await;
    let id = fixture.window("2026-03-29", "2026-03-30").await;
    let tag = async || {
        let response = fixture
            .app
            .request(Method::GET, &one(id))
            .bearer(&fixture.a.token)
            .send()
            .await;
        response.header("etag").expect("a tag")
    };

    let before = tag().await;
    fixture.zone("America/Sao_Paulo").await;

    assert_ne!(tag().await, before);
}

#[actix_web::test]
async fn the_same_calendar_again_stores_nothing() {
    let fixture = Fixture::new().await;
    let entries = async || fixture.app.rows("select id from audit_action_logs").await.len();
    let before = entries().await;

    let response = fixture.zone("Europe/Warsaw").await;

    assert_eq!(response.operation(), None);
    assert_eq!(entries().await, before);
}

#[actix_web::test]
async fn writers_and_a_replacement_of_the_zone_never_leave_an_old_instant() {
    let fixture = Fixture::new().await;
    let days = (1..=28).map(|day| (format!("2026-02-{day:02}"), day));
    let writes = days.map(|(start, _)| {
        let fixture = &fixture;
        async move { fixture.window(&start, "2026-03-01").await }
    });
    let replace = async {
        for zone in ["Asia/Tokyo", "America/Sao_Paulo", "Asia/Kathmandu"] {
            fixture.zone(zone).await;
        }
    };

    let (ids, ()) = futures_util::future::join(futures_util::future::join_all(writes), replace).await;

    for id in ids {
        assert_eq!(fixture.instants(id).await[1], "2026-02-28T18:15:00.000Z");
    }
}
