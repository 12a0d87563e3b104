//! What the calendar knows of assignments and resources.

use serde_json::json;
use uuid::Uuid;

use crate::fixture::{Fixture, builder};

const WINDOWS: &str = "/calendar/availability-windows";

#[actix_web::test]
async fn live_assignments_are_busy_time() {
    let fixture = Fixture::new().await;
    let id = fixture.assign("08:00", "12:00").await;
    let mut cancelled = fixture.at("13:00", "14:00");
    cancelled["status"] = json!("cancelled");
    fixture.create(crate::fixture::ASSIGNMENTS, cancelled).await;

    let path = format!(
        "/calendar/availability?resourceType=equipment&resourceIds={}&from=2026-01-06T11:00:00Z&to=2026-01-07T00:00:00Z",
        fixture.e1
    );
    let found = fixture.get(&path).await;

    assert_eq!(
        found["items"],
        json!([{"resourceId": fixture.e1, "busy": [{"startAt": "2026-01-06T08:00:00.000Z", "endAt": "2026-01-06T12:00:00.000Z",
            "source": "assignment", "id": id}]}])
    );
}

#[actix_web::test]
async fn windows_of_unknown_resources_are_rejected_if_the_configuration_is_strict() {
    let window = |resource: Uuid| {
        json!({"resourceType": "equipment", "resourceId": resource, "startDate": "2026-01-12", "endDateExclusive": "2026-01-14",
            "reasonCode": "maintenance"})
    };
    let strict = Fixture::of(builder().config("[dispatch]\nstrict_resources = true\n")).await;
    let lenient = Fixture::new().await;

    let (status, rejection) = strict.post(WINDOWS, window(Uuid::from_u128(1))).await;
    assert_eq!(
        (status, &rejection["code"]),
        (400, &json!("resource_not_found")),
        "{rejection}"
    );
    assert_eq!(strict.post(WINDOWS, window(strict.e1)).await.0, 201);
    assert_eq!(lenient.post(WINDOWS, window(Uuid::from_u128(1))).await.0, 201);
}
