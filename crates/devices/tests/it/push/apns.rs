//! The Apple Push Notification service.

use backoffice_notifications::{New, Severity};
use backoffice_test_support::{Duration, details};
use serde_json::{Value, json};

use super::standins::{AppleService, LOCAL, ec_key, verify_es256};
use crate::fixture::{DEVICES, Fixture, builder, delivery, done};

const TOKEN: &str = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0";

async fn fixture(service: &AppleService) -> (Fixture, Vec<u8>) {
    let (pem, public) = ec_key();
    let file = std::env::temp_dir().join(format!("backoffice-apns-{}.p8", std::process::id()));
    std::fs::write(&file, pem).expect("a file");
    let apns = format!(
        "[push.apns]\nkey_file = '{}'\nkey_id = 'KEY1234567'\nteam_id = 'TEAM123456'\ntopic = 'example.office'\nbase_url = '{}'\n",
        file.display(),
        service.url()
    );
    let fixture = Fixture::of(builder().config(LOCAL).config(&apns)).await;
    std::fs::remove_file(file).expect("removed");
    register(&fixture).await;
    (fixture, public)
}

async fn register(fixture: &Fixture) {
    let device = json!({"deviceId": "phone", "platform": "ios", "pushToken": TOKEN, "locale": "pl"});
    fixture.register(&fixture.a.token, device).await;
}

async fn pushed(fixture: &Fixture) -> (String, i64, Option<String>) {
    fixture.app.sql("delete from devices_push_deliveries").await;
    fixture.push(done(fixture.a.admin, "A")).await;
    fixture.deliveries().await.remove(0)
}

#[actix_web::test]
async fn a_phone_gets_messages_over_http_2_with_one_signed_token() {
    let service = AppleService::start().await;
    let (fixture, public) = fixture(&service).await;
    let new = New {
        severity: Severity::Error,
        link_href: Some("/samples/1".to_owned()),
        group_key: Some("first".to_owned()),
        ..done(fixture.a.admin, "A")
    };

    fixture.push(new).await;
    fixture.push(done(fixture.a.admin, "B")).await;

    let requests = service.take();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].path, format!("/3/device/{TOKEN}"));
    let token = requests[0]
        .header("authorization")
        .strip_prefix("bearer ")
        .expect("a token");
    let (header, claims) = verify_es256(token, &public);
    assert_eq!(
        (&header["alg"], &header["kid"]),
        (&json!("ES256"), &json!("KEY1234567"))
    );
    assert_eq!(
        (&claims["iss"], &claims["iat"]),
        (&json!("TEAM123456"), &json!(fixture.app.now().get().unix_timestamp()))
    );
    assert_eq!(
        requests[1].header("authorization"),
        requests[0].header("authorization"),
        "signed once"
    );
    for (name, value) in [
        ("apns-topic", "example.office"),
        ("apns-push-type", "alert"),
        ("apns-priority", "10"),
    ] {
        assert_eq!(requests[0].header(name), value, "{name}");
    }
    assert_eq!(requests[0].header("apns-collapse-id").len(), 32);
    let body = &requests[0].body;
    assert_eq!(
        body["aps"]["alert"],
        json!({"title": "A gotowe", "body": "Próbka A jest gotowa."})
    );
    assert_eq!(
        (&body["linkHref"], &body["type"]),
        (&json!("/samples/1"), &json!("samples.sample.done"))
    );
    assert!(
        fixture
            .deliveries()
            .await
            .iter()
            .all(|one| *one == delivery("sent", 1, None))
    );
}

#[actix_web::test]
async fn a_token_ends_only_if_the_service_says_so_about_its_present_registration() {
    let service = AppleService::start().await;
    let (fixture, _) = fixture(&service).await;
    let enabled = async || fixture.devices(&fixture.a.token).await[0]["pushEnabled"].clone();
    let registered = fixture.app.now().unix_millis();

    service.then(410, json!({"reason": "Unregistered", "timestamp": registered - 1000}));
    assert_eq!(
        pushed(&fixture).await,
        delivery("failed", 1, Some("rejected_by_provider"))
    );
    assert_eq!(enabled().await, true, "registered again after the end");
    service.then(410, json!({"reason": "Unregistered", "timestamp": registered + 1000}));
    assert_eq!(pushed(&fixture).await, delivery("failed", 1, Some("unregistered")));
    assert_eq!(enabled().await, false);
    register(&fixture).await;
    service.then(400, json!({"reason": "BadDeviceToken"}));
    assert_eq!(pushed(&fixture).await, delivery("failed", 1, Some("unregistered")));
    assert_eq!(enabled().await, false);
}

#[actix_web::test]
async fn dev_10_a_rejected_key_stops_the_provider_and_an_expired_token_is_signed_anew() {
    let service = AppleService::start().await;
    let (fixture, _) = fixture(&service).await;

    service.then(403, json!({"reason": "ExpiredProviderToken"}));
    assert_eq!(pushed(&fixture).await, delivery("pending", 1, Some("not_accepted")));
    fixture.app.advance(Duration::MINUTE);
    fixture.app.run_jobs().await;
    assert_eq!(fixture.deliveries().await, [delivery("sent", 2, None)]);
    let requests = service.take();
    assert_ne!(requests[1].header("authorization"), requests[0].header("authorization"));

    service.then(403, json!({"reason": "InvalidProviderToken"}));
    assert_eq!(
        pushed(&fixture).await,
        delivery("pending", 0, Some("provider_rejects_keys"))
    );
    assert_eq!(fixture.devices(&fixture.a.token).await[0]["pushEnabled"], true);
    fixture.app.advance(Duration::minutes(6));
    fixture.app.run_jobs().await;
    assert_eq!(fixture.deliveries().await, [delivery("sent", 1, None)]);
}

#[actix_web::test]
async fn a_token_of_this_provider_is_hexadecimal() {
    let service = AppleService::start().await;
    let (fixture, _) = fixture(&service).await;

    let body = json!({"deviceId": "phone", "platform": "ios", "pushToken": "../../3/device/00"});
    let (status, rejected) = fixture.app.post(&fixture.a.token, DEVICES, body).await;

    assert_eq!(
        (status, details(&rejected)),
        (400, vec![("pushToken", "invalid_value")])
    );
    assert_eq!(rejected["code"], Value::Null);
}
