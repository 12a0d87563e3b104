//! The action `CALL_PLATFORM`.

mod guards;
mod limits;
mod runs;
mod save;
mod shares;

use backoffice_test_accounts::{TwoTenants, id_of};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{action, rule, with};

pub(crate) const KEYS: &str = "/api_keys/keys";

/// Creates a key of Alpha with this role.
pub(crate) async fn key(fixture: &TwoTenants, role: &str, organization: Option<Uuid>) -> Uuid {
    let body = json!({"name": format!("Key of {role}"), "roles": [role], "organizationId": organization});
    let (status, key) = fixture.app.post(&fixture.a.token, KEYS, body).await;
    assert_eq!(status, 201, "{key}");
    id_of(&key)
}

/// Creates a role that manages the catalogue, and a key with it.
pub(crate) async fn catalog_key(fixture: &TwoTenants) -> (Uuid, Uuid) {
    let role = fixture.role("Catalog", &["catalog.*"], None).await;
    (role, key(fixture, "Catalog", None).await)
}

/// Returns a call of an endpoint.
pub(crate) fn call(endpoint: &str, key: Uuid, body: Value) -> Value {
    action(
        "CALL_PLATFORM",
        json!({"endpoint": endpoint, "apiKeyId": key, "body": body}),
    )
}

/// Returns a call that creates a product, whose name names the record.
pub(crate) fn product(key: Uuid) -> Value {
    call("POST /catalog/products", key, json!({"title": "Of {{entityId}}"}))
}

/// Returns a rule on deals that calls the platform.
pub(crate) fn calling(rule_type: &str, call: &Value) -> Value {
    with(
        rule("calls", rule_type, "customers.deal"),
        json!({"successActions": [call]}),
    )
}

/// Returns the products, the oldest first.
pub(crate) async fn products(fixture: &TwoTenants) -> Vec<Value> {
    let sql = "select title, organization_id from catalog_products order by id";
    fixture.app.rows(sql).await
}

/// Returns the entries of created products, the oldest first.
pub(crate) async fn entries(fixture: &TwoTenants, command: &str) -> Vec<Value> {
    let sql = format!(
        "select actor_kind, actor_id, actor_name, context from audit_action_logs where command_id = '{command}' order by seq"
    );
    fixture.app.rows(&sql).await
}

/// Returns the reasons of announced failures.
pub(crate) async fn failures(fixture: &TwoTenants) -> Vec<Value> {
    let sql = "select payload from core_outbox_events where name = 'business_rules.rule.execution_failed' order by id";
    let rows = fixture.app.rows(sql).await;
    rows.iter().map(|row| row["payload"]["reason"].clone()).collect()
}

/// Delivers events and runs jobs until nothing is left.
pub(crate) async fn settle(fixture: &TwoTenants) {
    while fixture.app.deliver_events().await + fixture.app.run_jobs().await > 0 {}
}
