//! What a module that is no longer enabled leaves in the database.

use std::sync::{Arc, Mutex};

use backoffice_core::config::Config;
use backoffice_core::db::{Database, DatabaseOptions};
use backoffice_core::events::{Event, StoredEvent, Subscriber, announce, forget};
use backoffice_core::{Call, Module, Platform, PlatformOptions, Result, Runtime, Scope};
use backoffice_test_support::{Duration, TestApp};
use serde_json::json;
use uuid::Uuid;

const TENANT: Uuid = Uuid::from_u128(0xa);

static MODULE: Module = Module {
    name: "sample",
    register: |registry| {
        registry.subscribe(Subscriber {
            id: "sample.listener",
            patterns: &["*"],
            handler: |_, call, event| Box::pin(note(call, event)),
            replay: false,
        });
    },
    start: |startup| {
        startup.provide(Arc::new(Delivered::default()));
        Ok(())
    },
    ..Module::EMPTY
};

/// The numbers of the events that were delivered.
#[derive(Debug, Default)]
struct Delivered(Mutex<Vec<i64>>);

async fn note(call: &Call, event: &StoredEvent) -> Result<()> {
    let delivered: Arc<Delivered> = call.provided()?;
    delivered.0.lock().expect("no panic").push(event.seq);
    Ok(())
}

fn delivered(app: &TestApp) -> Vec<i64> {
    let delivered = app.platform().provided().get::<Delivered>();
    let delivered = delivered.expect("provided at the start");
    delivered.0.lock().expect("no panic").clone()
}

async fn announce_one(app: &TestApp) {
    let call = Call::internal(app.runtime());
    let transaction = call.database().transaction(&Scope::tenant(TENANT)).await;
    let mut transaction = transaction.expect("a connection");
    let event = Event::new("sample.thing.created", TENANT);
    announce(transaction.connection(), &call, TENANT, None, &[event])
        .await
        .expect("announced");
    transaction.commit().await.expect("committed");
}

/// Returns another process on the database of the application, in which the module is not enabled.
fn without_the_module(app: &TestApp) -> Runtime {
    let platform = Platform::new(PlatformOptions::new(&[], Config::default()));
    let database = Database::new(DatabaseOptions::new(app.database().application_url().into()));
    Runtime {
        platform: platform.expect("a platform"),
        database: database.expect("a pool"),
    }
}

/// Removes old events at the time of the application. Returns the number of removed events.
async fn forget_in(app: &TestApp, runtime: &Runtime) -> usize {
    let mut call = Call::internal(runtime);
    call.now = app.now();
    forget(&call).await.expect("the database can be reached")
}

#[actix_web::test]
async fn events_do_not_wait_for_subscribers_of_modules_that_are_no_longer_enabled() {
    let app = TestApp::new(&[&MODULE]).await;
    announce_one(&app).await;
    app.deliver_events().await;
    announce_one(&app).await;
    app.advance(Duration::days(8));
    announce_one(&app).await;
    let other = without_the_module(&app);
    let moved = |days: u8| {
        let now = app.now();
        format!("update core_event_cursors set updated_at = timestamptz '{now}' - interval '{days} days'")
    };
    let kept = async || app.rows("select seq from core_outbox_events order by seq").await;

    // Its cursor has moved in the last week: the module may be enabled in another process, or again soon.
    app.sql(&moved(6)).await;
    assert_eq!(forget_in(&app, &other).await, 1, "the delivered one");
    app.sql(&moved(8)).await;
    assert_eq!(forget_in(&app, app.runtime()).await, 0, "the subscriber is enabled");
    assert_eq!(kept().await, [json!({"seq": 2}), json!({"seq": 3})]);

    assert_eq!(forget_in(&app, &other).await, 1);
    assert_eq!(kept().await, [json!({"seq": 3})]);

    // The module is enabled again.
    app.deliver_events().await;
    assert_eq!(delivered(&app), [1, 3]);
    let cursor = format!("select last_seq, attempt from core_event_cursors where tenant_id = '{TENANT}'");
    assert_eq!(app.rows(&cursor).await, [json!({"last_seq": 3, "attempt": 0})]);
}
