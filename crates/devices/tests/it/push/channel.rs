//! The channel: which notifications are pushed, and what that costs.

use actix_web::http::Method;
use backoffice_notifications::New;
use serde_json::json;

use crate::fixture::{Fixture, builder, delivery, done};

async fn phone(fixture: &Fixture, token: &str, name: &str) {
    let body =
        json!({"deviceId": name, "platform": "ios", "pushToken": format!("token of {name}"), "pushProvider": "log"});
    fixture.register(token, body).await;
}

#[actix_web::test]
async fn not_2_a_muted_type_is_not_pushed_until_the_change_is_undone() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    phone(&fixture, token, "phone").await;
    let preferences = "/notifications/preferences";
    let prefer = async |channel: &str| {
        let items = json!({"items": [{"type": "samples.sample.done", channel: false}]});
        fixture.app.send(token, Method::PUT, preferences, &items).await
    };

    let muted = prefer("inApp").await;
    assert_eq!(muted.status, 200, "{}", muted.text());
    assert_eq!(fixture.notify(fixture.a.id, &[done(fixture.a.admin, "A")]).await, 0);
    assert!(fixture.deliveries().await.is_empty());
    assert_eq!(fixture.app.undo(token, &muted).await.0, 200);
    assert_eq!(prefer("push").await.status, 200);
    assert_eq!(fixture.notify(fixture.a.id, &[done(fixture.a.admin, "B")]).await, 1);
    assert!(fixture.deliveries().await.is_empty(), "a row without a message");
    let undone = prefer("email").await;
    assert_eq!(undone.status, 200);
    let items = json!({"items": [{"type": "samples.sample.done", "push": true}]});
    assert_eq!(
        fixture.app.send(token, Method::PUT, preferences, &items).await.status,
        200
    );

    fixture.push(done(fixture.a.admin, "C")).await;

    assert_eq!(fixture.deliveries().await, [delivery("sent", 1, None)]);
}

#[actix_web::test]
async fn a_repeat_of_a_group_is_pushed_again_with_its_new_text() {
    let fixture = Fixture::new().await;
    phone(&fixture, &fixture.a.token, "phone").await;
    let repeat = |name: &str| New {
        group_key: Some("first".to_owned()),
        ..done(fixture.a.admin, name)
    };

    fixture.push(repeat("A")).await;
    fixture.notify(fixture.a.id, &[repeat("B")]).await;

    assert_eq!(fixture.deliveries().await, [delivery("pending", 0, None)]);
    let stored = "select payload ->> 'title' as title from devices_push_deliveries";
    assert_eq!(fixture.app.rows(stored).await, [json!({"title": "B is done"})]);
    fixture.app.run_jobs().await;
    assert_eq!(fixture.deliveries().await, [delivery("sent", 1, None)]);
}

#[actix_web::test]
async fn only_live_devices_with_a_token_get_messages() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    fixture
        .register(token, json!({"deviceId": "without", "platform": "ios"}))
        .await;
    phone(&fixture, token, "first").await;
    phone(&fixture, token, "second").await;
    let (user, _) = fixture.user("employee@alpha.test", &["employee"]).await;

    assert_eq!(
        fixture
            .notify(fixture.a.id, &[done(fixture.a.admin, "A"), done(user, "B")])
            .await,
        2
    );
    let first = fixture
        .devices(token)
        .await
        .into_iter()
        .find(|one| one["deviceId"] == "first");
    let path = crate::fixture::one(&first.expect("the device"));
    assert_eq!(
        fixture
            .app
            .send(token, Method::DELETE, &path, &json!(null))
            .await
            .status,
        200
    );
    fixture.app.run_jobs().await;

    let mut deliveries = fixture.deliveries().await;
    deliveries.sort();
    assert_eq!(
        deliveries,
        [delivery("sent", 1, None), delivery("skipped", 0, Some("no_token"))]
    );
}

#[actix_web::test]
async fn the_number_of_statements_does_not_depend_on_the_recipients() {
    let fixture = Fixture::of(builder().config("[rate_limits]\nenabled = false\n").through_proxy()).await;
    let tenant = fixture.a.id;
    let users = format!(
        "insert into auth_users (tenant_id, id, email, email_norm, is_active, is_confirmed, created_at, updated_at)
         select '{tenant}', ('a0000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'u' || n, 'u' || n, true, true, now(), now()
         from generate_series(1, 1000) n"
    );
    assert_eq!(fixture.app.sql(&users).await, 1000);
    let devices = format!(
        "insert into devices_devices (tenant_id, id, user_id, device_id, platform, push_token, push_token_hash, created_at, updated_at)
         select '{tenant}', u.id, u.id, 'd', 'ios', 'sealed'::bytea, sha256(u.id::text::bytea), now(), now()
         from auth_users u where u.tenant_id = '{tenant}' and u.id::text like 'a0000000-%'"
    );
    assert_eq!(fixture.app.sql(&devices).await, 1000);
    let user = |number: u32| format!("a0000000-0000-7000-8000-{number:012}").parse().expect("a UUID");
    let cost = async |users: std::ops::RangeInclusive<u32>| {
        let new: Vec<New> = users.map(|number| done(user(number), "A")).collect();
        let (sent, statements) = fixture.app.count_statements(fixture.notify(tenant, &new)).await;
        assert_eq!(sent, new.len());
        statements
    };

    let one = cost(1..=1).await;
    let all = cost(1..=1000).await;

    assert_eq!(one, all);
    assert_eq!(fixture.deliveries().await.len(), 1001);
    let jobs = fixture
        .app
        .rows("select 1 from core_jobs where kind = 'devices.push.send'")
        .await;
    assert_eq!(jobs.len(), 2, "one for each call");
}
