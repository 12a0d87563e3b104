//! Deliveries: bounds in time, broken connections, slow services, and the end of their rows.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration as StdDuration;

use backoffice_core::jobs::{Queue, Worker};
use backoffice_notifications::New;
use backoffice_test_support::Duration;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::standins::{Browser, LOCAL, Reply, Service, WEBPUSH};
use crate::fixture::{Fixture, builder, delivery, done};

async fn browsers(fixture: &Fixture, token: &str, service: &Service, count: usize) {
    let browser = Browser::new(7);
    for number in 0..count {
        let subscription = browser.subscription(&service.url(&format!("/{number}")));
        let body = json!({"deviceId": format!("b{number}"), "platform": "web", "pushToken": subscription});
        fixture.register(token, body).await;
    }
}

async fn fixture() -> Fixture {
    Fixture::of(builder().config(LOCAL).config(WEBPUSH)).await
}

#[actix_web::test]
async fn a_message_of_a_day_ago_and_one_for_an_unknown_provider_are_skipped() {
    let (fixture, service) = (fixture().await, Service::start().await);
    browsers(&fixture, &fixture.a.token, &service, 1).await;
    let other = json!({"deviceId": "other", "platform": "ios", "pushToken": "t", "pushProvider": "pigeon"});
    fixture.register(&fixture.a.token, other).await;
    fixture.notify(fixture.a.id, &[done(fixture.a.admin, "A")]).await;
    fixture
        .app
        .sql("delete from devices_push_deliveries where provider = 'pigeon'")
        .await;

    fixture.app.advance(Duration::hours(25));
    fixture.app.run_jobs().await;
    assert_eq!(service.take().len(), 0);
    assert_eq!(fixture.deliveries().await, [delivery("skipped", 0, Some("too_old"))]);
    fixture.app.sql("delete from devices_push_deliveries").await;
    service.respond(|_| Reply::status(201));
    fixture.push(done(fixture.a.admin, "B")).await;

    let mut deliveries = fixture.deliveries().await;
    deliveries.sort();
    assert_eq!(
        deliveries,
        [
            delivery("sent", 1, None),
            delivery("skipped", 0, Some("provider_not_configured"))
        ]
    );
}

#[actix_web::test]
async fn a_message_of_a_tenant_that_was_deleted_meanwhile_is_skipped() {
    let (fixture, service) = (fixture().await, Service::start().await);
    browsers(&fixture, &fixture.a.token, &service, 1).await;
    service.respond(|_| Reply::status(201));
    fixture.notify(fixture.a.id, &[done(fixture.a.admin, "A")]).await;
    fixture.delete_alpha().await;

    fixture.app.run_jobs().await;

    let skipped = delivery("skipped", 0, Some("tenant_deleted"));
    assert_eq!(
        (service.take().len(), fixture.deliveries().await),
        (0, vec![skipped.clone()])
    );
    fixture.restore_alpha().await;
    fixture.app.advance(Duration::minutes(1));
    fixture.push(done(fixture.a.admin, "B")).await;
    assert_eq!(fixture.deliveries().await, [skipped, delivery("sent", 1, None)]);
    assert_eq!(service.take().len(), 1);
}

#[actix_web::test]
async fn each_device_gets_a_message_once_although_services_fail() {
    let (fixture, service) = (fixture().await, Service::start().await);
    browsers(&fixture, &fixture.a.token, &service, 40).await;
    let seen: Rc<RefCell<BTreeMap<String, usize>>> = Rc::default();
    let counts = Rc::clone(&seen);
    service.respond(move |request| {
        let mut counts = counts.borrow_mut();
        let count = counts.entry(request.path.clone()).or_default();
        *count += 1;
        match (request.path.as_str(), *count) {
            ("/3" | "/17", _) => Reply::status(410),
            ("/5", 1) => Reply {
                headers: vec![("retry-after", "30".to_owned())],
                ..Reply::status(429)
            },
            ("/8" | "/30", 1) => Reply {
                cut: true,
                ..Reply::default()
            },
            ("/11", 1) => Reply::status(503),
            _ => Reply::status(201),
        }
    });

    fixture.notify(fixture.a.id, &[done(fixture.a.admin, "A")]).await;
    for _ in 0..4 {
        fixture.app.run_jobs().await;
        fixture.app.advance(Duration::minutes(2));
    }

    for (path, count) in seen.borrow().iter() {
        let expected = if matches!(path.as_str(), "/5" | "/8" | "/30" | "/11") {
            2
        } else {
            1
        };
        assert_eq!(*count, expected, "{path}");
    }
    assert_eq!(seen.borrow().len(), 40);
    let count = |status: &str, all: &[(String, i64, Option<String>)]| all.iter().filter(|one| one.0 == status).count();
    let deliveries = fixture.deliveries().await;
    assert_eq!((count("sent", &deliveries), count("failed", &deliveries)), (38, 2));
    let devices = fixture.list(&fixture.a.token, "/devices?pageSize=100").await;
    assert_eq!(devices.iter().filter(|one| one["pushEnabled"] == false).count(), 2);
}

#[actix_web::test]
async fn a_slow_service_holds_no_connection_and_delays_no_job_of_another_tenant() {
    let builder = builder().config(LOCAL).config(WEBPUSH).pool_size(2);
    let fixture = Fixture::of(builder.pool_timeout(StdDuration::from_secs(2))).await;
    let (slow, quick) = (Service::start().await, Service::start().await);
    browsers(&fixture, &fixture.a.token, &slow, 16).await;
    browsers(&fixture, &fixture.b.token, &quick, 1).await;
    slow.respond(|_| Reply {
        delay: StdDuration::from_secs(3),
        ..Reply::status(201)
    });
    let worker = || Worker::new(fixture.app.runtime().clone()).of(Queue::Network);
    fixture
        .notify(fixture.a.id, &[done(fixture.a.admin, "A"), done(fixture.a.admin, "B")])
        .await;
    let busy = worker();
    let slow_job = busy.run_one(None);

    let other = async {
        tokio::time::sleep(StdDuration::from_millis(500)).await;
        let started = Instant::now();
        let (status, _) = fixture.app.get(&fixture.a.token, "/devices").await;
        assert_eq!(status, 200, "requests get a connection");
        fixture.notify(fixture.b.id, &[done(fixture.b.admin, "C")]).await;
        assert!(worker().run_one(None).await.expect("the queue can be read"));
        assert_eq!(quick.take().len(), 1);
        started.elapsed()
    };
    let (ran, waited) = futures_util::future::join(slow_job, other).await;

    assert!(ran.expect("the queue can be read"));
    assert!(waited < StdDuration::from_millis(2500), "{waited:?}");
    assert_eq!(slow.take().len(), 32);
}

#[actix_web::test]
async fn a_message_that_was_noted_is_not_sent_again_after_a_crash() {
    let (fixture, service) = (fixture().await, Service::start().await);
    browsers(&fixture, &fixture.a.token, &service, 4).await;
    service.respond(|request| Reply {
        // The worker is gone before the last response arrives.
        delay: StdDuration::from_secs(if request.path == "/3" { 30 } else { 0 }),
        ..Reply::status(201)
    });
    fixture.notify(fixture.a.id, &[done(fixture.a.admin, "A")]).await;
    let worker = Worker::new(fixture.app.runtime().clone()).of(Queue::Network);
    let killed = tokio::time::timeout(StdDuration::from_secs(3), worker.run_one(None)).await;
    assert!(killed.is_err(), "the worker waits for the last response");
    assert_eq!(service.take().len(), 4);

    service.respond(|_| Reply::status(201));
    fixture.app.advance(Duration::minutes(5));
    fixture.app.run_jobs().await;

    let again = service.take();
    assert_eq!(again.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["/3"]);
    assert!(fixture.deliveries().await.iter().all(|one| one.0 == "sent"));
}

#[actix_web::test]
async fn deliveries_are_erased_after_seven_days() {
    let (fixture, service) = (fixture().await, Service::start().await);
    browsers(&fixture, &fixture.a.token, &service, 1).await;
    fixture.push(done(fixture.a.admin, "A")).await;

    fixture.run_schedules(Duration::days(6)).await;
    assert_eq!(fixture.deliveries().await.len(), 1);
    fixture.run_schedules(Duration::days(2)).await;

    assert!(fixture.deliveries().await.is_empty());
}

#[actix_web::test]
async fn no_event_log_or_delivery_contains_a_token_or_a_secret() {
    let (fixture, service) = (fixture().await, Service::start().await);
    browsers(&fixture, &fixture.a.token, &service, 1).await;
    fixture.push(New::of(crate::fixture::DONE, fixture.a.admin)).await;

    let mut texts = Vec::new();
    for table in [
        "audit_action_logs",
        "core_outbox_events",
        "core_jobs",
        "devices_devices",
        "devices_push_deliveries",
    ] {
        let rows = fixture.app.rows(&format!("select t::text as row from {table} t")).await;
        assert!(!rows.is_empty(), "{table}");
        texts.extend(rows.iter().map(Value::to_string));
    }

    for secret in [service.url("/0").as_str(), "webpushwebpush", "p256dh"] {
        assert!(texts.iter().all(|text| !text.contains(secret)), "{secret}");
    }
}
