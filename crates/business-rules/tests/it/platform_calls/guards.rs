//! Calls of rules that validate a command: a job after its commit.

use serde_json::{Value, json};

use super::{call, calling, catalog_key, entries, failures, key, product, products, settle};
use crate::fixture::{DEALS, RULES, condition, deal, fixture, logs, message, rule, stored, with};

const JOBS: &str = "select state from core_jobs where kind = 'business_rules.platform.call'";

#[actix_web::test]
async fn a_guard_calls_the_platform_once_after_the_commit() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    let rule_id = fixture.create(RULES, calling("GUARD", &product(key))).await;

    let id = deal(&fixture, "D").await;
    let before = products(&fixture).await.len();
    settle(&fixture).await;

    let products = products(&fixture).await;
    assert_eq!((before, products.len()), (0, 1));
    assert_eq!(products[0]["title"], json!(format!("Of {id}")));
    let logged = logs(&fixture).await;
    let queued = json!({"type": "CALL_PLATFORM", "success": true, "status": "queued"});
    assert_eq!(
        logged[0]["outputContext"]["actionsExecuted"]["results"],
        json!([queued])
    );
    let entry = &entries(&fixture, "catalog.product.create").await[0];
    assert_eq!(
        (&entry["actor_id"], &entry["actor_name"]),
        (&Value::Null, &json!("rule calls"))
    );
    assert_eq!(
        (&entry["context"]["ruleId"], &entry["context"]["depth"]),
        (&json!(rule_id), &json!(1))
    );
    assert!(failures(&fixture).await.is_empty());
}

#[actix_web::test]
async fn a_rejected_command_calls_nothing() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    let first = json!({"priority": 200});
    fixture
        .create(RULES, with(calling("GUARD", &product(key)), first))
        .await;
    let actions = json!({"failureActions": [product(key), message("SHOW_ERROR", "No")]});
    let blocks = with(rule("blocks", "GUARD", "customers.deal"), actions);
    let fields = json!({"conditionExpression": condition("title", "=", json!("Good"))});
    fixture.create(RULES, with(blocks, fields)).await;

    let (status, body) = fixture.app.post(&fixture.a.token, DEALS, json!({"title": "Bad"})).await;
    settle(&fixture).await;

    assert_eq!((status, &body["code"]), (422, &json!("business_rule_blocked")));
    assert!(products(&fixture).await.is_empty() && fixture.app.rows(JOBS).await.is_empty());
    for log in logs(&fixture).await {
        let result = &log["outputContext"]["actionsExecuted"]["results"][0];
        assert_eq!(result["error"], "change_rejected", "{log}");
    }
    deal(&fixture, "Good").await;
    settle(&fixture).await;
    assert_eq!(products(&fixture).await.len(), 1);
}

#[actix_web::test]
async fn a_command_that_fails_after_its_guards_calls_nothing() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    fixture.create(RULES, calling("GUARD", &product(key))).await;
    // The entry is written behind the guards.
    let fails = "create function fails() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$; \
        create trigger fails before insert on audit_action_logs for each row when (new.command_id = 'customers.deal.create') \
        execute function fails()";
    fixture.app.sql(fails).await;

    let (status, _) = fixture.app.post(&fixture.a.token, DEALS, json!({"title": "D"})).await;
    settle(&fixture).await;

    assert_eq!(status, 500);
    assert!(products(&fixture).await.is_empty() && fixture.app.rows(JOBS).await.is_empty());
    assert!(logs(&fixture).await.is_empty());
}

#[actix_web::test]
async fn the_same_job_of_a_guard_twice_has_one_effect() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    fixture.create(RULES, calling("GUARD", &product(key))).await;
    deal(&fixture, "D").await;
    let payload = fixture
        .app
        .rows("select payload::text as text from core_jobs where kind = 'business_rules.platform.call'")
        .await;
    settle(&fixture).await;
    assert_eq!(products(&fixture).await.len(), 1);

    let payload = payload[0]["text"].as_str().unwrap_or_default();
    let again = format!(
        "update core_jobs set state = 'queued', cursor = 0, finished_at = null, payload = '{payload}' \
         where kind = 'business_rules.platform.call'"
    );
    assert_eq!(fixture.app.sql(&again).await, 1);
    settle(&fixture).await;

    assert_eq!(fixture.app.rows(JOBS).await, [json!({"state": "done"})]);
    assert_eq!(products(&fixture).await.len(), 1);
    assert!(failures(&fixture).await.is_empty());
}

#[actix_web::test]
async fn a_failed_call_of_a_guard_is_announced() {
    let fixture = fixture().await;
    let (role, key) = catalog_key(&fixture).await;
    fixture.create(RULES, calling("GUARD", &product(key))).await;
    deal(&fixture, "D").await;
    fixture.acl(role, &["catalog.products.view"], None).await;

    settle(&fixture).await;

    assert_eq!(failures(&fixture).await, ["CALL_PLATFORM: status 403"]);
    assert!(products(&fixture).await.is_empty());
    let (_, page) = fixture.app.get(&fixture.a.token, "/notifications").await;
    assert_eq!(page["items"][0]["type"], "business_rules.rule.execution_failed");
}

#[actix_web::test]
async fn rul_8_a_guard_that_changes_its_own_record_stops() {
    let fixture = fixture().await;
    fixture.role("Seller", &["customers.*"], None).await;
    let key = key(&fixture, "Seller", None).await;
    let body = json!({"id": "{{entityId}}", "title": "{{data.title}}+"});
    fixture
        .create(RULES, calling("GUARD", &call("PUT /customers/deals", key, body)))
        .await;

    let id = deal(&fixture, "D").await;
    settle(&fixture).await;

    assert_eq!(stored(&fixture, id).await["title"], "D+++");
    assert_eq!(failures(&fixture).await, ["rules start each other too many times"]);
    assert_eq!(fixture.app.rows(JOBS).await.len(), 3);
}
