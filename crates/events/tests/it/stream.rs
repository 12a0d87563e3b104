//! `GET /events/stream`.

use std::time::Duration;

use actix_web::http::Method;
use backoffice_core::Call;
use backoffice_core::events::{Event, forget};
use backoffice_test_support::{Duration as Span, TestApp, TestStream};
use serde_json::Value;
use uuid::Uuid;

use crate::sample::{A, B, MODULE, People, SECRET, announce_in, made};

const STREAM: &str = "/events/stream";
const SHORT: Duration = Duration::from_millis(1500);

async fn app() -> TestApp {
    let app = TestApp::new(&[&MODULE, &backoffice_events::MODULE]).await;
    People::of(&app).set("u", A, &[], None);
    app
}

async fn open(app: &TestApp, token: &str, path: &str, last: Option<&str>) -> TestStream {
    let mut request = app.request(Method::GET, path).bearer(token);
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let mut stream = request.open().await;
    assert_eq!(stream.status, 200);
    assert_eq!(stream.headers.get("content-type").expect("a type"), "text/event-stream");
    assert_eq!(stream.next().await.as_deref(), Some(":\n\n"));
    stream
}

/// Number, name and data of the next message.
async fn message(stream: &mut TestStream) -> (i64, String, Value) {
    let text = stream.next().await.expect("a message");
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
    };
    let id = field("id").parse().expect("a number");
    (id, field("event"), serde_json::from_str(&field("data")).expect("JSON"))
}

async fn is_silent(stream: &mut TestStream) -> bool {
    stream.next_within(SHORT).await.is_none()
}

#[actix_web::test]
async fn events_of_the_tenant_come_in_order_as_they_happen() {
    let app = app().await;
    announce_in(&app, A, None, made(1)).await;
    let mut stream = open(&app, "u", STREAM, None).await;
    announce_in(&app, B, None, made(9)).await;
    announce_in(&app, A, None, made(2)).await;
    announce_in(&app, A, None, made(3)).await;

    let (seq, name, data) = message(&mut stream).await;
    assert_eq!((seq, name.as_str()), (2, "sample.thing.made"));
    assert_eq!(data["name"], "sample.thing.made");
    assert_eq!(data["payload"]["id"], Uuid::from_u128(2).to_string());
    assert!(data["id"].is_string() && data["occurredAt"].is_string() && data["organizationId"].is_null());
    assert_eq!(message(&mut stream).await.0, 3);
    assert!(is_silent(&mut stream).await, "the other tenant's event is not told");
}

#[actix_web::test]
async fn job_12_a_stream_resumes_without_a_gap_and_without_a_repeat() {
    let app = app().await;
    for number in 1..=250 {
        announce_in(&app, A, None, made(number)).await;
    }
    let mut stream = open(&app, "u", STREAM, Some("0")).await;
    for seq in 1..=130 {
        assert_eq!(message(&mut stream).await.0, seq);
    }
    drop(stream);

    let mut stream = open(&app, "u", STREAM, Some("130")).await;
    for seq in 131..=250 {
        assert_eq!(message(&mut stream).await.0, seq);
    }
    assert!(is_silent(&mut stream).await);
}

#[actix_web::test]
async fn a_stream_that_missed_events_for_good_is_reset() {
    let app = app().await;
    for number in 1..=3 {
        announce_in(&app, A, None, made(number)).await;
    }
    app.deliver_events().await;
    app.advance(Span::days(8));
    announce_in(&app, A, None, made(4)).await;
    forget(&Call::internal(app.runtime())).await.expect("forgotten");

    let mut stream = open(&app, "u", STREAM, Some("2")).await;
    let (seq, name, _) = message(&mut stream).await;
    assert_eq!((seq, name.as_str()), (4, "reset"));
    let mut stream = open(&app, "u", STREAM, Some("3")).await;
    assert_eq!(message(&mut stream).await.0, 4);
    for unknown in ["99", "-1", "x"] {
        let mut stream = open(&app, "u", STREAM, Some(unknown)).await;
        assert_eq!(message(&mut stream).await.1, "reset", "{unknown}");
    }
}

#[actix_web::test]
async fn names_choose_events() {
    let app = app().await;
    let mut stream = open(&app, "u", "/events/stream?names=sample.thing.lost,other.*", None).await;
    announce_in(&app, A, None, made(1)).await;
    announce_in(&app, A, None, Event::new("other.thing.made", A)).await;
    announce_in(&app, A, None, Event::new("sample.thing.lost", A)).await;

    assert_eq!(message(&mut stream).await.1, "other.thing.made");
    assert_eq!(message(&mut stream).await.1, "sample.thing.lost");

    for bad in ["", "a,,b", "*.made", "a%20b"] {
        let path = format!("/events/stream?names={bad}");
        assert_eq!(app.get("u", &path).await.0, 400, "{bad}");
    }
}

#[actix_web::test]
async fn job_12_other_organizations_and_events_that_are_not_for_browsers_are_not_told() {
    let app = app().await;
    let (own, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
    People::of(&app).set("l", A, &[], Some(&[own]));
    let mut stream = open(&app, "l", STREAM, None).await;
    announce_in(&app, A, Some(other), made(1)).await;
    announce_in(&app, A, None, made(2)).await;
    announce_in(&app, A, Some(own), made(3)).await;

    let (seq, _, data) = message(&mut stream).await;
    assert_eq!((seq, &data["organizationId"]), (3, &Value::from(own.to_string())));

    app.sql("update core_outbox_events set browser = false where seq = 3")
        .await;
    let mut stream = open(&app, "l", STREAM, Some("0")).await;
    assert!(is_silent(&mut stream).await);
}

#[actix_web::test]
async fn job_12_a_feature_that_is_withdrawn_ends_its_events_at_once() {
    let app = app().await;
    let people = People::of(&app);
    people.set("u", A, &[SECRET.id], None);
    for number in 1..=3 {
        announce_in(&app, A, None, made(number)).await;
    }
    app.sql(&format!(
        "update core_outbox_events set feature = '{}' where seq in (1, 2)",
        SECRET.id
    ))
    .await;

    let mut stream = open(&app, "u", STREAM, Some("0")).await;
    assert_eq!(message(&mut stream).await.0, 1);
    drop(stream);
    people.set("u", A, &[], None);

    let mut stream = open(&app, "u", STREAM, Some("0")).await;
    assert_eq!(message(&mut stream).await.0, 3);
    people.set("u", A, &[SECRET.id], None);
    let mut open_one = open(&app, "u", STREAM, None).await;
    people.set("u", A, &[], None);
    announce_in(&app, A, None, made(4)).await;
    app.sql(&format!(
        "update core_outbox_events set feature = '{}' where seq = 4",
        SECRET.id
    ))
    .await;
    assert!(is_silent(&mut open_one).await);
}

#[actix_web::test]
async fn the_end_of_the_credential_closes_the_stream() {
    let app = app().await;
    let mut stream = open(&app, "u", STREAM, None).await;
    People::of(&app).remove("u");
    announce_in(&app, A, None, made(1)).await;

    assert_eq!(stream.next().await, None);
}

#[actix_web::test]
async fn a_principal_keeps_its_ten_newest_streams() {
    let app = app().await;
    People::of(&app).set("v", A, &[], None);
    let mut other = open(&app, "v", STREAM, None).await;
    let mut streams = Vec::new();
    for _ in 0..11 {
        streams.push(open(&app, "u", STREAM, None).await);
    }

    assert_eq!(streams[0].next().await, None);
    announce_in(&app, A, None, made(1)).await;
    for stream in &mut streams[1..] {
        assert_eq!(message(stream).await.0, 1);
    }
    assert_eq!(message(&mut other).await.0, 1);
}

#[actix_web::test]
async fn nobody_gets_a_stream_without_a_credential() {
    let app = app().await;

    assert_eq!(app.get("", STREAM).await.0, 401);
    assert_eq!(app.get("nobody", STREAM).await.0, 401);
}

#[actix_web::test]
async fn streams_close_when_the_process_ends() {
    let app = app().await;
    let mut stream = open(&app, "u", STREAM, None).await;
    app.platform().event_bell().close();

    assert_eq!(stream.next().await, None);
}
