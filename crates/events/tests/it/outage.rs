//! The database becomes unavailable for a relay, and available again.

use std::time::Duration;

use actix_web::rt;
use backoffice_core::events::relay;
use backoffice_core::jobs::stop_signal;
use backoffice_test_support::{Duration as Span, FaultMode, TestApp};
use tokio::time::sleep;

use crate::sample::{A, MODULE, announce_in, created, effects};

/// Announces the event of this number on another node, and waits until every subscriber has received all events up to it, each once.
async fn announce_and_wait(app: &TestApp, node: &TestApp, number: i64) {
    announce_in(node, A, None, created(1)).await;
    let all: Vec<(i64, i64)> = (1..=number).map(|seq| (seq, 1)).collect();
    for _ in 0..1000 {
        let mut notified = Vec::new();
        for subscriber in ["counter", "fragile", "witness"] {
            notified.push(effects(app, A, subscriber).await);
        }
        if notified.iter().all(|one| *one == all) {
            return;
        }
        // Leases of interrupted deliveries expire.
        app.advance(Span::seconds(1));
        sleep(Duration::from_millis(20)).await;
    }
    panic!("event {number} was not delivered");
}

#[actix_web::test]
async fn job_10_a_relay_outlives_the_database_and_delivers_every_event_once() {
    let app = TestApp::builder(&[&MODULE]).through_proxy().build().await;
    let node = app.second_node().await;
    let (end, stop) = stop_signal();
    let running = rt::spawn(relay(app.runtime().clone(), stop));
    announce_and_wait(&app, &node, 1).await;

    for (number, statement) in [(2, 3), (3, 6), (4, 9)] {
        app.proxy().fail_at(statement, FaultMode::After);
        announce_and_wait(&app, &node, number).await;
        assert!(!app.proxy().heal(), "the connection broke off");
    }
    app.proxy().cut();
    announce_in(&node, A, None, created(1)).await;
    sleep(Duration::from_secs(4)).await;
    assert!(!running.is_finished(), "it waits");
    assert_eq!(effects(&app, A, "counter").await.len(), 4, "nothing can be delivered");
    app.proxy().restore();
    announce_and_wait(&app, &node, 6).await;

    end.send(true).expect("it listens");
    running.await.expect("it ends when it is told");
}
