//! The configured providers.

use serde_json::json;

use super::standins::WEBPUSH;
use crate::fixture::Fixture;

const OPTIONS: &str = "/devices/push-options";

#[actix_web::test]
async fn the_options_show_what_is_configured() {
    let fixture = Fixture::new().await;
    let none = json!({"providers": ["log"], "vapidPublicKey": null, "defaultProvider": {"ios": "log", "android": "log", "web": "log"}});
    assert_eq!(fixture.app.get(&fixture.a.token, OPTIONS).await, (200, none));

    let fixture = Fixture::with_config(&format!("{WEBPUSH}[push.default]\nios = 'webpush'\n")).await;
    let (status, options) = fixture.app.get(&fixture.a.token, OPTIONS).await;
    assert_eq!(status, 200);
    assert_eq!(options["providers"], json!(["log", "webpush"]));
    assert_eq!(
        options["defaultProvider"],
        json!({"ios": "webpush", "android": "log", "web": "webpush"})
    );
    assert_eq!(options["vapidPublicKey"].as_str().expect("a key").len(), 87);
}

#[actix_web::test]
async fn the_options_need_a_feature() {
    let fixture = Fixture::new().await;
    fixture.role("Nothing", &["auth.roles.view"], None).await;
    let (_, token) = fixture.user("nobody@alpha.test", &["Nothing"]).await;

    let (status, body) = fixture.app.get(&token, OPTIONS).await;

    assert_eq!((status, &body["requiredFeatures"]), (403, &json!(["devices.view"])));
}

#[actix_web::test]
async fn a_device_without_a_provider_gets_the_default_of_its_platform_with_its_token() {
    let fixture = Fixture::with_config(&format!("[rate_limits]\nenabled = false\n{WEBPUSH}")).await;
    let token = &fixture.a.token;
    fixture
        .register(token, json!({"deviceId": "d1", "platform": "ios"}))
        .await;
    assert_eq!(fixture.devices(token).await[0]["pushProvider"], json!(null));

    fixture
        .register(token, json!({"deviceId": "d1", "platform": "ios", "pushToken": "t"}))
        .await;

    assert_eq!(fixture.devices(token).await[0]["pushProvider"], "log");
}
