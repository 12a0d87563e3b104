//! The proxy counts statements and fails them on demand.

use actix_web::http::Method;
use backoffice_core::Scope;
use backoffice_test_support::{FaultMode, TestApp};
use diesel::sql_query;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use serde_json::json;

use crate::sample::SAMPLE;

async fn proxied() -> TestApp {
    TestApp::builder(&[&SAMPLE]).through_proxy().build().await
}

async fn transfer(app: &TestApp) -> u16 {
    app.request(Method::POST, "/sample/transfer").send().await.status
}

async fn streams(app: &TestApp) -> usize {
    app.rows("select name from core_event_streams").await.len()
}

#[actix_web::test]
async fn statements_of_a_request_are_counted() {
    let app = proxied().await;
    transfer(&app).await;

    let (status, statements) = app.count_statements(transfer(&app)).await;

    // begin, two inserts, commit
    assert_eq!((status, statements), (200, 4));
    app.proxy().reset();
    assert_eq!(app.proxy().count(), 0);
}

#[actix_web::test]
async fn large_rows_and_prepared_statements_pass() {
    let app = proxied().await;
    let mut connection = app
        .runtime()
        .database
        .read(&Scope::system())
        .await
        .expect("a connection");
    let before = app.proxy().count();

    for _ in 0..3 {
        let rows = sql_query("select repeat('x', 5000000) from generate_series(1, 3)")
            .execute(&mut *connection)
            .await
            .expect("large rows");
        assert_eq!(rows, 3);
    }

    assert_eq!(app.proxy().count() - before, 3);
}

#[actix_web::test]
async fn a_transaction_that_loses_its_connection_leaves_all_or_nothing() {
    let expectations = [(FaultMode::Before, [0, 0, 0, 0]), (FaultMode::After, [0, 0, 0, 2])];
    for (mode, rows) in expectations {
        for (k, expected) in (1..).zip(rows) {
            let app = proxied().await;
            app.runtime()
                .database
                .read(&Scope::system())
                .await
                .expect("a connection is there already");

            app.proxy().fail_at(k, mode);
            let lost = app.request(Method::POST, "/sample/transfer").send().await;

            assert_eq!(lost.status, 503, "{mode:?} {k}: {}", lost.text());
            assert_eq!(lost.header("retry-after").as_deref(), Some("1"));
            assert!(!app.proxy().heal(), "the fault has happened");
            assert_eq!(streams(&app).await, expected, "{mode:?} {k}");
            assert_eq!(transfer(&app).await, 200, "the pool recovers");
        }
    }
}

#[actix_web::test]
async fn a_fault_beyond_the_last_statement_does_not_happen() {
    let app = proxied().await;
    transfer(&app).await;

    app.proxy().fail_at(5, FaultMode::Before);

    assert_eq!(transfer(&app).await, 200);
    assert!(app.proxy().heal());
}

#[actix_web::test]
async fn a_database_that_is_down_is_503_until_it_is_back() {
    let app = proxied().await;
    assert_eq!(transfer(&app).await, 200);

    app.proxy().cut();
    for _ in 0..2 {
        let response = app.request(Method::POST, "/sample/transfer").send().await;
        let expected = json!({"error": "Service temporarily unavailable"});
        assert_eq!((response.status, &response.json()["error"]), (503, &expected["error"]));
    }
    assert_eq!(
        transfer(&app.second_node().await).await,
        200,
        "other nodes are not behind the proxy"
    );

    app.proxy().restore();
    assert_eq!(transfer(&app).await, 200);
}

#[actix_web::test]
async fn one_lost_connection_leaves_the_others_alone() {
    let app = proxied().await;
    let database = &app.runtime().database;
    let mut one = database.read(&Scope::system()).await.expect("a connection");
    let mut other = database.read(&Scope::system()).await.expect("a connection");

    app.proxy().fail_at(1, FaultMode::Before);

    one.batch_execute("select 1").await.expect_err("it is lost");
    other.batch_execute("select 1").await.expect("it lives");
}
