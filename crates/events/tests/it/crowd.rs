//! Many concurrent streams.

use std::time::Duration;

use actix_web::http::Method;
use backoffice_test_support::{TestApp, TestStream};
use serde_json::json;
use tokio::time::sleep;
use uuid::Uuid;

use crate::sample::{A, B, MODULE, People, THINGS, announce_in, created};

const STREAM: &str = "/events/stream";

/// Opens streams of different users, each limited to one organization, which must be looked up.
async fn crowd(app: &TestApp, streams: usize) -> Vec<TestStream> {
    let mut open = Vec::new();
    for number in 0..streams {
        // The first byte of the token identifies the user.
        let token = char::from_u32(48 + u32::try_from(number).expect("few"))
            .expect("ASCII")
            .to_string();
        People::of(app).set(&token, A, &[THINGS.id], Some(&[Uuid::from_u128(1)]));
        open.push(app.request(Method::GET, STREAM).bearer(&token).open_events().await);
    }
    open
}

/// Returns the smallest number of statements in 2.5 seconds without events, and the number until `events` commits have reached every stream.
async fn statements(streams: usize, events: u128) -> (u64, u64) {
    let app = TestApp::builder(&[&MODULE, &backoffice_events::MODULE])
        .through_proxy()
        .build()
        .await;
    // Announces through a connection that is not counted.
    let other = app.second_node().await;
    let mut open = crowd(&app, streams).await;
    announce_in(&other, A, Some(Uuid::from_u128(1)), created(1)).await;
    for stream in &mut open {
        assert_eq!(stream.event().await.0, 1);
    }
    // The readers of all streams wait at the same time.
    // The quietest of three periods: other work, such as opening a connection, falls into one of them at most.
    let mut silent = u64::MAX;
    for _ in 0..3 {
        let listening = listen(&mut open, Duration::from_millis(2500));
        let ((), sent) = app.count_statements(listening).await;
        silent = silent.min(sent);
    }
    let reported = async {
        for number in 0..events {
            announce_in(&other, A, Some(Uuid::from_u128(1)), created(number)).await;
        }
        for seq in 0..events {
            for stream in &mut open {
                assert_eq!(stream.event().await.0, i64::try_from(seq).expect("few") + 2);
            }
        }
    };
    let ((), busy) = app.count_statements(reported).await;
    (silent, busy)
}

async fn listen(streams: &mut [TestStream], wait: Duration) {
    let silent = streams.iter_mut().map(|stream| stream.next_within(wait));
    let said = futures_util::future::join_all(silent).await;
    assert!(said.iter().all(Option::is_none), "nothing happens: {said:?}");
}

#[actix_web::test]
async fn arch_6_4_streams_of_a_tenant_are_read_once() {
    let ((one, one_busy), (many, many_busy)) = (statements(1, 20).await, statements(50, 20).await);

    println!("silent: {one} statements for 1 stream, {many} for 50; 20 events: {one_busy} and {many_busy}");
    // One read a second; the exact time decides whether there are two or three.
    assert!(one >= 2 && many >= 2, "{one} and {many}");
    assert!(one.abs_diff(many) <= 2, "{one} and {many}");
    assert!(one_busy.abs_diff(many_busy) <= 6, "{one_busy} and {many_busy}");
    assert!(many_busy < 30, "fewer than the streams, {many_busy}");
}

#[actix_web::test]
async fn arch_6_4_nothing_is_read_before_the_first_stream_and_after_the_last() {
    let app = TestApp::builder(&[&MODULE, &backoffice_events::MODULE])
        .through_proxy()
        .build()
        .await;
    let ((), before) = app.count_statements(sleep(Duration::from_millis(1500))).await;
    let open = crowd(&app, 3).await;
    drop(open);
    sleep(Duration::from_millis(1500)).await;

    let ((), after) = app.count_statements(sleep(Duration::from_millis(2500))).await;

    assert_eq!((before, after), (0, 0));
    let mut again = crowd(&app, 1).await;
    announce_in(&app, A, Some(Uuid::from_u128(1)), created(1)).await;
    assert_eq!(again[0].event().await.0, 1, "the next one is read for again");
}

#[actix_web::test]
async fn arch_6_4_a_stream_that_is_too_late_reads_what_it_missed_by_itself() {
    let app = TestApp::new(&[&MODULE, &backoffice_events::MODULE]).await;
    let mut streams = crowd(&app, 2).await;
    let (slow, rest) = streams.split_at_mut(1);
    for number in 1..=30 {
        announce_in(&app, A, Some(Uuid::from_u128(1)), created(number)).await;
        // The other stream follows, so that each event is a batch of its own.
        assert_eq!(rest[0].event().await.0, i64::try_from(number).expect("few"));
    }

    for seq in 1..=30 {
        assert_eq!(slow[0].event().await.0, seq);
    }
    assert!(slow[0].is_silent().await);
}

#[actix_web::test]
async fn s3_streams_of_a_tenant_and_of_a_node_are_bounded() {
    let app = TestApp::builder(&[&MODULE, &backoffice_events::MODULE])
        .config("[events]\nmax_streams_per_tenant = 3\nmax_streams = 4")
        .build()
        .await;
    let mut open = crowd(&app, 3).await;
    People::of(&app).set("one more", A, &[THINGS.id], None);
    for token in ["b", "c"] {
        People::of(&app).set(token, B, &[THINGS.id], None);
    }

    let rejected = app.request(Method::GET, STREAM).bearer("one more").send().await;

    assert_eq!(rejected.status, 429);
    assert_eq!(
        rejected.json(),
        json!({"error": "Too many event streams are open", "code": "too_many_streams"})
    );
    assert_eq!(
        rejected
            .headers
            .get("retry-after")
            .map(actix_web::http::header::HeaderValue::as_bytes),
        Some(&b"30"[..])
    );
    let _other = app.request(Method::GET, STREAM).bearer("b").open_events().await;
    assert_eq!(app.get("c", STREAM).await.0, 429, "the node is full");

    drop(open.remove(0));

    let mut again = app.request(Method::GET, STREAM).bearer("one more").open_events().await;
    announce_in(&app, A, None, created(1)).await;
    assert_eq!(again.event().await.0, 1);
}
