//! What handlers of a delivery announce is written at its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use backoffice_core::config::ConfigError;
use backoffice_core::events::{Event, StoredEvent, Subscriber, announce, extent, touch};
use backoffice_core::registry::{Registry, Startup};
use backoffice_core::{Call, Error, Module, Result};
use backoffice_test_support::{Duration, TestApp};
use diesel_async::AsyncPgConnection;
use serde_json::json;
use uuid::Uuid;

use crate::sample::{A, B, announce_in, happened};

static MODULE: Module = Module {
    name: "sample",
    title: "Sample",
    register,
    start,
    ..Module::EMPTY
};

/// What the subscriber has seen, and whether it fails for the events that request it.
#[derive(Default)]
struct Echo {
    /// The last number of the stream at each call of the handler.
    seen: Mutex<Vec<i64>>,
    fails: AtomicBool,
}

impl Echo {
    fn of(app: &TestApp) -> Arc<Self> {
        app.platform().provided().get::<Self>().expect("provided at the start")
    }

    fn seen(&self) -> Vec<i64> {
        self.seen.lock().expect("no panic").drain(..).collect()
    }
}

fn register(registry: &mut Registry) {
    registry.subscribe(Subscriber {
        id: "sample.echo",
        patterns: &["sample.call.*"],
        handler: |connection, call, event| Box::pin(echo(connection, call, event)),
        replay: false,
    });
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    startup.provide(Arc::new(Echo::default()));
    Ok(())
}

/// Announces as many events as the payload says, and a change of another kind.
async fn echo(connection: &mut AsyncPgConnection, call: &Call, event: &StoredEvent) -> Result<()> {
    let state: Arc<Echo> = call.provided()?;
    let last = extent(connection, event.tenant_id).await?.last;
    state.seen.lock().expect("no panic").push(last);
    let times = event.payload["times"].as_u64().unwrap_or(1);
    let events: Vec<Event> = (0..times)
        .map(|number| happened("sample.echo.heard", number.into()))
        .collect();
    let tenant = if event.payload["elsewhere"] == true {
        B
    } else {
        event.tenant_id
    };
    announce(connection, call, tenant, None, &events).await?;
    touch(connection, call, event.tenant_id, &["sample.wall"]).await?;
    if event.payload["fails"] == true && state.fails.load(Ordering::SeqCst) {
        return Err(Error::internal("it does not fit"));
    }
    Ok(())
}

fn call(number: u128) -> Event {
    happened("sample.call.sounded", number)
}

/// Returns the numbers of the echoes in the stream of a tenant.
async fn echoes(app: &TestApp, tenant: Uuid) -> Vec<i64> {
    let rows = app
        .rows(&format!(
            "select seq from core_outbox_events where tenant_id = '{tenant}' and name = 'sample.echo.heard' order by seq"
        ))
        .await;
    rows.iter().map(|row| row["seq"].as_i64().expect("a number")).collect()
}

/// Returns the versions of the two kinds that echoes change.
async fn versions(app: &TestApp) -> Vec<serde_json::Value> {
    let kinds = "select kind, version from core_collections where kind in ('sample.echo', 'sample.wall') order by kind";
    app.rows(kinds).await
}

#[actix_web::test]
async fn events_of_all_handlers_of_a_delivery_are_written_once_at_its_end() {
    let app = TestApp::new(&[&MODULE]).await;
    for number in 0..5 {
        announce_in(&app, A, None, call(number)).await;
    }

    app.deliver_events().await;

    assert_eq!(
        Echo::of(&app).seen(),
        [5, 5, 5, 5, 5],
        "the stream is free while handlers run"
    );
    assert_eq!(echoes(&app, A).await, [6, 7, 8, 9, 10]);
    let one_each = [
        json!({"kind": "sample.echo", "version": 1}),
        json!({"kind": "sample.wall", "version": 1}),
    ];
    assert_eq!(versions(&app).await, one_each);
}

#[actix_web::test]
async fn a_handler_that_fails_leaves_no_event_and_those_before_it_do() {
    let app = TestApp::new(&[&MODULE]).await;
    let state = Echo::of(&app);
    state.fails.store(true, Ordering::SeqCst);
    announce_in(&app, A, None, call(1)).await;
    announce_in(&app, A, None, call(2).with("fails", true)).await;
    announce_in(&app, A, None, call(3)).await;

    app.deliver_events().await;
    assert_eq!(echoes(&app, A).await, [4]);

    state.fails.store(false, Ordering::SeqCst);
    app.advance(Duration::seconds(2));
    app.deliver_events().await;
    assert_eq!(echoes(&app, A).await, [4, 5, 6]);
}

#[actix_web::test]
async fn a_delivery_ends_early_once_its_handlers_have_announced_a_thousand_events() {
    let app = TestApp::new(&[&MODULE]).await;
    for number in 0..5 {
        announce_in(&app, A, None, call(number).with("times", 600)).await;
    }

    app.deliver_events().await;

    assert_eq!(Echo::of(&app).seen(), [5, 5, 1205, 1205, 2405]);
    assert_eq!(echoes(&app, A).await.len(), 3000);
}

#[actix_web::test]
async fn a_handler_that_announces_a_change_of_another_tenant_fails() {
    let app = TestApp::new(&[&MODULE]).await;
    announce_in(&app, A, None, call(1).with("elsewhere", true)).await;

    app.deliver_events().await;

    assert_eq!((echoes(&app, A).await, echoes(&app, B).await), (vec![], vec![]));
    let errors = app
        .rows("select last_error from core_event_cursors where last_error is not null")
        .await;
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0]["last_error"]
            .as_str()
            .is_some_and(|text| text.contains("another tenant")),
        "{errors:?}"
    );
}

#[actix_web::test]
async fn changed_kinds_alone_leave_the_stream_as_it_is() {
    let app = TestApp::new(&[&MODULE]).await;
    announce_in(&app, A, None, call(1).with("times", 0)).await;

    app.deliver_events().await;

    assert_eq!(versions(&app).await, [json!({"kind": "sample.wall", "version": 1})]);
    let last = app
        .rows(&format!(
            "select last_seq from core_event_streams where tenant_id = '{A}' and name = 'log'"
        ))
        .await;
    assert_eq!(last, [json!({"last_seq": 1})]);
}
