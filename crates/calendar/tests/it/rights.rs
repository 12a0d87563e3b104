//! Default grants, and the features of the endpoints.

use serde_json::{Value, json};

use crate::fixture::{CALENDAR, Fixture, WINDOWS, one, window};

#[actix_web::test]
async fn an_employee_sees_windows_and_changes_none() {
    let fixture = Fixture::new().await;
    let (_, employee) = fixture.user("employee@alpha.test", &["employee"]).await;
    let id = fixture.window("2026-03-29", "2026-03-30").await;

    let (seen, _) = fixture.app.get(&employee, &one(id)).await;
    let (status, body) = fixture
        .app
        .post(&employee, WINDOWS, window("2026-03-29", "2026-03-30"))
        .await;

    assert_eq!(seen, 200);
    let expected = json!({"code": "forbidden", "error": "Forbidden", "requiredFeatures": ["calendar.manage"]});
    assert_eq!((status, body), (403, expected));
}

#[actix_web::test]
async fn a_user_without_features_is_rejected_and_an_anonymous_request_too() {
    let fixture = Fixture::new().await;
    fixture.role("Nothing", &["auth.acl.manage"], None).await;
    let (_, without) = fixture.user("nobody@alpha.test", &["Nothing"]).await;

    for path in [
        WINDOWS,
        CALENDAR,
        "/calendar/unavailability-reasons",
        "/calendar/working-days?from=2026-01-01&to=2026-01-02",
        "/calendar/feeds",
    ] {
        let (status, body) = fixture.app.get(&without, path).await;
        assert_eq!((status, &body["code"]), (403, &json!("forbidden")), "{path}");
        let (status, body) = fixture.app.get("", path).await;
        assert_eq!((status, &body["code"]), (401, &json!("unauthorized")), "{path}");
    }
}

#[actix_web::test]
async fn a_malformed_body_has_a_code() {
    let fixture = Fixture::new().await;

    for body in [json!([]), json!("x")] {
        let (status, body) = fixture.app.post(&fixture.a.token, WINDOWS, body).await;
        assert_eq!((status, &body["code"]), (400, &json!("invalid_body")));
    }
    let (status, body) = fixture
        .app
        .post(&fixture.root, WINDOWS, window("2026-03-29", "2026-03-30"))
        .await;
    assert_eq!((status, body["code"] != Value::Null), (400, true), "{body}");
}
