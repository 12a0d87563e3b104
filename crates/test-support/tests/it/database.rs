//! The database of a test: migrated, exclusive, dropped at the end.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use backoffice_core::db::{Connection, Database, DatabaseOptions, MigrationState, migration_state};
use backoffice_core::module::migrations;
use backoffice_core::{Error, Scope};
use backoffice_test_support::{TestApp, TestDatabase};
use diesel_async::RunQueryDsl;
use serde_json::json;
use tokio::time::Instant;
use uuid::Uuid;

use crate::sample::SAMPLE;

const STREAM: &str = "insert into core_event_streams (tenant_id, id, name, last_seq, created_at, updated_at) \
    values (gen_random_uuid(), gen_random_uuid(), 'log', 7, now(), now())";

#[actix_web::test]
async fn a_database_is_migrated_and_dropped_in_the_end() {
    let observer = TestDatabase::empty().await;
    let app = TestApp::new(&[&SAMPLE]).await;
    let query = format!(
        "select 1 as one from pg_database where datname = '{}'",
        app.database().name()
    );

    let mut connection = app
        .runtime()
        .database
        .read(&Scope::system())
        .await
        .expect("a connection");
    let state = migration_state(&mut connection, &migrations(&[&SAMPLE]))
        .await
        .expect("the state");
    assert_eq!(state, MigrationState::Current);
    assert_eq!(observer.rows(&query).await.len(), 1);

    drop(app);
    assert_eq!(observer.rows(&query).await.len(), 0);
}

#[actix_web::test]
async fn a_database_goes_even_while_a_connection_is_borrowed() {
    let observer = TestDatabase::empty().await;
    let app = TestApp::new(&[]).await;
    let name = app.database().name().to_owned();
    let connection = app
        .runtime()
        .database
        .read(&Scope::system())
        .await
        .expect("a connection");

    drop(app);

    let rows = observer
        .rows(&format!("select 1 as one from pg_database where datname = '{name}'"))
        .await;
    assert_eq!(rows.len(), 0);
    drop(connection);
}

#[actix_web::test]
async fn two_applications_share_nothing() {
    let (one, other) = (TestApp::new(&[]).await, TestApp::new(&[]).await);

    assert_eq!(one.sql(STREAM).await, 1);

    assert_eq!(
        one.rows("select name from core_event_streams").await,
        [json!({"name": "log"})]
    );
    assert_eq!(other.rows("select name from core_event_streams").await.len(), 0);
}

#[actix_web::test]
async fn two_nodes_share_the_database_and_the_clock() {
    let app = TestApp::new(&[]).await;
    let node = app.second_node().await;

    app.sql(STREAM).await;
    app.advance(backoffice_test_support::Duration::hours(1));

    assert_eq!(node.rows("select 1 as one from core_event_streams").await.len(), 1);
    assert_eq!(node.now().to_string(), "2026-11-20T09:00:00.000Z");
    drop(app);
    assert_eq!(node.rows("select 1 as one from core_event_streams").await.len(), 1);
}

#[actix_web::test]
async fn a_database_image_shows_every_row_of_every_table() {
    let app = TestApp::new(&[]).await;
    let before = app.snapshot().await;
    assert!(before["core_event_streams"].is_empty() && before.contains_key("audit_action_logs"));
    assert!(
        !before.contains_key("audit_action_logs_later"),
        "a partition is part of its table"
    );
    assert_eq!(before.keys().cloned().collect::<Vec<_>>(), app.tables().await);

    assert_eq!(app.sql(&format!("{STREAM}; {STREAM}")).await, 2);

    let after = app.snapshot().await;
    assert_ne!(after, before);
    assert_eq!(after, app.snapshot().await);
    assert_eq!(after["core_event_streams"][0]["last_seq"], 7);
    assert_eq!(
        app.snapshot_without(&["core_event_streams"], &[])
            .await
            .get("core_event_streams"),
        None
    );
    let columns = ["tenant_id", "id", "last_seq", "created_at", "updated_at"];
    let rows = &app.snapshot_without(&[], &columns).await["core_event_streams"];
    assert_eq!(*rows, [json!({"name": "log"}), json!({"name": "log"})]);
}

#[actix_web::test]
async fn short_reads_of_one_tenant_travel_together_and_of_another_apart() {
    let app = TestApp::new(&[]).await;
    let database = &app.runtime().database;
    let (one, other) = (Scope::tenant(Uuid::from_u128(1)), Scope::tenant(Uuid::from_u128(2)));

    let first = database.read_briefly(&one).await.expect("a connection");
    let second = database.read_briefly(&one).await.expect("a connection");
    let foreign = database.read_briefly(&other).await.expect("a connection");

    assert!(Arc::ptr_eq(&first, &second));
    assert!(!Arc::ptr_eq(&first, &foreign));
    assert_eq!(shown(&second).await, Uuid::from_u128(1).to_string());
    assert_eq!(shown(&foreign).await, Uuid::from_u128(2).to_string());
}

#[actix_web::test]
async fn a_silent_database_is_reported_in_time() {
    let silent = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = silent.local_addr().expect("a bound listener has an address");
    let limit = Duration::from_millis(400);
    let database = Database::new(DatabaseOptions {
        pool_size: 1,
        timeout: limit,
        ..DatabaseOptions::new(format!("postgres://nobody@{address}/nothing").into())
    });
    let database = database.expect("a pool");
    let ask = async || {
        let asked = Instant::now();
        let response = database.read(&Scope::system()).await;
        (response.err(), asked.elapsed())
    };

    let (first, second) = tokio::join!(ask(), ask());

    for (error, waited) in [first, second] {
        assert!(matches!(error, Some(Error::Unavailable(_))), "{error:?}");
        assert!(waited < limit * 3 / 2, "{waited:?}");
    }
}

#[actix_web::test]
async fn a_connection_that_is_given_back_comes_before_one_that_is_being_created() {
    let app = TestApp::builder(&[]).pool_size(2).through_proxy().build().await;
    let (database, scope) = (&app.runtime().database, Scope::system());
    let first = database.read(&scope).await.expect("a connection");
    app.proxy().hold();
    let mut second = std::pin::pin!(database.read(&scope));
    assert!(is_pending(&mut second).await, "the server takes its time");

    drop(first);
    let second = tokio::time::timeout(Duration::from_secs(10), second).await;

    let second = second.expect("at once").expect("a connection");
    app.proxy().restore();
    let third = database.read(&scope).await.expect("the new connection");
    let mut fourth = std::pin::pin!(database.read(&scope));
    assert!(is_pending(&mut fourth).await, "no more than two");
    drop((second, third));
    assert!(fourth.await.is_ok());
    let connected =
        "select 1 as one from pg_stat_activity where datname = current_database() and application_name = 'backoffice'";
    assert_eq!(app.rows(connected).await.len(), 2);
}

#[actix_web::test]
async fn capacity_of_a_lost_or_failed_connection_is_released() {
    let app = TestApp::builder(&[]).pool_size(2).through_proxy().build().await;
    let (database, scope) = (&app.runtime().database, Scope::system());
    for _ in 0..3 {
        let held = (database.read(&scope).await, database.read(&scope).await);
        assert!(held.0.is_ok() && held.1.is_ok());
        app.proxy().cut();
        drop(held);
        while database.read(&scope).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let (one, other) = tokio::join!(database.read(&scope), database.read(&scope));
        assert!(matches!(
            (one.err(), other.err()),
            (Some(Error::Unavailable(_)), Some(Error::Unavailable(_)))
        ));
        app.proxy().restore();
    }

    // The caller gives up while the connection is being opened.
    app.proxy().hold();
    for _ in 0..3 {
        assert!(is_pending(&mut std::pin::pin!(database.read(&scope))).await);
    }
    app.proxy().restore();

    let (one, other) = (database.read(&scope).await, database.read(&scope).await);
    assert!(one.is_ok() && other.is_ok());
}

async fn is_pending(work: &mut (impl Future + Unpin)) -> bool {
    tokio::time::timeout(Duration::from_millis(100), work).await.is_err()
}

async fn shown(connection: &Connection) -> String {
    let statement = diesel::sql_query("select current_setting('app.tenant_id') as tenant");
    let row: Shown = statement.get_result(&mut &**connection).await.expect("a row");
    row.tenant
}

#[derive(diesel::QueryableByName)]
struct Shown {
    #[diesel(sql_type = diesel::sql_types::Text)]
    tenant: String,
}
