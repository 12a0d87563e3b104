//! A gateway that verifies signatures as Standard Webhooks says.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::standins::{LOCAL, Reply, Service};
use crate::fixture::{Fixture, builder, delivery, done};

const SECRET: [u8; 32] = [9; 32];

async fn fixture(service: &Service) -> Fixture {
    let secret = STANDARD.encode(SECRET);
    let webhook = format!(
        "[push]\nwebhook_url = '{}'\nwebhook_secret = 'whsec_{secret}'\n",
        service.url("/hook")
    );
    let fixture = Fixture::of(builder().config(LOCAL).config(&webhook)).await;
    let device = json!({"deviceId": "phone", "platform": "android", "pushToken": "token-1"});
    fixture.register(&fixture.a.token, device).await;
    fixture
}

#[actix_web::test]
async fn a_gateway_gets_signed_messages() {
    let service = Service::start().await;
    let fixture = fixture(&service).await;

    fixture.push(done(fixture.a.admin, "A")).await;

    let requests = service.take();
    assert_eq!(requests.len(), 1);
    let request = &requests[0];
    let (id, time) = (request.header("webhook-id"), request.header("webhook-timestamp"));
    let stored = fixture
        .app
        .rows("select id, token_last4, provider from devices_push_deliveries")
        .await;
    assert_eq!(
        stored,
        [json!({"id": id, "token_last4": "en-1", "provider": "webhook"})]
    );
    assert_eq!(time, fixture.app.now().get().unix_timestamp().to_string());
    let mut mac = Hmac::<Sha256>::new_from_slice(&SECRET).expect("a key");
    mac.update(format!("{id}.{time}.").as_bytes());
    mac.update(&request.body);
    let signature = request
        .header("webhook-signature")
        .strip_prefix("v1,")
        .expect("version 1");
    let signature = STANDARD.decode(signature).expect("base64");
    mac.verify_slice(&signature).expect("a valid signature");
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    assert_eq!(body["type"], "push.message");
    assert_eq!(
        (&body["data"]["token"], &body["data"]["title"]),
        (&json!("token-1"), &json!("A is done"))
    );
}

#[actix_web::test]
async fn a_rejection_by_the_gateway_is_not_repeated_and_an_outage_is() {
    let service = Service::start().await;
    let fixture = fixture(&service).await;

    service.respond(|_| Reply::status(422));
    fixture.push(done(fixture.a.admin, "A")).await;
    assert_eq!(
        fixture.deliveries().await,
        [delivery("failed", 1, Some("rejected_by_provider"))]
    );
    fixture.app.sql("delete from devices_push_deliveries").await;
    service.respond(|_| Reply {
        cut: true,
        ..Reply::default()
    });
    fixture.push(done(fixture.a.admin, "B")).await;
    assert_eq!(
        fixture.deliveries().await,
        [delivery("pending", 1, Some("not_accepted"))]
    );
}
