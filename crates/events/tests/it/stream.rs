//! `GET /events/stream`.

use std::time::Duration;

use actix_web::http::Method;
use backoffice_core::Call;
use backoffice_core::events::{forget, wake_each_other};
use backoffice_test_support::{Duration as Span, TestApp, TestStream};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::sample::{A, B, MODULE, People, SECRETS, THINGS, announce_in, created, happened, person};

const STREAM: &str = "/events/stream";
const SHORT: Duration = Duration::from_millis(1500);
const LONG: Duration = Duration::from_secs(10);

async fn app() -> TestApp {
    let app = TestApp::new(&[&MODULE, &backoffice_events::MODULE]).await;
    People::of(&app).set("u", A, &[THINGS.id], None);
    app
}

async fn open(app: &TestApp, token: &str, path: &str, last: Option<&str>) -> TestStream {
    let mut request = app.request(Method::GET, path).bearer(token);
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    request.open_events().await
}

#[actix_web::test]
async fn events_of_the_tenant_come_in_order_as_they_happen() {
    let app = app().await;
    announce_in(&app, A, None, created(1)).await;
    let mut stream = open(&app, "u", STREAM, None).await;
    announce_in(&app, B, None, created(9)).await;
    announce_in(&app, A, None, created(2)).await;
    announce_in(&app, A, None, created(3)).await;

    let (seq, name, data) = stream.event().await;
    assert_eq!((seq, name.as_str()), (2, "sample.thing.created"));
    assert_eq!(data["name"], "sample.thing.created");
    assert_eq!(data["payload"]["id"], Uuid::from_u128(2).to_string());
    assert!(data["id"].is_string() && data["occurredAt"].is_string() && data["organizationId"].is_null());
    assert_eq!(stream.event().await.0, 3);
    assert!(stream.is_silent().await, "the other tenant's event is not told");
}

#[actix_web::test]
async fn job_12_a_stream_resumes_without_a_gap_and_without_a_repeat() {
    let app = app().await;
    for number in 1..=250 {
        announce_in(&app, A, None, created(number)).await;
    }
    let mut stream = open(&app, "u", STREAM, Some("0")).await;
    for seq in 1..=130 {
        assert_eq!(stream.event().await.0, seq);
    }
    // Events that the server has queued by then are lost.
    drop(stream);
    for number in 251..=260 {
        announce_in(&app, A, None, created(number)).await;
    }

    let mut stream = open(&app, "u", STREAM, Some("130")).await;
    let later = async {
        for number in 261..=270 {
            announce_in(&app, A, None, created(number)).await;
        }
    };
    let reported = async {
        for seq in 131..=270 {
            assert_eq!(stream.event().await.0, seq);
        }
    };
    tokio::join!(later, reported);
    assert!(stream.is_silent().await);
}

#[actix_web::test]
async fn a_stream_that_missed_events_for_good_is_reset() {
    let app = app().await;
    for number in 1..=3 {
        announce_in(&app, A, None, created(number)).await;
    }
    app.deliver_events().await;
    app.advance(Span::days(8));
    announce_in(&app, A, None, created(4)).await;
    forget(&Call::internal(app.runtime())).await.expect("forgotten");

    let mut stream = open(&app, "u", STREAM, Some("2")).await;
    let (seq, name, _) = stream.event().await;
    assert_eq!((seq, name.as_str()), (4, "reset"));
    let mut stream = open(&app, "u", STREAM, Some("3")).await;
    assert_eq!(stream.event().await.0, 4);
    for unknown in ["99", "-1", "x"] {
        let mut stream = open(&app, "u", STREAM, Some(unknown)).await;
        assert_eq!(stream.event().await.1, "reset", "{unknown}");
    }
}

/// Sets a tenant back to the state after the event of this number, as a failover that loses commits does.
async fn lose_after(app: &TestApp, tenant: Uuid, seq: i64) {
    app.sql(&format!(
        "delete from core_outbox_events where tenant_id = '{tenant}' and seq > {seq}"
    ))
    .await;
    let streams =
        format!("update core_event_streams set last_seq = {seq} where tenant_id = '{tenant}' and name = 'log'");
    app.sql(&streams).await;
}

#[actix_web::test]
async fn streams_are_reset_when_the_numbers_go_back() {
    let app = app().await;
    let mut stream = open(&app, "u", STREAM, None).await;
    for number in 1..=5 {
        announce_in(&app, A, None, created(number)).await;
        stream.event().await;
    }
    lose_after(&app, A, 2).await;

    let (seq, name, _) = stream.event().await;
    assert_eq!((seq, name.as_str()), (2, "reset"));
    let mut later = open(&app, "u", STREAM, None).await;
    announce_in(&app, A, None, created(6)).await;
    for open in [&mut stream, &mut later] {
        let (seq, name, data) = open.event().await;
        assert_eq!((seq, name.as_str()), (3, "sample.thing.created"));
        assert_eq!(data["payload"]["id"], Uuid::from_u128(6).to_string());
    }
}

#[actix_web::test]
async fn names_choose_events() {
    let app = app().await;
    let mut stream = open(&app, "u", "/events/stream?names=sample.thing.lost,other.*", None).await;
    announce_in(&app, A, None, created(1)).await;
    announce_in(&app, A, None, happened("other.thing.made", 1).shown_to(THINGS)).await;
    announce_in(&app, A, None, happened("sample.thing.lost", 1).shown_to(THINGS)).await;

    assert_eq!(stream.event().await.1, "other.thing.made");
    assert_eq!(stream.event().await.1, "sample.thing.lost");

    for bad in ["a,b%20c", "*.made", "a%20b", "a,.*"] {
        let path = format!("/events/stream?names={bad}");
        assert_eq!(app.get("u", &path).await.0, 400, "{bad}");
    }
}

#[actix_web::test]
async fn an_empty_list_of_names_chooses_none() {
    let app = app().await;
    for names in ["", ","] {
        let mut stream = open(&app, "u", &format!("{STREAM}?names={names}"), None).await;
        announce_in(&app, A, None, created(1)).await;
        assert!(stream.is_silent().await, "{names:?}");
    }
    let mut stream = open(&app, "u", &format!("{STREAM}?names=sample.*,"), None).await;
    announce_in(&app, A, None, created(2)).await;
    assert_eq!(stream.event().await.1, "sample.thing.created");
}

#[actix_web::test]
async fn job_12_other_organizations_and_internal_events_are_not_streamed() {
    let app = app().await;
    let (own, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
    People::of(&app).set("l", A, &[THINGS.id], Some(&[own]));
    let mut stream = open(&app, "l", STREAM, None).await;
    announce_in(&app, A, Some(other), created(1)).await;
    announce_in(&app, A, None, created(2)).await;
    announce_in(&app, A, Some(own), created(3)).await;

    let (seq, _, data) = stream.event().await;
    assert_eq!((seq, &data["organizationId"]), (3, &Value::from(own.to_string())));

    announce_in(&app, A, Some(own), happened("sample.thing.weighed", 4)).await;
    announce_in(&app, A, Some(other), created(5).for_principal(person("l"))).await;
    assert!(
        stream.is_silent().await,
        "what stays inside, or happened elsewhere, is not told"
    );
}

#[actix_web::test]
async fn job_12_a_feature_that_is_withdrawn_ends_its_events_at_once() {
    let app = app().await;
    let people = People::of(&app);
    people.set("u", A, &[THINGS.id, SECRETS.id], None);
    let secret = |number| happened("sample.secret.told", number).shown_to(SECRETS);
    for event in [secret(1), secret(2), created(3)] {
        announce_in(&app, A, None, event).await;
    }
    let mut stream = open(&app, "u", STREAM, Some("0")).await;
    assert_eq!(stream.event().await.0, 1);
    drop(stream);

    people.set("u", A, &[THINGS.id], None);

    let mut stream = open(&app, "u", STREAM, Some("0")).await;
    assert_eq!(stream.event().await.0, 3);
    people.set("u", A, &[SECRETS.id], None);
    let mut open_one = open(&app, "u", STREAM, None).await;
    announce_in(&app, A, None, secret(4)).await;
    assert_eq!(open_one.event().await.0, 4);
    people.set("u", A, &[], None);
    announce_in(&app, A, None, secret(5)).await;
    assert!(open_one.is_silent().await);
}

#[actix_web::test]
async fn an_event_for_a_principal_reaches_only_it_without_the_right() {
    let app = app().await;
    let people = People::of(&app);
    people.set("p", A, &[], None);
    people.set("s", A, &[SECRETS.id], None);
    let (mut own, mut other) = (open(&app, "p", STREAM, None).await, open(&app, "u", STREAM, None).await);
    let mut viewer = open(&app, "s", STREAM, None).await;
    let event = || happened("sample.secret.told", 1).for_principal(person("p"));
    announce_in(&app, A, None, event()).await;
    announce_in(&app, A, None, event().shown_to(SECRETS)).await;

    assert_eq!(own.event().await.0, 1);
    assert_eq!(own.event().await.0, 2);
    assert_eq!(viewer.event().await.0, 2);
    assert!(other.is_silent().await);
}

#[actix_web::test]
async fn an_event_for_a_principal_alone_reaches_it_from_every_organization() {
    let app = app().await;
    let (selected, other, former) = (Uuid::from_u128(1), Uuid::from_u128(2), Uuid::from_u128(3));
    People::of(&app).set("l", A, &[THINGS.id], Some(&[selected, other]));
    let request = app.request(Method::GET, STREAM).bearer("l");
    let request = request.header("x-organization-id", &selected.to_string());
    let mut stream = request.open_events().await;
    for organization in [other, former] {
        announce_in(&app, A, Some(organization), created(1).for_principal(person("l"))).await;
        let alone = happened("sample.secret.told", 2).for_principal(person("l"));
        announce_in(&app, A, Some(organization), alone).await;
    }

    assert_eq!(stream.event().await.0, 2);
    assert_eq!(stream.event().await.0, 4);
    assert!(
        stream.is_silent().await,
        "what others see by a feature stays in its organization"
    );
}

#[actix_web::test]
async fn a_commit_wakes_the_other_nodes() {
    let app = app().await;
    let other = app.second_node().await;
    People::of(&other).set("u", A, &[THINGS.id], None);
    let mut notified = other.platform().commit_notifier().listen();
    let mut stream = open(&other, "u", STREAM, None).await;
    announce_in(&app, A, None, created(1)).await;
    assert_eq!(stream.event().await.0, 1, "found by looking, if nobody says so");
    timeout(SHORT, notified.notified()).await.expect_err("nobody said so");

    let nodes = [&app, &other].map(|node| actix_web::rt::spawn(wake_each_other(node.runtime().clone())));
    timeout(LONG, notified.notified()).await.expect("both listen");
    listening(&app, 2).await;
    while timeout(SHORT, notified.notified()).await.is_ok() {}
    announce_in(&app, A, None, created(2)).await;
    timeout(LONG, notified.notified()).await.expect("it is said");
    assert_eq!(stream.event().await.0, 2);

    app.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %' or query like 'notify %'",
    )
    .await;
    listening(&app, 2).await;
    while timeout(SHORT, notified.notified()).await.is_ok() {}
    announce_in(&app, A, None, created(3)).await;
    timeout(LONG, notified.notified()).await.expect("they listen again");
    assert_eq!(stream.event().await.0, 3);
    for node in nodes {
        node.abort();
    }
}

/// Waits until this many connections listen.
async fn listening(app: &TestApp, requested: usize) {
    let query = "select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() \
                 and (query like 'listen %' or query like 'notify %')";
    for _ in 0..500 {
        if app.rows(query).await.len() == requested {
            return;
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("no connection listens");
}

#[actix_web::test]
async fn a_silent_stream_says_so_every_20_seconds_and_looks_at_its_credential() {
    let app = app().await;
    People::of(&app).set("v", A, &[], None);
    let (mut stays, mut ends) = (open(&app, "u", STREAM, None).await, open(&app, "v", STREAM, None).await);
    People::of(&app).remove("v");
    let started = Instant::now();

    let comment = stays.next_within(Duration::from_secs(25)).await.flatten();

    assert_eq!(comment.as_deref(), Some(":\n\n"));
    assert!(started.elapsed() > Duration::from_secs(19), "{:?}", started.elapsed());
    assert_eq!(ends.next().await, None);
}

#[actix_web::test]
async fn the_end_of_the_credential_closes_the_stream() {
    let app = app().await;
    let mut stream = open(&app, "u", STREAM, None).await;
    People::of(&app).remove("u");
    announce_in(&app, A, None, created(1)).await;

    assert_eq!(stream.next().await, None);
}

#[actix_web::test]
async fn a_principal_keeps_its_ten_newest_streams() {
    let app = app().await;
    People::of(&app).set("v", A, &[THINGS.id], None);
    let mut other = open(&app, "v", STREAM, None).await;
    let mut streams = Vec::new();
    for _ in 0..11 {
        streams.push(open(&app, "u", STREAM, None).await);
    }

    assert_eq!(streams[0].next().await, None);
    announce_in(&app, A, None, created(1)).await;
    for stream in &mut streams[1..] {
        assert_eq!(stream.event().await.0, 1);
    }
    assert_eq!(other.event().await.0, 1);
}

#[actix_web::test]
async fn a_stream_requires_a_credential() {
    let app = app().await;

    assert_eq!(app.get("", STREAM).await.0, 401);
    assert_eq!(app.get("nobody", STREAM).await.0, 401);
}

#[actix_web::test]
async fn streams_close_when_the_process_ends() {
    let app = app().await;
    let mut stream = open(&app, "u", STREAM, None).await;
    app.platform().commit_notifier().close();

    assert_eq!(stream.next().await, None);
}
