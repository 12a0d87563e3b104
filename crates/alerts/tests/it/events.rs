//! The events of alerts.

use actix_web::http::Method;
use backoffice_test_support::Duration;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{ASSIGNMENTS, Fixture, instant, text};

/// Returns the events of alerts, in their order.
async fn events(fixture: &Fixture) -> Vec<Value> {
    let sql = "select name, payload, feature from core_outbox_events where name like 'alerts.alert.%' order by seq";
    fixture.app.rows(sql).await
}

/// Returns an event about an overlap of assignments of the excavator.
fn event(fixture: &Fixture, alert: &Value, name: &str, kind: &str, assignments: &[Uuid]) -> Value {
    let payload = json!({"id": alert["alertId"], "tenantId": fixture.a.id, "organizationId": fixture.a.organization,
        "kind": kind, "urgency": "critical", "subjectType": "equipment", "subjectId": fixture.e1,
        "conflictingAssignmentIds": assignments});
    json!({"name": name, "payload": payload, "feature": "alerts.view"})
}

fn updated(fixture: &Fixture, alert: &Value, kind: &str, assignments: &[Uuid], grown: bool) -> Value {
    let mut event = event(fixture, alert, "alerts.alert.updated", kind, assignments);
    event["payload"]["grown"] = json!(grown);
    event
}

#[actix_web::test]
async fn an_alert_is_announced_when_it_opens_changes_grows_and_ends() {
    let fixture = Fixture::new().await;
    let (same, different) = ("subject_overlap_same_site", "subject_overlap_different_sites");
    let first = fixture.assign("06T08", "06T12").await;
    let second = fixture.assign("06T11", "06T15").await;
    let alert = fixture.only().await;

    fixture
        .change(ASSIGNMENTS, second, json!({"jobSiteId": fixture.s2}))
        .await;
    let third = fixture.assign("06T14", "06T16").await;
    fixture.remove(ASSIGNMENTS, second).await;

    assert_eq!(
        events(&fixture).await,
        [
            event(&fixture, &alert, "alerts.alert.opened", same, &[first, second]),
            updated(&fixture, &alert, different, &[first, second], false),
            updated(&fixture, &alert, different, &[first, second, third], true),
            event(
                &fixture,
                &alert,
                "alerts.alert.resolved",
                different,
                &[first, second, third]
            ),
        ]
    );
}

#[actix_web::test]
async fn an_alert_that_ends_by_itself_is_announced_by_the_sweep() {
    let fixture = Fixture::new().await;
    let first = fixture.assign("06T08", "06T12").await;
    let second = fixture.assign("06T11", "06T15").await;
    let alert = fixture.only().await;
    fixture.app.clock().set(instant("2026-01-06T12:00:00Z"));

    fixture.run_schedules().await;
    fixture.app.advance(Duration::MINUTE);
    fixture.run_schedules().await;

    let events = events(&fixture).await;
    let names: Vec<String> = events.iter().map(|event| text(&event["name"])).collect();
    assert_eq!(names, ["alerts.alert.opened", "alerts.alert.resolved"]);
    let kind = "subject_overlap_same_site";
    assert_eq!(
        events[1],
        event(&fixture, &alert, "alerts.alert.resolved", kind, &[first, second])
    );
}

#[actix_web::test]
async fn an_acknowledgement_is_announced_with_what_the_alert_is_about() {
    let fixture = Fixture::new().await;
    fixture.assign("06T08", "06T12").await;
    fixture.assign("06T11", "06T15").await;
    let alert = fixture.only().await;

    let acknowledged = fixture.about(&fixture.d.token, Method::POST, &alert, "acknowledge", json!({}));
    let acknowledged = acknowledged.await;

    assert_eq!(acknowledged.status, 200, "{}", acknowledged.text());
    let mut expected = event(
        &fixture,
        &alert,
        "alerts.alert.updated",
        "subject_overlap_same_site",
        &[],
    );
    let payload = expected["payload"].as_object_mut().expect("an object");
    payload.remove("conflictingAssignmentIds");
    assert_eq!(events(&fixture).await.last(), Some(&expected));
}
