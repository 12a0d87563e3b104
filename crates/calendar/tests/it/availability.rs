//! Busy intervals of resources.

use serde_json::json;
use uuid::Uuid;

use crate::fixture::{E1, Fixture, text};

const AVAILABILITY: &str = "/calendar/availability";

#[actix_web::test]
async fn windows_make_a_resource_busy() {
    let fixture = Fixture::new().await;
    let id = fixture.window("2026-03-10", "2026-03-12").await;
    fixture.window("2026-04-10", "2026-04-12").await;
    let other = Uuid::from_u128(5);
    let query = async |from: &str, to: &str| {
        let path = format!("{AVAILABILITY}?resourceType=equipment&resourceIds={E1},{other}&from={from}&to={to}");
        fixture.app.get(&fixture.a.token, &path).await
    };

    let (status, busy) = query("2026-03-11T22:59:59Z", "2026-03-20T00:00:00Z").await;
    let (_, free) = query("2026-03-11T23:00:00Z", "2026-03-20T00:00:00Z").await;

    let interval = json!({"startAt": "2026-03-09T23:00:00.000Z", "endAt": "2026-03-11T23:00:00.000Z", "source": "window", "id": id});
    let expected = json!({"items": [{"resourceId": E1, "busy": [interval]}, {"resourceId": other, "busy": []}]});
    assert_eq!((status, busy), (200, expected));
    assert_eq!(free["items"][0]["busy"], json!([]));
}

#[actix_web::test]
async fn the_request_is_bounded() {
    let fixture = Fixture::new().await;
    let ids: Vec<String> = (1..=201).map(|number| Uuid::from_u128(number).to_string()).collect();
    let from_to = "from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z";

    for (query, expected) in [
        (
            format!("resourceType=crane&resourceIds={E1}&{from_to}"),
            "invalid_query",
        ),
        (format!("resourceIds={E1}&{from_to}"), "invalid_query"),
        (format!("resourceType=worker&{from_to}"), "invalid_query"),
        (
            format!("resourceType=worker&resourceIds={}&{from_to}", ids.join(",")),
            "invalid_query",
        ),
        (
            format!("resourceType=worker&resourceIds={E1}&from=2026-01-01T00:00:00Z"),
            "invalid_query",
        ),
        (
            format!("resourceType=worker&resourceIds={E1}&from=2026-01-01T00:00:00Z&to=2027-02-06T00:00:00Z"),
            "range_too_long",
        ),
    ] {
        let (status, body) = fixture
            .app
            .get(&fixture.a.token, &format!("{AVAILABILITY}?{query}"))
            .await;
        assert_eq!((status, text(&body["code"])), (400, expected.to_owned()), "{query}");
    }
}

#[actix_web::test]
async fn another_tenant_sees_no_busy_interval() {
    let fixture = Fixture::new().await;
    fixture.window("2026-03-10", "2026-03-12").await;

    let path = format!(
        "{AVAILABILITY}?resourceType=equipment&resourceIds={E1}&from=2026-03-01T00:00:00Z&to=2026-04-01T00:00:00Z"
    );
    let (status, body) = fixture.app.get(&fixture.b.token, &path).await;

    assert_eq!((status, &body["items"][0]["busy"]), (200, &json!([])));
}
