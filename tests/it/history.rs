//! The action log over HTTP.

use backoffice_test_support::TestApp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Account, id};

pub(crate) const ACTIONS: &str = "/audit_logs/audit-logs/actions";
pub(crate) const EXPORT: &str = "/audit_logs/audit-logs/actions/export";
pub(crate) const ACCESS: &str = "/audit_logs/audit-logs/access";

/// U of the specification.
pub(crate) fn unavailable() -> Value {
    json!({"error": "Undo token not available"})
}

/// Returns the entries that the caller sees, newest first.
pub(crate) async fn entries(app: &TestApp, caller: &Account, query: &str) -> Vec<Value> {
    let body = app.read(&caller.token, &format!("{ACTIONS}?{query}")).await;
    body["items"].as_array().expect("a list").clone()
}

/// Returns one entry that the caller sees. Entries of other resources are not read, because an entry has all images of its records.
pub(crate) async fn entry(app: &TestApp, caller: &Account, log_id: Uuid) -> Value {
    let sql = format!("select resource_id from audit_action_logs where id = '{log_id}'");
    let query = match app.rows(&sql).await[0]["resource_id"].as_str() {
        Some(resource) => format!("resourceId={resource}&limit=1000"),
        None => "limit=1000".to_owned(),
    };
    let found = entries(app, caller, &query).await;
    let found = found.into_iter().find(|entry| id(&entry["id"]) == log_id);
    found.unwrap_or_else(|| panic!("{log_id} is listed"))
}
