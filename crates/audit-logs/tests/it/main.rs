//! The action log, undo and redo over HTTP.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod deep;
mod filters;
mod history;
mod returning;
mod sign_in;
mod statements;
mod visibility;

use actix_web::http::Method;
use backoffice_test_support::{Duration, TestApp, TestResponse};
use serde_json::{Value, json};

/// Path of the list.
const ACTIONS: &str = "/audit_logs/audit-logs/actions";

const ORGANIZATIONS: &str = "/directory/organizations";

/// Creates an organization, one second later.
async fn organization(app: &TestApp, token: &str, name: &str, parent: Value) -> TestResponse {
    app.advance(Duration::SECOND);
    let body = json!({"name": name, "parentId": parent});
    let response = app.send(token, Method::POST, ORGANIZATIONS, body).await;
    assert_eq!(response.status, 201, "{}", response.text());
    response
}

/// Renames an organization, one second later.
async fn rename(app: &TestApp, token: &str, id: &Value, name: &str) -> TestResponse {
    app.advance(Duration::SECOND);
    let body = json!({"id": id, "name": name});
    let response = app.send(token, Method::PUT, ORGANIZATIONS, body).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response
}

/// Returns the page of this query.
async fn list(app: &TestApp, token: &str, query: &str) -> Value {
    app.read(token, &format!("{ACTIONS}?{query}")).await
}

/// Returns one field of each item of this query.
async fn each(app: &TestApp, token: &str, query: &str, field: &str) -> Vec<Value> {
    list(app, token, query).await["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| item[field].clone())
        .collect()
}
