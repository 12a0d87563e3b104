//! Runs that take too long, or end before their transaction.

use std::time::Duration as StdDuration;

use backoffice_test_accounts::TwoTenants;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{EXECUTE, RULES, action, deal, fixture_with, logs, message, rule, stored, with};
use crate::receiver::Receiver;
use crate::webhooks::{LOCAL, deliveries};

/// A rule that waits for a locked deal and calls a webhook, and a guard behind it.
async fn hanging(fixture: &TwoTenants, receiver: &Receiver) -> Uuid {
    let id = deal(fixture, "Old").await;
    let actions = json!([
        action("CALL_WEBHOOK", json!({"url": receiver.url("/")})),
        action("NOTIFY", json!({"message": "m", "recipients": ["role:admin"]})),
        action("SET_FIELD", json!({"field": "title", "value": "New"})),
    ]);
    let first = json!({"priority": 200, "successActions": actions});
    fixture
        .create(RULES, with(rule("hangs", "ACTION", "customers.deal"), first))
        .await;
    fixture.create(RULES, rule("guard", "GUARD", "customers.deal")).await;
    let lock = format!("begin; select id from customers_deals where id = '{id}' for update");
    fixture.app.sql(&lock).await;
    id
}

async fn title(fixture: &TwoTenants, id: Uuid) -> Value {
    stored(fixture, id).await["title"].clone()
}

#[actix_web::test]
async fn rul_12_an_action_that_hangs_is_dropped_and_the_next_rule_runs() {
    let config = format!("{LOCAL}[business_rules]\nrule_timeout = '1s'\n");
    let (fixture, receiver) = (fixture_with(&config).await, Receiver::start().await);
    let id = hanging(&fixture, &receiver).await;

    let input = json!({"entityType": "customers.deal", "entityId": id});
    let (status, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;
    fixture.app.sql("commit").await;
    tokio::time::sleep(StdDuration::from_millis(500)).await;

    assert_eq!((status, &body["allowed"]), (200, &json!(true)), "{body}");
    let rules = &body["executedRules"];
    assert_eq!(
        (&rules[0]["error"], &rules[0]["ruleId"]),
        (&json!("timeout"), &json!("hangs"))
    );
    assert_eq!(
        (&rules[1]["conditionResult"], &rules[1]["ruleId"]),
        (&json!(true), &json!("guard"))
    );
    assert_eq!(title(&fixture, id).await, "Old");
    let logged = logs(&fixture).await;
    let result = |key: &str| {
        logged
            .iter()
            .find(|log| log["ruleKey"] == key)
            .map(|log| &log["executionResult"])
    };
    assert_eq!(
        (result("hangs"), result("guard")),
        (Some(&json!("ERROR")), Some(&json!("SUCCESS")))
    );
}

#[actix_web::test]
async fn rul_12_later_actions_of_a_rule_at_its_limit_have_no_effect() {
    let config = format!("{LOCAL}[business_rules]\nrule_timeout = '1s'\n");
    let (fixture, receiver) = (fixture_with(&config).await, Receiver::start().await);
    let id = deal(&fixture, "Old").await;
    let webhook = action("CALL_WEBHOOK", json!({"url": receiver.url("/")}));
    let actions = json!([
        webhook,
        message("SHOW_INFO", "before"),
        action("SET_FIELD", json!({"field": "title", "value": "New"})),
        webhook,
        action("NOTIFY", json!({"message": "m", "recipients": ["role:admin"]})),
        action("EMIT_EVENT", json!({"eventName": "own.later"})),
        message("SHOW_INFO", "later"),
        message("BLOCK_TRANSITION", "later"),
        action("SET_FIELD", json!({"field": "source", "value": "later"})),
    ]);
    fixture
        .create(
            RULES,
            with(
                rule("hangs", "ACTION", "customers.deal"),
                json!({"successActions": actions}),
            ),
        )
        .await;
    let lock = format!("begin; select id from customers_deals where id = '{id}' for update");
    fixture.app.sql(&lock).await;

    let input = json!({"entityType": "customers.deal", "entityId": id});
    let (_, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;
    fixture.app.sql("commit").await;

    let executed = &body["executedRules"][0];
    assert_eq!(
        (&executed["error"], &body["allowed"]),
        (&json!("timeout"), &json!(true)),
        "{body}"
    );
    let results = executed["actionsExecuted"]["results"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let errors: Vec<&str> = results
        .iter()
        .map(|result| result["error"].as_str().unwrap_or("none"))
        .collect();
    assert_eq!(
        errors,
        [
            "none", "none", "timeout", "not_run", "not_run", "not_run", "not_run", "not_run", "timeout"
        ]
    );
    assert_eq!(body["messages"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        logs(&fixture).await[0]["outputContext"]["actionsExecuted"]["results"],
        json!(results)
    );
    assert_eq!(deliveries(&fixture).await.len(), 1);
    assert_eq!(
        fixture.app.count("core_outbox_events where name = 'own.later'").await,
        0
    );
    let (_, page) = fixture.app.get(&fixture.a.token, "/notifications").await;
    assert_eq!(page["total"], 0);
}

#[actix_web::test]
async fn rul_12_a_run_that_ends_before_its_transaction_leaves_nothing() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    let id = hanging(&fixture, &receiver).await;

    let input = json!({"entityType": "customers.deal", "entityId": id});
    let run = fixture.app.post(&fixture.a.token, EXECUTE, input);
    assert!(tokio::time::timeout(StdDuration::from_millis(800), run).await.is_err());
    fixture.app.sql("commit").await;
    tokio::time::sleep(StdDuration::from_millis(500)).await;
    fixture.app.run_jobs().await;

    assert_eq!(title(&fixture, id).await, "Old");
    assert!(logs(&fixture).await.is_empty() && deliveries(&fixture).await.is_empty());
    assert!(receiver.received().is_empty());
    let (_, page) = fixture.app.get(&fixture.a.token, "/notifications").await;
    assert_eq!(page["total"], 0);
}
