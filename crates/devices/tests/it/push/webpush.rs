//! Web push: encrypted messages that a browser decrypts, and a signed sender.

use actix_web::http::Method;
use backoffice_notifications::{New, Severity};
use backoffice_test_accounts::tenant;
use backoffice_test_support::{Duration, details};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::standins::{Browser, LOCAL, Received, Reply, Service, WEBPUSH, verify_es256};
use crate::fixture::{DEVICES, Fixture, builder, delivery, done, one};

async fn fixture() -> Fixture {
    Fixture::of(builder().config(LOCAL).config(WEBPUSH)).await
}

fn registration(token: &str) -> Value {
    json!({"deviceId": "browser", "platform": "web", "locale": "pl-PL", "pushToken": token})
}

/// Verifies the sender of a message, and returns the claims and the public key.
fn sender(request: &Received) -> (Value, String) {
    let header = request.header("authorization");
    let parts = header.strip_prefix("vapid t=").and_then(|rest| rest.split_once(", k="));
    let (token, key) = parts.expect("the form of RFC 8292");
    let (header, claims) = verify_es256(token, &URL_SAFE_NO_PAD.decode(key).expect("base64url"));
    assert_eq!(header, json!({"typ": "JWT", "alg": "ES256"}));
    (claims, key.to_owned())
}

#[actix_web::test]
async fn dev_9_a_browser_gets_the_message_in_its_language_and_loses_its_token_after_410() {
    let (fixture, service, browser) = (fixture().await, Service::start().await, Browser::new(7));
    let token = &fixture.a.token;
    fixture
        .register(token, registration(&browser.subscription(&service.url("/send/1"))))
        .await;
    let (_, options) = fixture.app.get(token, "/devices/push-options").await;
    let new = New {
        severity: Severity::Warning,
        link_href: Some("/samples/1".to_owned()),
        group_key: Some("first".to_owned()),
        ..done(fixture.a.admin, "A")
    };

    fixture.push(new.clone()).await;

    let requests = service.take();
    assert_eq!(requests.len(), 1);
    let (_, listed) = fixture.app.get(token, "/notifications").await;
    assert_eq!(
        browser.decrypt(&requests[0]),
        json!({"title": "A gotowe", "body": "Próbka A jest gotowa.", "notificationId": listed["items"][0]["id"],
            "type": "samples.sample.done", "linkHref": "/samples/1", "severity": "warning"})
    );
    let (claims, key) = sender(&requests[0]);
    assert_eq!(claims["aud"], service.url(""));
    assert_eq!(claims["sub"], "mailto:office@example.com");
    let left = claims["exp"].as_i64().expect("a number") - fixture.app.now().get().unix_timestamp();
    assert!((1..=86_400).contains(&left), "{left}");
    assert_eq!(options["vapidPublicKey"], key);
    assert_eq!(
        (requests[0].header("ttl"), requests[0].header("urgency")),
        ("86400", "high")
    );
    assert_eq!(requests[0].header("topic").len(), 32);
    assert_eq!(fixture.deliveries().await, [delivery("sent", 1, None)]);

    service.respond(|_| Reply::status(410));
    fixture.push(new).await;

    assert_eq!(service.take().len(), 1);
    assert_eq!(
        fixture.deliveries().await,
        [delivery("failed", 1, Some("unregistered"))]
    );
    let devices = fixture.devices(token).await;
    assert_eq!((devices.len(), &devices[0]["pushEnabled"]), (1, &json!(false)));
}

#[actix_web::test]
async fn a_change_of_the_provider_alone_must_fit_the_stored_token() {
    let (fixture, service, browser) = (fixture().await, Service::start().await, Browser::new(7));
    let token = &fixture.a.token;
    let device = fixture
        .register(token, json!({"deviceId": "browser", "platform": "web"}))
        .await;
    let update = async |body: Value| fixture.app.put(token, &one(&device), body).await;
    let plain = json!({"pushToken": "plain", "pushProvider": "log"});
    assert_eq!(update(plain).await.0, 200);

    for provider in [json!("webpush"), Value::Null] {
        let (status, rejected) = update(json!({"pushProvider": provider})).await;
        assert_eq!(
            (status, details(&rejected)),
            (400, vec![("pushProvider", "invalid_value")]),
            "{rejected}"
        );
    }
    let again = json!({"deviceId": "browser", "platform": "web", "pushProvider": "webpush"});
    assert_eq!(fixture.app.post(token, DEVICES, again).await.0, 400);

    assert_eq!(fixture.devices(token).await[0]["pushProvider"], "log");
    let both = json!({"pushToken": browser.subscription(&service.url("/send/1")), "pushProvider": "webpush"});
    let (status, updated) = update(both).await;
    assert_eq!(status, 200, "{updated}");
    assert_eq!(update(json!({"pushProvider": "log"})).await.0, 200);
    assert_eq!(update(json!({"pushProvider": "webpush"})).await.0, 200);
}

#[actix_web::test]
async fn a_token_that_was_registered_meanwhile_stays_after_410() {
    let (fixture, service, browser) = (fixture().await, Service::start().await, Browser::new(7));
    fixture
        .register(
            &fixture.a.token,
            registration(&browser.subscription(&service.url("/old"))),
        )
        .await;
    service.respond(|_| Reply {
        delay: std::time::Duration::from_millis(500),
        ..Reply::status(404)
    });
    fixture.notify(fixture.a.id, &[done(fixture.a.admin, "A")]).await;

    let again = async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        fixture
            .register(
                &fixture.a.token,
                registration(&browser.subscription(&service.url("/new"))),
            )
            .await;
    };
    futures_util::future::join(fixture.app.run_jobs(), again).await;

    assert_eq!(
        fixture.deliveries().await,
        [delivery("failed", 1, Some("unregistered"))]
    );
    assert_eq!(fixture.devices(&fixture.a.token).await[0]["pushEnabled"], true);
}

#[actix_web::test]
async fn dev_9_a_service_that_is_busy_gets_the_message_when_it_said_and_three_times_at_most() {
    let (fixture, service, browser) = (fixture().await, Service::start().await, Browser::new(7));
    fixture
        .register(
            &fixture.a.token,
            registration(&browser.subscription(&service.url("/send"))),
        )
        .await;
    service.respond(|_| Reply {
        headers: vec![("retry-after", "600".to_owned())],
        ..Reply::status(429)
    });

    fixture.push(done(fixture.a.admin, "A")).await;
    assert_eq!(service.take().len(), 1);
    assert_eq!(
        fixture.deliveries().await,
        [delivery("pending", 1, Some("not_accepted"))]
    );
    fixture.app.advance(Duration::seconds(599));
    fixture.app.run_jobs().await;
    assert_eq!(service.take().len(), 0, "not before the time");
    fixture.app.advance(Duration::seconds(10));
    fixture.app.run_jobs().await;
    assert_eq!(service.take().len(), 1);
    fixture.app.advance(Duration::seconds(610));
    fixture.app.run_jobs().await;

    assert_eq!(service.take().len(), 1);
    assert_eq!(
        fixture.deliveries().await,
        [delivery("failed", 3, Some("not_accepted"))]
    );
    fixture.app.advance(Duration::HOUR);
    assert_eq!(fixture.app.run_jobs().await, 0);
    assert_eq!(fixture.devices(&fixture.a.token).await[0]["pushEnabled"], true);
}

#[actix_web::test]
async fn a_token_for_browsers_is_a_subscription_at_a_public_address() {
    let (fixture, browser) = (
        Fixture::with_config(&format!("[rate_limits]\nenabled = false\n{WEBPUSH}")).await,
        Browser::new(7),
    );
    let token = &fixture.a.token;
    let post = async |body: Value| fixture.app.post(token, DEVICES, body).await;
    let private = browser.subscription("https://10.0.0.1/send");
    let plain = browser.subscription("http://push.example/send");

    for (text, provider) in [
        ("a-token", Some("webpush")),
        ("a-token", None),
        (&private, None),
        (&plain, Some("webpush")),
    ] {
        let mut body = registration(text);
        if let Some(provider) = provider {
            body["pushProvider"] = json!(provider);
        }
        let (status, rejected) = post(body).await;
        assert_eq!(status, 400, "{text} {rejected}");
        assert_eq!(details(&rejected), [("pushToken", "invalid_value")]);
        assert!(!rejected.to_string().contains("10.0.0.1"), "{rejected}");
    }
    let mut several = registration("a-token");
    several["pushProvider"] = json!("webpush");
    several["locale"] = json!("?");
    assert_eq!(details(&post(several).await.1).len(), 2, "all invalid fields at once");
    assert!(fixture.devices(token).await.is_empty());

    let public = browser.subscription("https://push.example/send");
    let device = fixture.register(token, registration(&public)).await;
    let change = fixture
        .app
        .send(token, Method::PUT, &one(&device), &json!({"pushToken": "a-token"}))
        .await;
    assert_eq!(change.status, 400, "{}", change.text());
    let item = &fixture.devices(token).await[0];
    assert_eq!(
        (&item["pushProvider"], &item["pushEnabled"]),
        (&json!("webpush"), &json!(true))
    );
}

#[actix_web::test]
async fn a_subscription_with_a_former_key_has_ended() {
    let (fixture, service, browser) = (fixture().await, Service::start().await, Browser::new(7));
    fixture
        .register(
            &fixture.a.token,
            registration(&browser.subscription(&service.url("/send"))),
        )
        .await;
    let stored = "update devices_devices set push_key = 'former' where push_key = 'first'";
    assert_eq!(fixture.app.sql(stored).await, 1);

    fixture.push(done(fixture.a.admin, "A")).await;
    assert_eq!(
        fixture.deliveries().await,
        [delivery("skipped", 0, Some("another_key"))],
        "another process may know the key"
    );
    assert_eq!(fixture.devices(&fixture.a.token).await[0]["pushEnabled"], true);
    fixture.app.sql("delete from devices_push_deliveries").await;
    fixture.app.advance(Duration::hours(2));
    fixture.push(done(fixture.a.admin, "B")).await;

    assert_eq!(service.take().len(), 0);
    assert_eq!(
        fixture.deliveries().await,
        [delivery("failed", 1, Some("unregistered"))]
    );
    assert_eq!(fixture.devices(&fixture.a.token).await[0]["pushEnabled"], false);
}

#[actix_web::test]
async fn a_user_with_subscriptions_of_another_key_delays_only_their_own_messages() {
    let (fixture, service, browser) = (fixture().await, Service::start().await, Browser::new(7));
    let mut devices = Vec::new();
    for number in 0..5 {
        let mut body = registration(&browser.subscription(&service.url(&format!("/rejected/{number}"))));
        body["deviceId"] = json!(format!("browser {number}"));
        devices.push(fixture.register(&fixture.a.token, body).await);
    }
    let (colleague, second) = fixture.user("employee@alpha.test", &["employee"]).await;
    for (token, name) in [(&second, "colleague"), (&fixture.b.token, "other")] {
        let path = service.url(&format!("/{name}"));
        fixture
            .register(token, registration(&browser.subscription(&path)))
            .await;
    }
    service.respond(|request| {
        Reply::status(if request.path.starts_with("/rejected") {
            403
        } else {
            201
        })
    });
    let test = async |device: &Value| {
        let path = format!("{}/test-push", one(device));
        fixture.app.post(&fixture.a.token, &path, json!({})).await.1
    };

    for device in &devices {
        for _ in 0..2 {
            let expected = json!({"status": "failed", "error": "provider_rejects_keys"});
            assert_eq!(test(device).await, expected);
        }
    }
    let rejected = service.take().len();
    fixture
        .notify(fixture.a.id, &[done(fixture.a.admin, "A"), done(colleague, "B")])
        .await;
    fixture.notify(fixture.b.id, &[done(fixture.b.admin, "C")]).await;
    fixture.app.run_jobs().await;

    assert_eq!(rejected, 5, "a rejected token is not tried again");
    let mut paths: Vec<String> = service.take().into_iter().map(|request| request.path).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/colleague", "/other"]);
    assert!(
        fixture
            .devices(&fixture.a.token)
            .await
            .iter()
            .all(|one| one["pushEnabled"] == true)
    );
}

#[actix_web::test]
async fn dev_10_a_service_that_rejects_the_keys_for_several_tenants_is_stopped() {
    let (fixture, service, browser) = (fixture().await, Service::start().await, Browser::new(7));
    let third = tenant(&fixture.app, "Gamma", "admin@gamma.test").await;
    let (colleague, token) = fixture.user("employee@alpha.test", &["employee"]).await;
    let (a, b) = (&fixture.a, &fixture.b);
    for (number, token) in [&a.token, &b.token, &third.token, &token].into_iter().enumerate() {
        let path = service.url(&format!("/{number}"));
        fixture
            .register(token, registration(&browser.subscription(&path)))
            .await;
    }
    service.respond(|_| Reply::status(401));

    for (tenant, user) in [
        (a.id, a.admin),
        (b.id, b.admin),
        (third.id, third.admin),
        (a.id, colleague),
    ] {
        fixture.notify(tenant, &[done(user, "A")]).await;
        fixture.app.run_jobs().await;
    }

    assert_eq!(service.take().len(), 3, "the last message is not tried");
    let waiting = delivery("pending", 0, Some("provider_rejects_keys"));
    assert_eq!(fixture.deliveries().await, vec![waiting; 4]);
    service.respond(|_| Reply::status(201));
    fixture.app.advance(Duration::minutes(6));
    fixture.app.run_jobs().await;
    assert_eq!(fixture.deliveries().await, vec![delivery("sent", 1, None); 4]);
}

#[actix_web::test]
async fn dev_10_wrong_keys_touch_no_device_and_the_messages_are_sent_after_the_repair() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let metrics = recorder.handle();
    metrics::set_global_recorder(recorder).expect("the only recorder of this process");
    let (fixture, service) = (fixture().await, Service::start().await);
    let other = Service::start().await;
    let token = &fixture.a.token;
    let browser = Browser::new(7);
    for number in 0..20 {
        let mut body = registration(&browser.subscription(&service.url(&format!("/{number}"))));
        body["deviceId"] = json!(format!("browser {number}"));
        fixture.register(token, body).await;
    }
    let (user, second) = fixture.user("employee@alpha.test", &["employee"]).await;
    fixture
        .register(&second, registration(&browser.subscription(&other.url("/other"))))
        .await;
    service.respond(|_| Reply::status(403));

    for name in ["A", "B", "C", "D", "E"] {
        fixture.push(done(fixture.a.admin, name)).await;
    }
    fixture.push(done(user, "F")).await;

    assert!((1..=20).contains(&service.take().len()), "most messages are not tried");
    assert_eq!(other.take().len(), 1, "another push service is not stopped");
    let stopped = fixture.deliveries().await;
    let is_waiting =
        |one: &&(String, i64, Option<String>)| **one == delivery("pending", 0, Some("provider_rejects_keys"));
    assert_eq!(stopped.iter().filter(is_waiting).count(), 100);
    assert!(
        metrics.render().contains("push_config_errors{provider=\"webpush\"} 1"),
        "{}",
        metrics.render()
    );
    assert!(
        fixture
            .devices(token)
            .await
            .iter()
            .all(|one| one["pushEnabled"] == true)
    );

    service.respond(|_| Reply::status(201));
    fixture.app.advance(Duration::minutes(6));
    fixture.app.run_jobs().await;

    assert_eq!(service.take().len(), 100);
    assert!(
        fixture
            .deliveries()
            .await
            .iter()
            .all(|one| *one == delivery("sent", 1, None))
    );
    assert!(
        metrics
            .render()
            .contains("push_deliveries_total{provider=\"webpush\",outcome=\"sent\"} 101"),
        "{}",
        metrics.render()
    );
}
