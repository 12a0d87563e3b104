//! Undo and redo over HTTP.

use backoffice_test_support::{TestApp, TestResponse};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Account, id, text};

pub(crate) const ACTIONS: &str = "/audit_logs/audit-logs/actions";
pub(crate) const EXPORT: &str = "/audit_logs/audit-logs/actions/export";
pub(crate) const ACCESS: &str = "/audit_logs/audit-logs/access";
pub(crate) const UNDO: &str = "/audit_logs/audit-logs/actions/undo";
pub(crate) const REDO: &str = "/audit_logs/audit-logs/actions/redo";

/// U of the specification.
pub(crate) fn unavailable() -> Value {
    json!({"error": "Undo token not available"})
}

/// An entry and its undo token.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) log_id: Uuid,
    pub(crate) token: String,
    pub(crate) resource: Uuid,
}

/// Parses the header of an undoable write.
pub(crate) fn operation(response: &TestResponse) -> Operation {
    let reported = response
        .operation()
        .unwrap_or_else(|| panic!("no X-Operation: {} {}", response.status, response.text()));
    Operation {
        log_id: id(&reported["id"]),
        token: text(&reported["undoToken"]),
        resource: id(&reported["resourceId"]),
    }
}

pub(crate) async fn undo(app: &TestApp, caller: &Account, token: &str) -> (u16, Value) {
    app.post(&caller.token, UNDO, json!({"undoToken": token})).await
}

pub(crate) async fn redo(app: &TestApp, caller: &Account, log_id: Uuid) -> (u16, Value) {
    app.post(&caller.token, REDO, json!({"logId": log_id})).await
}

/// Returns the entries that the caller sees, newest first.
pub(crate) async fn entries(app: &TestApp, caller: &Account, query: &str) -> Vec<Value> {
    let (status, body) = app.get(&caller.token, &format!("{ACTIONS}?{query}")).await;
    assert_eq!(status, 200, "{body}");
    body["items"].as_array().expect("a list").clone()
}

/// Returns one entry that the caller sees.
pub(crate) async fn entry(app: &TestApp, caller: &Account, log_id: Uuid) -> Value {
    let all = entries(app, caller, "limit=1000").await;
    let found = all.into_iter().find(|entry| id(&entry["id"]) == log_id);
    found.unwrap_or_else(|| panic!("{log_id} is listed"))
}
