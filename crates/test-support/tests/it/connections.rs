//! The lifetime of connections and their statements.

use std::time::Duration;

use backoffice_core::db::{Connection, Database, DatabaseOptions, Holder, Prepared};
use backoffice_core::{Error, Scope};
use backoffice_test_support::TestApp;
use diesel::sql_types::{BigInt, Integer, Text};
use diesel::{QueryableByName, sql_query};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

#[derive(QueryableByName)]
struct Pid {
    #[diesel(sql_type = Integer)]
    pid: i32,
}

#[derive(QueryableByName)]
struct Total {
    #[diesel(sql_type = BigInt)]
    total: i64,
}

#[derive(QueryableByName)]
struct Shown {
    #[diesel(sql_type = Text)]
    value: String,
}

async fn pid(connection: &mut Connection) -> i32 {
    let found: Pid = sql_query("select pg_backend_pid() as pid")
        .get_result(&mut **connection)
        .await
        .expect("a number");
    found.pid
}

async fn setting(connection: &mut Connection, name: &str) -> String {
    let found: Shown = sql_query("select current_setting($1) as value")
        .bind::<Text, _>(name)
        .get_result(&mut **connection)
        .await
        .expect("a setting");
    found.value
}

fn database(app: &TestApp, change: impl FnOnce(&mut DatabaseOptions)) -> Database {
    let mut options = DatabaseOptions::new(app.database().application_url().into());
    options.pool_size = 1;
    change(&mut options);
    Database::new(options).expect("a pool")
}

/// Returns whether the connection ends within ten seconds.
async fn ends(app: &TestApp, pid: i32) -> bool {
    let alive = format!("select 1 as one from pg_stat_activity where pid = {pid}");
    for _ in 0..200 {
        if app.rows(&alive).await.is_empty() {
            return true;
        }
        sleep(Duration::from_millis(50)).await;
    }
    false
}

#[actix_web::test]
async fn the_planner_expects_fast_disks_unless_the_url_says_otherwise() {
    let app = TestApp::builder(&[]).build().await;
    for (query, expected) in [("", "1.1"), ("?options=-c%20random_page_cost%3D4", "4")] {
        let database = database(&app, |options| {
            options.url = format!("{}{query}", app.database().application_url()).into();
        });
        let mut connection = database.read(&Scope::system()).await.expect("a connection");

        assert_eq!(setting(&mut connection, "random_page_cost").await, expected, "{query}");
        assert_eq!(setting(&mut connection, "jit").await, "off", "{query}");
    }
}

#[actix_web::test]
async fn a_connection_that_was_opened_read_only_is_replaced_soon() {
    let app = TestApp::builder(&[]).build().await;
    let database = database(&app, |_| {});
    let name = app.database().name();
    app.sql(&format!(
        "alter database \"{name}\" set default_transaction_read_only = on"
    ))
    .await;
    assert!(!database.accepts_writes().await.expect("a response"));

    app.sql(&format!(
        "alter database \"{name}\" reset default_transaction_read_only"
    ))
    .await;
    sleep(Duration::from_secs(1)).await;

    assert!(database.accepts_writes().await.expect("a response"));
    let first = pid(&mut database.read(&Scope::system()).await.expect("a connection")).await;
    sleep(Duration::from_secs(1)).await;
    let second = pid(&mut database.read(&Scope::system()).await.expect("a connection")).await;
    assert_eq!(second, first, "a connection that can write stays");
}

#[actix_web::test]
async fn s15_a_statement_of_a_dropped_request_delays_no_other_request() {
    let app = TestApp::builder(&[]).pool_size(1).build().await;
    let (database, scope) = (&app.runtime().database, Scope::system());
    for kind in ["simple", "prepared", "in a transaction", "both of two"] {
        let mut connection = database.read(&scope).await.expect("a connection");
        let gone = pid(&mut connection).await;
        drop(connection);
        let work = async {
            if kind == "in a transaction" {
                let mut transaction = database.transaction(&scope).await.expect("a transaction");
                return transaction.connection().batch_execute("select pg_sleep(60)").await;
            }
            let mut connection = database.read(&scope).await.expect("a connection");
            match kind {
                "simple" => connection.batch_execute("select pg_sleep(60)").await,
                "prepared" => Prepared(sql_query("select pg_sleep(60)"))
                    .execute(&mut *connection)
                    .await
                    .map(drop),
                _ => {
                    let one = sql_query("select pg_sleep(60)").execute(&mut &*connection);
                    let other = sql_query("select pg_sleep(59)").execute(&mut &*connection);
                    futures_util::future::try_join(one, other).await.map(drop)
                }
            }
        };
        assert!(timeout(Duration::from_millis(300), work).await.is_err(), "{kind}");

        let asked = Instant::now();
        let mut next = database.read(&scope).await.expect("a connection");
        next.batch_execute("select 1").await.expect("a response");

        assert!(
            asked.elapsed() < Duration::from_secs(10),
            "{kind}: {:?}",
            asked.elapsed()
        );
        assert_ne!(pid(&mut next).await, gone, "{kind}");
        drop(next);
        assert!(ends(&app, gone).await, "{kind}: the backend goes on");
    }
}

#[actix_web::test]
async fn s15_a_short_statement_of_a_dropped_request_costs_no_connection() {
    let app = TestApp::builder(&[]).pool_size(1).build().await;
    let (database, scope) = (&app.runtime().database, Scope::system());
    let mut connection = database.read(&scope).await.expect("a connection");
    let first = pid(&mut connection).await;
    let work = async move { connection.batch_execute("select pg_sleep(0.02)").await };

    assert!(timeout(Duration::from_millis(2), work).await.is_err());

    let mut next = database.read(&scope).await.expect("a connection");
    assert_eq!(pid(&mut next).await, first);
}

#[actix_web::test]
async fn s15_a_statement_ends_after_its_time_with_503() {
    let app = TestApp::new(&[]).await;
    let database = database(&app, |options| options.statement_timeout = Duration::from_millis(200));
    let scope = Scope::system();
    let mut connection = database.read(&scope).await.expect("a connection");

    let outcome = connection.batch_execute("select pg_sleep(20)").await;

    let error = Error::from(outcome.expect_err("cancelled"));
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
    let rejection = error.to_rejection();
    assert_eq!((rejection.status.as_u16(), rejection.retry_after), (503, Some(1)));
    drop(connection);

    let mut patient = database.read(&scope).await.expect("a connection");
    patient.allow(Duration::from_secs(20)).await.expect("allowed");
    patient
        .batch_execute("select pg_sleep(0.5)")
        .await
        .expect("it has the time");
    drop(patient);
    let mut transaction = database.transaction(&scope).await.expect("a transaction");
    let connection = transaction.connection();
    connection.allow(Duration::from_secs(20)).await.expect("allowed");
    connection
        .batch_execute("select pg_sleep(0.5)")
        .await
        .expect("it has the time");
    transaction.commit().await.expect("committed");
    let holder = Holder {
        tenant: Uuid::from_u128(1),
        principal: Uuid::from_u128(2),
    };
    let permit = database.long_transaction_permit(holder).expect("a permit");
    let mut long_transactions = database.long_transaction(&scope, permit).await.expect("a transaction");
    assert_eq!(
        setting(long_transactions.connection(), "statement_timeout").await,
        "5min"
    );
    long_transactions.commit().await.expect("committed");
    let mut next = database.read(&scope).await.expect("a connection");
    assert_eq!(
        setting(&mut next, "statement_timeout").await,
        "200ms",
        "what was allowed once is not handed on"
    );
}

#[actix_web::test]
async fn a_connection_is_replaced_when_it_is_old() {
    let app = TestApp::new(&[]).await;
    let (old, young) = (
        database(&app, |options| options.max_connection_age = Duration::from_millis(100)),
        database(&app, |_| {}),
    );
    for (database, is_replaced) in [(old, true), (young, false)] {
        let mut pids = Vec::new();
        for _ in 0..2 {
            let mut connection = database.read(&Scope::system()).await.expect("a connection");
            pids.push(pid(&mut connection).await);
            drop(connection);
            sleep(Duration::from_millis(150)).await;
        }
        assert_eq!(pids[0] != pids[1], is_replaced);
    }
}

#[actix_web::test]
async fn f2_a_connection_keeps_a_bounded_number_of_statements() {
    let app = TestApp::new(&[]).await;
    let database = database(&app, |_| {});
    let scope = Scope::system();
    let mut most = 0;
    for number in 0..1000 {
        let mut connection = database.read(&scope).await.expect("a connection");
        let statement = Prepared(sql_query(format!(
            "select count(*) as total from pg_prepared_statements -- {number}"
        )));
        let kept: Total = statement.get_result(&mut *connection).await.expect("a number");
        most = most.max(kept.total);
    }

    assert!((100..=210).contains(&most), "{most}");
}
