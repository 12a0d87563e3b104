//! Working days.

use actix_web::http::Method;
use serde_json::json;

use crate::fixture::{CALENDAR, Fixture, text};

const DAYS: &str = "/calendar/working-days";

#[actix_web::test]
async fn weekdays_and_holidays_are_off() {
    let fixture = Fixture::new().await;
    let body = json!({"timeZone": "Europe/Warsaw", "offWeekdays": ["sat", "sun"],
        "holidays": [{"date": "2026-01-06", "name": "Epiphany"}, {"date": "2026-01-10"}]});
    fixture.send(Method::PUT, &fixture.a.token, CALENDAR, &body).await;

    let path = format!("{DAYS}?from=2026-01-05&to=2026-01-12");
    let (status, body) = fixture.app.get(&fixture.a.token, &path).await;

    let expected = json!({
        "timeZone": "Europe/Warsaw",
        "workingDays": ["2026-01-05", "2026-01-07", "2026-01-08", "2026-01-09"],
        "offDays": [
            {"date": "2026-01-06", "reason": "holiday", "name": "Epiphany"},
            {"date": "2026-01-10", "reason": "holiday", "name": ""},
            {"date": "2026-01-11", "reason": "weekday", "name": ""},
        ],
    });
    assert_eq!((status, body), (200, expected));
}

#[actix_web::test]
async fn the_range_of_days_is_bounded() {
    let fixture = Fixture::new().await;

    for (query, expected) in [
        ("from=2026-01-05&to=2026-01-05", "invalid_date_range"),
        ("from=2026-01-05&to=2029-01-06", "range_too_long"),
        ("from=2026-01-05", "invalid_query"),
        ("from=2026-02-30&to=2026-03-01", "invalid_query"),
    ] {
        let (status, body) = fixture.app.get(&fixture.a.token, &format!("{DAYS}?{query}")).await;
        assert_eq!((status, text(&body["code"])), (400, expected.to_owned()), "{query}");
    }
    let (status, _) = fixture
        .app
        .get(&fixture.a.token, &format!("{DAYS}?from=2026-01-05&to=2029-01-05"))
        .await;
    assert_eq!(status, 200);
}
