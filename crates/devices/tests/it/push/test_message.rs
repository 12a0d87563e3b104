//! Test messages.

use actix_web::http::Method;
use serde_json::{Value, json};

use super::standins::{Browser, LOCAL, Reply, Service, WEBPUSH};
use crate::fixture::{Fixture, builder, delivery, one};

fn path(device: &Value) -> String {
    format!("{}/test-push", one(device))
}

async fn fixture() -> Fixture {
    Fixture::of(builder().config(LOCAL).config(WEBPUSH)).await
}

#[actix_web::test]
async fn a_test_message_is_in_the_language_of_the_device() {
    let (fixture, service, browser) = (fixture().await, Service::start().await, Browser::new(9));
    let token = &fixture.a.token;
    let body = json!({"deviceId": "b", "platform": "web", "locale": "de-AT", "pushToken": browser.subscription(&service.url("/1"))});
    let device = fixture.register(token, body).await;

    let tested = fixture.app.post(token, &path(&device), json!({})).await;

    assert_eq!(tested, (200, json!({"status": "sent", "error": null})));
    let message = browser.decrypt(&service.take().remove(0));
    assert_eq!(
        (&message["title"], &message["notificationId"]),
        (&json!("Testnachricht"), &Value::Null)
    );
    assert_eq!(fixture.deliveries().await, [delivery("sent", 1, None)]);

    service.respond(|_| Reply::status(500));
    let failed = fixture.app.post(token, &path(&device), json!({})).await;
    assert_eq!(failed, (200, json!({"status": "failed", "error": "not_accepted"})));
    service.respond(|_| Reply::status(410));
    let ended = fixture.app.post(token, &path(&device), json!({})).await;
    assert_eq!(ended, (200, json!({"status": "failed", "error": "unregistered"})));
    assert_eq!(fixture.devices(token).await[0]["pushEnabled"], false);
    let empty = fixture.app.post(token, &path(&device), json!({})).await;
    assert_eq!(empty, (200, json!({"status": "failed", "error": "no_token"})));
}

#[actix_web::test]
async fn only_the_owner_sends_test_messages() {
    let fixture = fixture().await;
    let device = fixture
        .register(
            &fixture.a.token,
            json!({"deviceId": "b", "platform": "ios", "pushToken": "t"}),
        )
        .await;
    fixture.role("Viewer", &["devices.view"], None).await;
    let (_, viewer) = fixture.user("viewer@alpha.test", &["Viewer"]).await;
    fixture.role("Manager", &["devices.*"], None).await;
    let (_, manager) = fixture.user("manager@alpha.test", &["Manager"]).await;
    let post = async |token: &str, path: &str| fixture.app.post(token, path, json!({})).await;

    assert_eq!(post(&viewer, &path(&device)).await.0, 403);
    let (status, body) = post(&manager, &path(&device)).await;
    assert_eq!((status, &body["code"]), (403, &json!("not_owner")));
    assert_eq!(post(&fixture.b.token, &path(&device)).await.0, 404);
    let unknown = "/devices/a0000000-0000-7000-8000-000000000000/test-push";
    assert_eq!(post(&fixture.a.token, unknown).await.0, 404);
    assert_eq!(post(&fixture.a.token, "/devices/x/test-push").await.0, 400);
    let key = json!({"name": "K", "roles": ["admin"]});
    let (_, key) = fixture.app.post(&fixture.a.token, "/api_keys/keys", key).await;
    let request = fixture.app.request(Method::POST, &path(&device));
    let response = request
        .header("X-Api-Key", key["secret"].as_str().expect("a key"))
        .send()
        .await;
    assert_eq!(
        (response.status, &response.json()["code"]),
        (403, &json!("user_required"))
    );
    assert!(fixture.deliveries().await.is_empty());
}

#[actix_web::test]
async fn a_device_gets_five_test_messages_in_a_minute() {
    let fixture = Fixture::of(builder()).await;
    let token = &fixture.a.token;
    let first = fixture
        .register(token, json!({"deviceId": "a", "platform": "ios", "pushToken": "t"}))
        .await;
    let second = fixture
        .register(token, json!({"deviceId": "b", "platform": "ios", "pushToken": "u"}))
        .await;
    let post = async |path: &str| fixture.app.post(token, path, json!({})).await.0;

    for _ in 0..5 {
        assert_eq!(post(&path(&first)).await, 200);
    }

    assert_eq!(post(&path(&first)).await, 429);
    assert_eq!(
        post(
            &path(&first)
                .to_uppercase()
                .replace("DEVICES", "devices")
                .replace("TEST-PUSH", "test-push")
        )
        .await,
        429
    );
    assert_eq!(post(&path(&second)).await, 200);
}

#[actix_web::test]
async fn requests_of_others_do_not_count_against_the_limit_of_a_device() {
    let fixture = Fixture::of(builder()).await;
    let (_, colleague) = fixture.user("employee@alpha.test", &["employee"]).await;
    let device = fixture
        .register(
            &fixture.a.token,
            json!({"deviceId": "a", "platform": "ios", "pushToken": "t"}),
        )
        .await;
    let post = async |token: &str| fixture.app.post(token, &path(&device), json!({})).await.0;

    for _ in 0..6 {
        assert_eq!(post(&colleague).await, 403);
    }

    assert_eq!(post(&fixture.a.token).await, 200);
}
