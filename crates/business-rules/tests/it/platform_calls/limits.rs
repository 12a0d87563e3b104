//! Calls that take too long.

use std::time::Duration as StdDuration;

use backoffice_test_accounts::TwoTenants;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{call, calling, key};
use crate::fixture::{EXECUTE, RULES, action, deal, fixture_with, logs, rule, stored, with};

/// A rule that changes a locked deal.
async fn hanging(config: &str) -> (TwoTenants, Uuid) {
    let fixture = fixture_with(config).await;
    fixture.role("Seller", &["customers.*"], None).await;
    let key = key(&fixture, "Seller", None).await;
    let body = json!({"id": "{{entityId}}", "title": "New"});
    fixture
        .create(RULES, calling("ACTION", &call("PUT /customers/deals", key, body)))
        .await;
    let id = deal(&fixture, "Old").await;
    let lock = format!("begin; select id from customers_deals where id = '{id}' for update");
    fixture.app.sql(&lock).await;
    (fixture, id)
}

/// Frees the deal and returns its title, once a call that goes on would have changed it.
async fn title_after_commit(fixture: &TwoTenants, id: Uuid) -> Value {
    fixture.app.sql("commit").await;
    tokio::time::sleep(StdDuration::from_millis(500)).await;
    stored(fixture, id).await["title"].clone()
}

#[actix_web::test]
async fn rul_12_a_call_that_hangs_is_dropped_and_rolled_back() {
    let (fixture, id) = hanging("[business_rules]\nrule_timeout = '1s'\n").await;

    let input = json!({"entityType": "customers.deal", "entityId": id});
    let (status, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;

    assert_eq!((status, &body["executedRules"][0]["error"]), (200, &json!("timeout")));
    assert_eq!(title_after_commit(&fixture, id).await, "Old");
    assert_eq!(logs(&fixture).await[0]["executionResult"], "ERROR");
}

#[actix_web::test]
async fn a_call_ends_with_the_request_that_has_caused_it() {
    let (fixture, id) = hanging("").await;

    let input = json!({"entityType": "customers.deal", "entityId": id});
    let run = fixture.app.post(&fixture.a.token, EXECUTE, input);
    assert!(tokio::time::timeout(StdDuration::from_millis(800), run).await.is_err());

    assert_eq!(title_after_commit(&fixture, id).await, "Old");
    assert!(logs(&fixture).await.is_empty());
}

#[actix_web::test]
async fn fields_behind_a_call_that_hangs_are_not_set() {
    let fixture = fixture_with("[business_rules]\nrule_timeout = '1s'\n").await;
    fixture.role("Seller", &["customers.*"], None).await;
    let key = key(&fixture, "Seller", None).await;
    let body = json!({"id": "{{data.locked}}", "title": "New"});
    let actions = json!([
        action("SHOW_INFO", json!({"message": "m"})),
        call("PUT /customers/deals", key, body),
        action("SET_FIELD", json!({"field": "title", "value": "New"})),
        call("GET /customers/deals", key, Value::Null),
    ]);
    let fields = json!({"successActions": actions});
    fixture
        .create(RULES, with(rule("calls", "ACTION", "customers.deal"), fields))
        .await;
    let (locked, id) = (deal(&fixture, "Locked").await, deal(&fixture, "Old").await);
    let lock = format!("begin; select id from customers_deals where id = '{locked}' for update");
    fixture.app.sql(&lock).await;

    let input = json!({"entityType": "customers.deal", "entityId": id, "data": {"locked": locked}});
    let (_, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;
    fixture.app.sql("commit").await;

    let executed = &body["executedRules"][0];
    let results = executed["actionsExecuted"]["results"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let errors: Vec<&Value> = results.iter().map(|result| &result["error"]).collect();
    assert_eq!(executed["error"], "timeout", "{body}");
    assert_eq!(
        errors,
        [&Value::Null, &json!("timeout"), &json!("not_run"), &json!("not_run")]
    );
    assert_eq!(stored(&fixture, id).await["title"], "Old");
}
