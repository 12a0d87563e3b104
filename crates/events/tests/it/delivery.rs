//! Delivery to subscribers inside the process.

use std::cell::Cell;
use std::time::Duration;

use backoffice_core::Call;
use backoffice_core::events::{Relay, dead_letters};
use backoffice_test_support::{Duration as Span, TestApp};
use serde_json::json;
use tokio::time::timeout;

use crate::sample::{A, B, Fragile, MODULE, SELECTIVE, announce_in, created, effects, happened};

async fn app() -> TestApp {
    TestApp::new(&[&MODULE]).await
}

#[actix_web::test]
async fn every_event_of_every_tenant_arrives_once_and_only_at_its_subscribers() {
    let app = app().await;
    for number in 0..150 {
        announce_in(&app, A, None, created(number)).await;
    }
    announce_in(&app, B, None, created(1)).await;
    announce_in(&app, A, None, happened("other.thing.made", 1)).await;

    app.deliver_events().await;
    app.deliver_events().await;

    let all: Vec<(i64, i64)> = (1..=150).map(|seq| (seq, 1)).collect();
    assert_eq!(effects(&app, A, "counter").await, all);
    assert_eq!(effects(&app, A, "fragile").await, all);
    assert_eq!(effects(&app, B, "counter").await, [(1, 1)]);
    let behind = "select 1 as one from core_event_cursors c join core_event_streams s using (tenant_id) \
                  where s.name = 'log' and c.last_seq <> s.last_seq";
    assert!(app.rows(behind).await.is_empty());
}

#[actix_web::test]
async fn events_that_no_subscriber_wants_move_all_cursors_with_one_statement() {
    let app = TestApp::builder(&[&SELECTIVE]).through_proxy().build().await;
    announce_in(&app, A, None, created(1)).await;
    app.deliver_events().await;
    let mut relay = Relay::new(app.runtime().clone());
    announce_in(&app, A, None, happened("other.thing.made", 0)).await;
    relay.run_one().await.expect("the cursors move");
    for number in 0..250 {
        announce_in(&app, A, None, happened("other.thing.made", number)).await;
    }

    let (delivered, statements) = app.count_statements(relay.run_one()).await;

    assert!(!delivered.expect("the cursors move"));
    // Settings of the connections come on top of the move, and of the look for tenants without cursors.
    assert!(statements <= 4, "{statements} statements");
    let ends = "select c.last_seq from core_event_cursors c where c.tenant_id = '00000000-0000-0000-0000-00000000000a'";
    assert_eq!(
        app.rows(ends).await,
        [json!({"last_seq": 252}), json!({"last_seq": 252})]
    );
    assert_eq!(effects(&app, A, "counter").await, [(1, 1)]);
}

#[actix_web::test]
async fn a_cursor_stops_before_the_first_event_that_its_subscriber_wants() {
    let app = TestApp::new(&[&SELECTIVE]).await;
    for number in 0..120 {
        announce_in(&app, A, None, happened("other.thing.made", number)).await;
    }
    announce_in(&app, A, None, created(1)).await;
    announce_in(&app, A, None, happened("sampled.thing.made", 1)).await;

    app.deliver_events().await;

    assert_eq!(effects(&app, A, "counter").await, [(121, 1)]);
    assert_eq!(effects(&app, A, "fragile").await, [(121, 1)]);
}

#[actix_web::test]
async fn job_1_a_relay_that_dies_before_its_commit_leaves_nothing_and_the_next_one_delivers_once() {
    let app = app().await;
    announce_in(&app, A, None, created(1)).await;
    announce_in(&app, A, None, created(2).with("hangs", true)).await;
    Fragile::of(&app).hangs(true);
    let mut relay = Relay::new(app.runtime().clone());
    for _ in 0..3 {
        // The deliveries of the other subscribers end. The hanging one is dropped before its end, after its effect was written.
        let _died = timeout(Duration::from_secs(2), relay.run_one()).await;
    }
    Fragile::of(&app).hangs(false);

    assert_eq!(effects(&app, A, "fragile").await, []);
    app.deliver_events().await;
    assert_eq!(effects(&app, A, "fragile").await, [], "the lease still holds");

    app.advance(Span::seconds(31));
    app.deliver_events().await;

    assert_eq!(effects(&app, A, "fragile").await, [(1, 1), (2, 1)]);
    assert_eq!(effects(&app, A, "counter").await, [(1, 1), (2, 1)]);
    assert_eq!(effects(&app, A, "witness").await, [(1, 1), (2, 1)]);
}

#[actix_web::test]
async fn a_clock_that_was_ahead_delays_no_event() {
    let app = app().await;
    let present = app.now();
    app.advance(Span::days(400));
    announce_in(&app, A, None, created(1)).await;
    announce_in(&app, A, None, created(2).with("fails", true)).await;
    Fragile::of(&app).fails(true);
    app.deliver_events().await;
    Fragile::of(&app).fails(false);

    app.clock().set(present);
    announce_in(&app, A, None, created(3)).await;
    app.deliver_events().await;

    let all = [(1, 1), (2, 1), (3, 1)];
    assert_eq!(effects(&app, A, "counter").await, all);
    assert_eq!(effects(&app, A, "fragile").await, all, "nor does a failed attempt");
}

#[actix_web::test]
async fn job_2_a_subscriber_that_fails_delays_only_itself_until_the_event_is_put_aside() {
    let app = app().await;
    Fragile::of(&app).fails(true);
    announce_in(&app, A, None, created(1)).await;
    announce_in(&app, A, None, created(2).with("fails", true)).await;
    announce_in(&app, A, None, created(3)).await;
    announce_in(&app, B, None, created(4)).await;

    app.deliver_events().await;

    for other in ["counter", "witness"] {
        assert_eq!(effects(&app, A, other).await, [(1, 1), (2, 1), (3, 1)]);
    }
    assert_eq!(effects(&app, B, "fragile").await, [(1, 1)]);
    assert_eq!(effects(&app, A, "fragile").await, [(1, 1)], "what came before stays");

    for attempt in 2..=12 {
        assert!(letters(&app).await.is_empty(), "before attempt {attempt}");
        assert_eq!(app.deliver_events().await, 0, "it waits before attempt {attempt}");
        app.advance(Span::minutes(18));
        app.deliver_events().await;
    }

    assert_eq!(effects(&app, A, "fragile").await, [(1, 1), (3, 1)]);
    for other in ["counter", "witness"] {
        assert_eq!(effects(&app, A, other).await, [(1, 1), (2, 1), (3, 1)]);
    }
    let call = Call::internal(app.runtime());
    assert_eq!(dead_letters::count(&call).await.expect("counted"), 1);
    let letters = letters(&app).await;
    assert_eq!((letters.len(), letters[0].attempts), (1, 12));
    assert!(letters[0].error.contains("it does not fit"), "{}", letters[0].error);

    dead_letters::retry(&call, &letters[0])
        .await
        .expect_err("it still fails");
    assert_eq!(effects(&app, A, "fragile").await, [(1, 1), (3, 1)]);
    Fragile::of(&app).fails(false);
    dead_letters::retry(&call, &letters[0]).await.expect("delivered");
    assert_eq!(dead_letters::count(&call).await.expect("counted"), 0);
    assert_eq!(effects(&app, A, "fragile").await, [(1, 1), (2, 1), (3, 1)]);
    dead_letters::retry(&call, &letters[0])
        .await
        .expect_err("it was delivered");
    assert_eq!(effects(&app, A, "fragile").await, [(1, 1), (2, 1), (3, 1)]);
}

async fn letters(app: &TestApp) -> Vec<dead_letters::DeadLetter> {
    let call = Call::internal(app.runtime());
    dead_letters::list(&call, false).await.expect("the letters")
}

#[actix_web::test]
async fn a_retried_letter_whose_subscriber_panics_still_waits() {
    let app = app().await;
    Fragile::of(&app).fails(true);
    announce_in(&app, A, None, created(1).with("fails", true).with("panics", true)).await;
    for _ in 0..12 {
        app.deliver_events().await;
        app.advance(Span::minutes(18));
    }
    let call = Call::internal(app.runtime());
    let letter = letters(&app).await.remove(0);

    let error = dead_letters::retry(&call, &letter).await.expect_err("it panics");

    assert!(error.to_string().contains("panicked"), "{error}");
    let after = letters(&app).await.remove(0);
    assert_eq!((after.id, after.attempts), (letter.id, 13));
}

#[actix_web::test]
async fn how_long_events_wait_is_known_for_each_subscriber() {
    let app = app().await;
    Fragile::of(&app).fails(true);
    announce_in(&app, A, None, created(1).with("fails", true)).await;
    app.deliver_events().await;
    app.advance(Span::seconds(90));

    let delays = Relay::delays(&Call::internal(app.runtime())).await.expect("delays");

    let seconds = |who: &str| delays.iter().find(|one| one.0 == who).map(|one| one.1);
    assert_eq!(seconds("sample.fragile"), Some(90.0));
    assert_eq!(seconds("sample.counter"), Some(0.0));
}

#[actix_web::test]
async fn two_nodes_share_the_work_without_doing_it_twice() {
    let app = app().await;
    let other = app.second_node().await;
    let tenants: Vec<_> = (100..110).map(uuid::Uuid::from_u128).collect();
    for number in 0..20 {
        for tenant in &tenants {
            announce_in(&app, *tenant, None, created(number)).await;
        }
    }

    // A node that looks while the other one holds all cursors finds nothing; as a relay does, it looks again.
    let done = Cell::new(0);
    let deliver = async |node: &TestApp| {
        let mut own = 0;
        for _ in 0..1000 {
            if done.get() >= 3 * tenants.len() {
                break;
            }
            let delivered = node.deliver_events().await;
            own += delivered;
            done.set(done.get() + delivered);
        }
        own
    };
    let (here, there) = tokio::join!(deliver(&app), deliver(&other));

    assert!(here > 0 && there > 0, "{here} and {there}");
    let all: Vec<(i64, i64)> = (1..=20).map(|seq| (seq, 1)).collect();
    for tenant in tenants {
        assert_eq!(effects(&app, tenant, "counter").await, all);
        assert_eq!(effects(&app, tenant, "fragile").await, all);
    }
}

#[actix_web::test]
async fn a_subscriber_that_is_new_begins_with_the_next_event_or_with_the_oldest_one() {
    let app = app().await;
    announce_in(&app, A, None, created(1)).await;
    app.sql("delete from core_event_cursors where subscriber in ('sample.counter', 'sample.witness')")
        .await;

    let later = app.second_node().await;
    announce_in(&app, A, None, created(2)).await;
    later.deliver_events().await;

    assert_eq!(effects(&app, A, "counter").await, [(2, 1)]);
    assert_eq!(effects(&app, A, "witness").await, [(1, 1), (2, 1)]);
    assert_eq!(effects(&app, A, "fragile").await, [(1, 1), (2, 1)]);
}
