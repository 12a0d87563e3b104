//! Firebase Cloud Messaging.

use std::cell::Cell;

use backoffice_test_support::Duration;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use num_bigint::BigUint;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::standins::{LOCAL, Received, Reply, Service, rsa_key};
use crate::fixture::{Fixture, builder, delivery, done};

/// Removes the file when the test ends.
struct Account {
    file: std::path::PathBuf,
    public: [BigUint; 2],
}

impl Drop for Account {
    fn drop(&mut self) {
        let _removed = std::fs::remove_file(&self.file);
    }
}

/// Writes the key of a service account, whose tokens the service grants.
fn account(service: &Service) -> Account {
    let (pem, public) = rsa_key();
    let key = json!({"type": "service_account", "project_id": "office", "client_email": "push@office.example",
        "private_key": pem, "token_uri": service.url("/token")});
    let file = std::env::temp_dir().join(format!(
        "backoffice-fcm-{}-{}.json",
        std::process::id(),
        service.url("").len()
    ));
    std::fs::write(&file, key.to_string()).expect("a file");
    Account { file, public }
}

async fn fixture(service: &Service, account: &Account) -> Fixture {
    let fcm = format!(
        "[push.fcm]\ncredentials_file = '{}'\nbase_url = '{}'\n",
        account.file.display(),
        service.url("")
    );
    let fixture = Fixture::of(builder().config(LOCAL).config(&fcm)).await;
    let device = json!({"deviceId": "phone", "platform": "android", "pushToken": "token-1", "locale": "en"});
    fixture.register(&fixture.a.token, device).await;
    fixture
}

/// Grants access, and responds to messages as given.
fn responding(service: &Service, message: impl Fn() -> Reply + 'static) {
    service.respond(move |request| match request.path.as_str() {
        "/token" => Reply::json(
            200,
            &json!({"access_token": "granted", "expires_in": 3600, "token_type": "Bearer"}),
        ),
        _ => message(),
    });
}

/// Verifies a signature RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017), and returns the claims.
fn verify(form: &[u8], [modulus, exponent]: &[BigUint; 2]) -> Value {
    const SHA256_INFO: [u8; 19] = [48, 49, 48, 13, 6, 9, 96, 134, 72, 1, 101, 3, 4, 2, 1, 5, 0, 4, 32];
    let form = String::from_utf8_lossy(form).into_owned();
    assert!(
        form.starts_with("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&"),
        "{form}"
    );
    let token = form.split_once("assertion=").expect("an assertion").1;
    let (signed, signature) = token.rsplit_once('.').expect("a token");
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).expect("base64url");
    let opened = BigUint::from_bytes_be(&decode(signature))
        .modpow(exponent, modulus)
        .to_bytes_be();
    let expected = [SHA256_INFO.as_slice(), &Sha256::digest(signed.as_bytes())].concat();
    let (padding, end) = opened.split_at(opened.len() - expected.len());
    assert_eq!(end, expected);
    assert_eq!(
        (padding.len() + end.len() + 1, padding[0], padding[padding.len() - 1]),
        (256, 1, 0)
    );
    assert!(padding[1..padding.len() - 1].iter().all(|byte| *byte == 255));
    serde_json::from_slice(&decode(signed.split_once('.').expect("a token").1)).expect("JSON")
}

fn messages(requests: &[Received]) -> Vec<&Received> {
    requests.iter().filter(|one| one.path != "/token").collect()
}

#[actix_web::test]
async fn a_phone_gets_messages_with_one_access_token() {
    let service = Service::start().await;
    let account = account(&service);
    let fixture = fixture(&service, &account).await;
    responding(&service, || {
        Reply::json(200, &json!({"name": "projects/office/messages/1"}))
    });

    fixture.push(done(fixture.a.admin, "A")).await;
    fixture.push(done(fixture.a.admin, "B")).await;

    let requests = service.take();
    assert_eq!(
        (requests.len(), messages(&requests).len()),
        (3, 2),
        "the access token is kept"
    );
    let claims = verify(&requests[0].body, &account.public);
    assert_eq!(claims["iss"], "push@office.example");
    assert_eq!(claims["aud"], service.url("/token"));
    assert_eq!(claims["scope"], "https://www.googleapis.com/auth/firebase.messaging");
    let first = messages(&requests)[0];
    assert_eq!(
        (first.path.as_str(), first.header("authorization")),
        ("/v1/projects/office/messages:send", "Bearer granted")
    );
    let body: Value = serde_json::from_slice(&first.body).expect("JSON");
    let message = &body["message"];
    assert_eq!(message["token"], "token-1");
    assert_eq!(
        message["notification"],
        json!({"title": "A is done", "body": "The sample A is done."})
    );
    assert_eq!(message["data"]["type"], "samples.sample.done");
    assert_eq!(message["data"]["severity"], "info");
    assert!(
        fixture
            .deliveries()
            .await
            .iter()
            .all(|one| *one == delivery("sent", 1, None))
    );

    fixture.app.advance(Duration::HOUR);
    fixture.push(done(fixture.a.admin, "C")).await;
    assert_eq!(service.take().len(), 2, "a new access token");
}

#[actix_web::test]
async fn rejections_of_messages_have_their_meaning() {
    let service = Service::start().await;
    let account = account(&service);
    let fixture = fixture(&service, &account).await;
    let error = |code: &str| json!({"error": {"details": [{"errorCode": code}]}});

    for (status, body, expected) in [
        (
            400,
            error("INVALID_ARGUMENT"),
            delivery("failed", 1, Some("rejected_by_provider")),
        ),
        (503, error("UNAVAILABLE"), delivery("pending", 1, Some("not_accepted"))),
        (404, error("UNREGISTERED"), delivery("failed", 1, Some("unregistered"))),
    ] {
        fixture.app.sql("delete from devices_push_deliveries").await;
        responding(&service, move || Reply::json(status, &body));
        fixture.push(done(fixture.a.admin, "A")).await;
        assert_eq!(fixture.deliveries().await, [expected], "{status}");
    }
    assert_eq!(fixture.devices(&fixture.a.token).await[0]["pushEnabled"], false);
}

#[actix_web::test]
async fn a_message_is_sent_again_when_its_access_token_has_ended_early() {
    let service = Service::start().await;
    let account = account(&service);
    let fixture = fixture(&service, &account).await;
    let granted = Cell::new(0);
    service.respond(
        move |request| match (request.path.as_str(), request.header("authorization")) {
            ("/token", _) => {
                granted.set(granted.get() + 1);
                let access = format!("granted {}", granted.get());
                Reply::json(200, &json!({"access_token": access, "expires_in": 3600}))
            }
            (_, "Bearer granted 1") => Reply::status(401),
            _ => Reply::status(200),
        },
    );

    fixture.push(done(fixture.a.admin, "A")).await;
    fixture.push(done(fixture.a.admin, "B")).await;

    let requests = service.take();
    assert_eq!(
        (requests.len(), messages(&requests).len()),
        (5, 3),
        "the second access token is kept"
    );
    let sent = delivery("sent", 1, None);
    assert_eq!(fixture.deliveries().await, [sent.clone(), sent]);
}

#[actix_web::test]
async fn keys_of_another_service_that_are_rejected_stop_one_token() {
    let service = Service::start().await;
    let account = account(&service);
    let fixture = fixture(&service, &account).await;
    let (colleague, token) = fixture.user("employee@alpha.test", &["employee"]).await;
    let phone = json!({"deviceId": "phone", "platform": "android", "pushToken": "token-2", "locale": "en"});
    fixture.register(&token, phone).await;
    let rejected = json!({"error": {"details": [{"errorCode": "THIRD_PARTY_AUTH_ERROR"}]}});
    responding(&service, move || Reply::json(401, &rejected));
    fixture.push(done(fixture.a.admin, "A")).await;
    service.take();

    responding(&service, || Reply::status(200));
    let new = [done(fixture.a.admin, "B"), done(colleague, "C")];
    fixture.notify(fixture.a.id, &new).await;
    fixture.app.run_jobs().await;

    assert_eq!(messages(&service.take()).len(), 1);
    let waiting = delivery("pending", 0, Some("provider_rejects_keys"));
    let mut deliveries = fixture.deliveries().await;
    deliveries.sort();
    assert_eq!(deliveries, [waiting.clone(), waiting, delivery("sent", 1, None)]);
}

#[actix_web::test]
async fn dev_10_a_rejected_service_account_stops_the_provider_until_it_is_repaired() {
    let service = Service::start().await;
    let account = account(&service);
    let fixture = fixture(&service, &account).await;
    service.respond(|_| Reply::json(400, &json!({"error": "invalid_grant"})));

    fixture.push(done(fixture.a.admin, "A")).await;
    fixture.push(done(fixture.a.admin, "B")).await;

    assert_eq!(service.take().len(), 1, "the second message is not tried");
    let waiting = delivery("pending", 0, Some("provider_rejects_keys"));
    assert_eq!(fixture.deliveries().await, [waiting.clone(), waiting]);
    assert_eq!(fixture.devices(&fixture.a.token).await[0]["pushEnabled"], true);

    responding(&service, || Reply::status(200));
    fixture.app.advance(Duration::minutes(6));
    fixture.app.run_jobs().await;

    assert_eq!(messages(&service.take()).len(), 2);
    assert!(
        fixture
            .deliveries()
            .await
            .iter()
            .all(|one| *one == delivery("sent", 1, None))
    );
}
