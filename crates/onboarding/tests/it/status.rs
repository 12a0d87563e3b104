//! The status of a request.

use actix_web::http::Method;
use backoffice_test_support::Duration;
use serde_json::json;

use crate::fixture::{Fixture, STATUS};

#[actix_web::test]
async fn onb_6_only_the_status_token_shows_the_status() {
    let fixture = Fixture::new().await;
    let (person, token) = fixture.invited("new@example.com", "New").await;
    let tenant = fixture.a.id;
    for (path, status) in [
        (format!("{STATUS}?tenantId={tenant}"), 400),
        (STATUS.to_owned(), 400),
        (format!("{STATUS}?statusToken="), 400),
        (format!("{STATUS}?statusToken={}", "C".repeat(43)), 404),
        (format!("{STATUS}?statusToken=%00&tenantId={tenant}"), 404),
        (format!("{STATUS}?statusToken={token}"), 404),
    ] {
        let response = fixture.app.request(Method::GET, &path).send().await;
        assert_eq!(
            (response.status, &response.json()["ok"]),
            (status, &json!(false)),
            "{path}"
        );
    }
    let before = json!({
        "ok": true, "status": "pending", "ready": false, "emailSent": true, "tenantId": null, "loginUrl": null,
    });
    assert_eq!(fixture.status(&person.status_token).await, before);
    let request = fixture.app.request(Method::GET, STATUS);
    let by_cookie = request.cookie("onboarding_status", &person.status_token).send().await;
    assert_eq!(by_cookie.json(), before);
    assert_eq!(by_cookie.header("cache-control").as_deref(), Some("no-store"));
    fixture.open(&token, "application/json", None).await;
    fixture.app.run_jobs().await;
    assert_eq!(fixture.status(&person.status_token).await["status"], "completed");
}

#[actix_web::test]
async fn a_request_of_an_account_is_pending_and_then_expired() {
    let fixture = Fixture::new().await;
    let person = fixture.person("admin@alpha.test", "Known").await;
    assert_eq!(fixture.status(&person.status_token).await["status"], "pending");
    fixture.app.advance(Duration::seconds(86_401));
    let status = fixture.status(&person.status_token).await;
    assert_eq!(
        (&status["status"], &status["ready"]),
        (&json!("expired"), &json!(false))
    );
}
