//! Tokens that several tenants have registered.

use backoffice_test_support::Duration;
use serde_json::{Value, json};

use super::standins::{LOCAL, Service};
use crate::fixture::{Fixture, builder, delivery, done};

fn phone(name: &str) -> Value {
    json!({"deviceId": name, "platform": "android", "pushToken": "shared", "pushProvider": "webhook"})
}

async fn fixture(service: &Service) -> Fixture {
    let secret = "whsec_CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=";
    let webhook = format!(
        "[push]\nwebhook_url = '{}'\nwebhook_secret = '{secret}'\n",
        service.url("/hook")
    );
    Fixture::of(builder().config(LOCAL).config(&webhook)).await
}

#[actix_web::test]
async fn dev_5_a_token_gets_only_the_messages_of_the_tenant_that_registered_it_last() {
    let service = Service::start().await;
    let fixture = fixture(&service).await;
    fixture.register(&fixture.a.token, phone("phone")).await;
    fixture.push(done(fixture.a.admin, "first")).await;
    assert_eq!(service.take().len(), 1);
    fixture.register(&fixture.b.token, phone("phone")).await;

    fixture.app.advance(Duration::SECOND);
    fixture.push(done(fixture.a.admin, "A")).await;
    assert_eq!(service.take().len(), 0, "nothing of the first tenant");
    fixture.app.advance(Duration::SECOND);
    fixture.notify(fixture.b.id, &[done(fixture.b.admin, "B")]).await;
    fixture.app.run_jobs().await;

    let requests = service.take();
    assert_eq!(requests.len(), 1);
    let body: Value = serde_json::from_slice(&requests[0].body).expect("JSON");
    assert_eq!(body["data"]["title"], "B is done");
    assert_eq!(
        fixture.deliveries().await,
        [
            delivery("sent", 1, None),
            delivery("skipped", 0, Some("not_owner")),
            delivery("sent", 1, None)
        ]
    );
    // The response to the first tenant is the same as before: it learns nothing of the other one.
    let device = fixture.devices(&fixture.a.token).await.remove(0);
    assert_eq!(device["pushEnabled"], true);
    let path = format!("{}/test-push", crate::fixture::one(&device));
    let (status, tested) = fixture.app.post(&fixture.a.token, &path, json!({})).await;
    assert_eq!(
        (status, tested),
        (200, json!({"status": "failed", "error": "not_accepted"}))
    );
    assert_eq!(service.take().len(), 0, "nor does a test message arrive");

    fixture.register(&fixture.a.token, phone("other phone")).await;
    fixture.push(done(fixture.a.admin, "C")).await;
    assert_eq!(service.take().len(), 1, "the token came back with a registration");

    // Both devices have the token already, so their registrations change nothing else.
    for (token, owner, received) in [
        (&fixture.b.token, "B", (0, 1)),
        (&fixture.a.token, "A", (1, 0)),
        (&fixture.b.token, "B again", (0, 1)),
    ] {
        let device = if received.0 == 1 { "other phone" } else { "phone" };
        fixture.register(token, phone(device)).await;
        fixture.app.advance(Duration::SECOND);
        fixture.push(done(fixture.a.admin, owner)).await;
        let of_a = service.take().len();
        fixture.app.advance(Duration::SECOND);
        fixture.notify(fixture.b.id, &[done(fixture.b.admin, owner)]).await;
        fixture.app.run_jobs().await;
        assert_eq!((of_a, service.take().len()), received, "{owner}");
    }
}

#[actix_web::test]
async fn a_device_owns_one_token_and_rows_without_a_device_are_erased() {
    let service = Service::start().await;
    let fixture = fixture(&service).await;
    let token = &fixture.a.token;
    fixture.register(token, phone("phone")).await;
    let mut other = phone("phone");
    other["pushToken"] = json!("another");
    fixture.register(token, other).await;
    let owners = async || {
        fixture
            .app
            .rows("select owner_tenant_id, device_row_id from devices_push_token_owners")
            .await
    };
    let device = fixture.devices(token).await.remove(0);
    assert_eq!(
        owners().await,
        [json!({"owner_tenant_id": fixture.a.id, "device_row_id": device["id"]})]
    );

    let path = crate::fixture::one(&device);
    let removed = fixture
        .app
        .send(token, actix_web::http::Method::PUT, &path, &json!({"pushToken": null}))
        .await;
    assert_eq!(removed.status, 200);
    fixture.run_schedules(Duration::hours(25)).await;

    assert!(owners().await.is_empty());
}

#[actix_web::test]
async fn a_tenant_can_not_register_tokens_of_another_one() {
    let service = Service::start().await;
    let fixture = fixture(&service).await;
    let scope = backoffice_core::Scope::tenant(fixture.a.id);
    let mut connection = fixture.app.runtime().database.read(&scope).await.expect("a connection");

    let own = format!(
        "select app_own_push_token('{0}', '{0}', 'log', 'x'::bytea, '{0}', now())",
        fixture.b.id
    );
    let rejected = diesel_async::SimpleAsyncConnection::batch_execute(&mut *connection, &own).await;

    assert!(
        rejected
            .expect_err("rejected")
            .to_string()
            .contains("tokens of another tenant")
    );
    let direct = "insert into devices_push_token_owners select '00000000-0000-0000-0000-000000000000', gen_random_uuid(), 'log', 'x'::bytea, \
        gen_random_uuid(), gen_random_uuid(), now(), now()";
    let rejected = diesel_async::SimpleAsyncConnection::batch_execute(&mut *connection, direct).await;
    assert!(
        rejected
            .expect_err("rejected")
            .to_string()
            .contains("row-level security")
    );
}
