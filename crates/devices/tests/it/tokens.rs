//! Tokens for push messages: sealed, of one device, in no response or log.

use actix_web::http::Method;
use backoffice_test_accounts::login;
use backoffice_test_support::Duration;
use serde_json::{Value, json};

use crate::fixture::{DEVICES, Fixture, one};

const TOKEN: &str = "a-token-for-push-messages";

#[actix_web::test]
async fn dev_5_a_token_belongs_to_the_device_that_registered_it_last() {
    let fixture = Fixture::new().await;
    let (_, second) = fixture.user("employee@alpha.test", &["employee"]).await;
    let body = json!({"deviceId": "phone", "platform": "ios", "pushToken": TOKEN, "pushProvider": "log"});
    fixture.register(&fixture.a.token, body.clone()).await;
    assert_eq!(fixture.devices(&fixture.a.token).await[0]["pushEnabled"], true);

    fixture.register(&second, body).await;

    assert_eq!(fixture.devices(&fixture.a.token).await[0]["pushEnabled"], false);
    assert_eq!(fixture.devices(&second).await[0]["pushEnabled"], true);
}

#[actix_web::test]
async fn a_change_of_the_provider_takes_the_token_and_its_undo_leaves_it_to_others() {
    let fixture = Fixture::new().await;
    let (_, second) = fixture.user("employee@alpha.test", &["employee"]).await;
    let body =
        |provider: &str| json!({"deviceId": "phone", "platform": "ios", "pushToken": TOKEN, "pushProvider": provider});
    let enabled = async || {
        let own = fixture.devices(&fixture.a.token).await[0]["pushEnabled"].clone();
        (own, fixture.devices(&second).await[0]["pushEnabled"].clone())
    };
    let first = fixture.register(&fixture.a.token, body("one")).await;
    fixture.register(&second, body("two")).await;
    assert_eq!(enabled().await, (json!(true), json!(true)));

    let change = json!({"pushProvider": "two"});
    let changed = fixture
        .app
        .send(&fixture.a.token, Method::PUT, &one(&first), &change)
        .await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!(enabled().await, (json!(true), json!(false)));

    fixture.register(&second, body("one")).await;
    assert_eq!(enabled().await, (json!(true), json!(true)));
    assert_eq!(fixture.app.undo(&fixture.a.token, &changed).await.0, 200);
    assert_eq!(fixture.devices(&fixture.a.token).await[0]["pushProvider"], "one");
    assert_eq!(enabled().await, (json!(false), json!(true)));
}

#[actix_web::test]
async fn dev_5_a_token_of_an_update_is_lost_to_the_next_registration() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let (_, second) = fixture.user("employee@alpha.test", &["employee"]).await;
    let device = fixture
        .register(token, json!({"deviceId": "phone", "platform": "ios"}))
        .await;
    let (status, body) = fixture.app.put(token, &one(&device), json!({"pushToken": TOKEN})).await;
    assert_eq!(status, 200, "{body}");
    let before = fixture.devices(token).await;

    fixture
        .register(
            &second,
            json!({"deviceId": "phone", "platform": "ios", "pushToken": TOKEN}),
        )
        .await;

    assert_eq!(
        (&before[0]["pushProvider"], &before[0]["pushEnabled"]),
        (&json!("log"), &json!(true))
    );
    assert_eq!(fixture.devices(token).await[0]["pushEnabled"], false);
    assert_eq!(fixture.devices(&second).await[0]["pushEnabled"], true);
}

#[actix_web::test]
async fn a_device_without_a_provider_has_its_token_with_the_default_of_its_platform() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let (_, second) = fixture.user("employee@alpha.test", &["employee"]).await;
    let body = json!({"deviceId": "phone", "platform": "ios", "pushToken": TOKEN, "pushProvider": "log"});
    let change = async |token: &str, device: &Value, provider: Value| {
        let change = json!({"pushProvider": provider});
        let changed = fixture.app.send(token, Method::PUT, &one(device), &change).await;
        assert_eq!(changed.status, 200, "{}", changed.text());
        changed
    };
    let enabled = async || {
        let own = fixture.devices(token).await[0]["pushEnabled"].clone();
        (own, fixture.devices(&second).await[0]["pushEnabled"].clone())
    };

    // A registration takes the token from a device without a provider.
    let first = fixture.register(token, body.clone()).await;
    change(token, &first, Value::Null).await;
    assert_eq!(fixture.devices(token).await[0]["pushProvider"], Value::Null);
    let other = fixture.register(&second, body.clone()).await;
    assert_eq!(enabled().await, (json!(false), json!(true)));

    // So does a device that loses its provider.
    change(&second, &other, json!("one")).await;
    fixture.register(token, body.clone()).await;
    assert_eq!(enabled().await, (json!(true), json!(true)));
    change(&second, &other, Value::Null).await;
    assert_eq!(enabled().await, (json!(false), json!(true)));

    // An undo that removes the provider leaves the token to the device that registered it last.
    let changed = change(&second, &other, json!("one")).await;
    fixture.register(token, body).await;
    assert_eq!(enabled().await, (json!(true), json!(true)));
    assert_eq!(fixture.app.undo(&second, &changed).await.0, 200);
    assert_eq!(fixture.devices(&second).await[0]["pushProvider"], Value::Null);
    assert_eq!(enabled().await, (json!(true), json!(false)));
}

#[actix_web::test]
async fn a_change_of_token_and_provider_takes_only_the_new_token() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let (_, second) = fixture.user("employee@alpha.test", &["employee"]).await;
    let body =
        |provider: &str| json!({"deviceId": "phone", "platform": "ios", "pushToken": TOKEN, "pushProvider": provider});
    let first = fixture.register(token, body("one")).await;
    fixture.register(&second, body("two")).await;

    let change = json!({"pushToken": "another", "pushProvider": "two"});
    let (status, changed) = fixture.app.put(token, &one(&first), change).await;

    assert_eq!(status, 200, "{changed}");
    assert_eq!(fixture.devices(token).await[0]["pushEnabled"], true);
    assert_eq!(fixture.devices(&second).await[0]["pushEnabled"], true);
}

#[actix_web::test]
async fn dev_6_a_change_of_the_token_can_not_be_undone_and_others_can() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let body = json!({"deviceId": "d1", "platform": "ios", "pushToken": TOKEN, "locale": "en"});
    let device = fixture.register(token, body).await;
    let before = fixture.devices(token).await;
    fixture.app.advance(Duration::MINUTE);

    let cleared = fixture
        .app
        .send(token, Method::PUT, &one(&device), &json!({"pushToken": null}))
        .await;
    assert_eq!(cleared.json(), json!({"ok": true, "id": device["id"]}));
    assert_eq!(cleared.operation(), None);
    let after = fixture.devices(token).await;
    assert_eq!(after[0]["pushEnabled"], false);
    assert_ne!(after[0]["pushTokenUpdatedAt"], before[0]["pushTokenUpdatedAt"]);

    let changed = fixture
        .app
        .send(token, Method::PUT, &one(&device), &json!({"locale": "pl"}))
        .await;
    assert_eq!(fixture.devices(token).await[0]["locale"], "pl");
    assert_eq!(fixture.app.undo(token, &changed).await.0, 200);
    let restored = fixture.devices(token).await;
    assert_eq!(
        (&restored[0]["locale"], &restored[0]["pushEnabled"]),
        (&json!("en"), &json!(false))
    );
}

#[actix_web::test]
async fn an_update_keeps_absent_fields_and_notes_the_time() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let body = json!({"deviceId": "d1", "platform": "ios", "osVersion": "17", "pushToken": TOKEN});
    let device = fixture.register(token, body).await;
    let entries = fixture.entries().await;

    let seen = json!({"lastSeenAt": "2026-11-19T10:00:00+02:00"});
    let response = fixture.app.send(token, Method::PUT, &one(&device), &seen).await;

    assert_eq!(response.status, 200);
    assert_eq!(fixture.entries().await, entries, "the time has no entry");
    let item = &fixture.devices(token).await[0];
    assert_eq!(item["lastSeenAt"], "2026-11-19T08:00:00.000Z");
    assert_eq!((&item["osVersion"], &item["pushEnabled"]), (&json!("17"), &json!(true)));
}

#[actix_web::test]
async fn a_token_is_in_no_response_event_or_log() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let body = json!({"deviceId": "d1", "platform": "ios", "pushToken": TOKEN});
    let response = fixture.app.send(token, Method::POST, DEVICES, &body).await;
    let device = response.json();
    let change = json!({"pushToken": TOKEN, "locale": "de"});
    let changed = fixture.app.send(token, Method::PUT, &one(&device), &change).await;

    let mut texts = vec![response.text(), changed.text()];
    texts.extend(fixture.devices(token).await.iter().map(Value::to_string));
    for table in ["audit_action_logs", "core_outbox_events", "devices_devices"] {
        let rows = fixture.app.rows(&format!("select t::text as row from {table} t")).await;
        assert!(!rows.is_empty(), "{table}");
        texts.extend(rows.iter().map(Value::to_string));
    }
    let hexadecimal: String = TOKEN.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(
        texts
            .iter()
            .all(|text| !text.contains(TOKEN) && !text.contains(&hexadecimal))
    );
}

#[actix_web::test]
async fn an_undone_registration_comes_back_without_its_token() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let body = json!({"deviceId": "d1", "platform": "ios", "pushToken": TOKEN});
    let registered = fixture.app.send(token, Method::POST, DEVICES, &body).await;

    let (status, undone) = fixture.app.undo(token, &registered).await;
    assert_eq!(status, 200, "{undone}");
    assert!(fixture.devices(token).await.is_empty());
    let (status, redone) = fixture.app.redo(token, &registered).await;

    assert_eq!(status, 200, "{redone}");
    let item = &fixture.devices(token).await[0];
    assert_eq!(
        (&item["id"], &item["pushEnabled"]),
        (&registered.json()["id"], &json!(false))
    );
}

#[actix_web::test]
async fn the_tokens_of_a_deleted_user_are_destroyed() {
    let fixture = Fixture::new().await;
    let (colleague, token) = fixture.user("employee@alpha.test", &["employee"]).await;
    let body = json!({"deviceId": "d1", "platform": "ios", "pushToken": TOKEN});
    fixture.register(&token, body).await;

    let path = format!("/auth/users?id={colleague}");
    let deleted = fixture
        .app
        .send(&fixture.a.token, Method::DELETE, &path, &Value::Null)
        .await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    fixture.app.deliver_events().await;

    let stored = "select push_token is null and push_token_hash is null as empty from devices_devices";
    assert_eq!(fixture.app.rows(stored).await, [json!({"empty": true})]);
}

#[actix_web::test]
async fn a_user_who_is_back_before_the_event_of_their_deletion_keeps_their_tokens() {
    let fixture = Fixture::new().await;
    let (colleague, token) = fixture.user("employee@alpha.test", &["employee"]).await;
    let body = json!({"deviceId": "d1", "platform": "ios", "pushToken": TOKEN});
    fixture.register(&token, body).await;

    let path = format!("/auth/users?id={colleague}");
    let deleted = fixture
        .app
        .send(&fixture.a.token, Method::DELETE, &path, &Value::Null)
        .await;
    let (status, body) = fixture.app.undo(&fixture.a.token, &deleted).await;
    fixture.app.deliver_events().await;

    assert_eq!(status, 200, "{body}");
    let back = login(&fixture.app, "employee@alpha.test").await;
    assert_eq!(fixture.devices(&back).await[0]["pushEnabled"], true);
}
