//! Two tenants with customers.

use backoffice_business_rules::MODULE;
use backoffice_core::Module;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
use backoffice_test_support::{TestApp, UndoableWrite};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const RULES: &str = "/business_rules/rules";
pub(crate) const EXECUTE: &str = "/business_rules/execute";
pub(crate) const LOGS: &str = "/business_rules/logs";
pub(crate) const DEALS: &str = "/customers/deals";

pub(crate) const MODULES: [&Module; 10] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_access::MODULE,
    &backoffice_api_keys::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_notifications::MODULE,
    &backoffice_progress::MODULE,
    &backoffice_customers::MODULE,
    &backoffice_catalog::MODULE,
    &MODULE,
];

/// Creates two tenants, each with an organization and an administrator.
pub(crate) async fn fixture() -> TwoTenants {
    fixture_with("").await
}

/// Creates them with further configuration.
pub(crate) async fn fixture_with(config: &str) -> TwoTenants {
    fixture_with_limits(&format!("{NO_LIMITS}{config}")).await
}

/// Creates them with rate limits and with further configuration.
pub(crate) async fn fixture_with_limits(config: &str) -> TwoTenants {
    let app = TestApp::builder(&MODULES).config(CONFIG).config(config);
    TwoTenants::inside(app.build().await).await
}

/// Returns the body of a rule.
pub(crate) fn rule(key: &str, rule_type: &str, entity_type: &str) -> Value {
    json!({"ruleId": key, "ruleName": format!("Rule {key}"), "ruleType": rule_type, "entityType": entity_type})
}

/// Returns the body with further fields.
pub(crate) fn with(mut body: Value, fields: Value) -> Value {
    if let (Value::Object(body), Value::Object(fields)) = (&mut body, fields) {
        body.extend(fields);
    }
    body
}

/// Returns a comparison.
pub(crate) fn condition(field: &str, operator: &str, value: Value) -> Value {
    json!({"field": field, "operator": operator, "value": value})
}

/// Returns an action.
pub(crate) fn action(kind: &str, config: Value) -> Value {
    json!({"type": kind, "config": config})
}

/// Returns an action that shows or explains something.
pub(crate) fn message(kind: &str, text: &str) -> Value {
    action(kind, json!({"message": text}))
}

/// Returns the body of an execution with this data of the type `x.y`.
pub(crate) fn input(data: Value) -> Value {
    json!({"entityType": "x.y", "data": data})
}

/// Creates a deal as the administrator of Alpha.
pub(crate) async fn deal(fixture: &TwoTenants, title: &str) -> Uuid {
    fixture.create(DEALS, json!({"title": title})).await
}

/// Returns a deal as the administrator of Alpha sees it.
pub(crate) async fn stored(fixture: &TwoTenants, id: Uuid) -> Value {
    let page = fixture.app.read(&fixture.a.token, &format!("{DEALS}?id={id}")).await;
    page["items"][0].clone()
}

/// Returns the executions, the oldest first.
pub(crate) async fn logs(fixture: &TwoTenants) -> Vec<Value> {
    let path = format!("{LOGS}?sortField=id&sortDir=asc&pageSize=100");
    let page = fixture.app.read(&fixture.a.token, &path).await;
    page["items"].as_array().cloned().unwrap_or_default()
}

/// Returns the last change of a record, which the administrator of Alpha can undo.
pub(crate) async fn last_write(fixture: &TwoTenants, id: Uuid) -> UndoableWrite {
    let path = format!("/audit_logs/audit-logs/actions?resourceId={id}&limit=100");
    let page = fixture.app.read(&fixture.a.token, &path).await;
    UndoableWrite::from_entry(&page["items"][0])
}
