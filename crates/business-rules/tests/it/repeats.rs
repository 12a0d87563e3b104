//! Executions with an `Idempotency-Key` that are repeated while the first one is under way, or after a crash.

use std::time::Duration as StdDuration;

use actix_web::http::Method;
use backoffice_test_accounts::TwoTenants;
use backoffice_test_support::TestResponse;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{EXECUTE, RULES, action, deal, fixture, logs, rule, stored, with};
use crate::platform_calls::{catalog_key, product, products};

/// Creates a rule that creates a product by a call of the platform, and then waits for a locked deal. Returns the deal.
async fn hanging(fixture: &TwoTenants) -> Uuid {
    let (_, key) = catalog_key(fixture).await;
    let id = deal(fixture, "Old").await;
    let set = action("SET_FIELD", json!({"field": "title", "value": "New"}));
    let fields = json!({"successActions": [product(key), set]});
    let body = with(rule("hangs", "ACTION", "customers.deal"), fields);
    fixture.create(RULES, body).await;
    let lock = format!("begin; select id from customers_deals where id = '{id}' for update");
    fixture.app.sql(&lock).await;
    id
}

async fn execute(fixture: &TwoTenants, key: &str, id: Uuid) -> TestResponse {
    let input = json!({"entityType": "customers.deal", "entityId": id});
    let request = fixture.app.request(Method::POST, EXECUTE).bearer(&fixture.a.token);
    request.header("Idempotency-Key", key).json(&input).send().await
}

/// Waits until the platform was called.
async fn called(fixture: &TwoTenants) {
    while products(fixture).await.is_empty() {
        tokio::time::sleep(StdDuration::from_millis(20)).await;
    }
}

#[actix_web::test]
async fn a_repeat_of_an_execution_that_is_under_way_is_rejected() {
    let fixture = fixture().await;
    let id = hanging(&fixture).await;
    let repeat = async {
        called(&fixture).await;
        let repeated = execute(&fixture, "k1", id).await;
        fixture.app.sql("commit").await;
        repeated
    };

    let (first, repeated) = tokio::join!(execute(&fixture, "k1", id), repeat);
    let later = execute(&fixture, "k1", id).await;

    let expected = json!({
        "error": "A request with this Idempotency-Key is in progress", "code": "idempotency_in_progress",
    });
    assert_eq!((repeated.status, repeated.json()), (409, expected));
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(later.header("Idempotency-Replayed").as_deref(), Some("true"));
    assert_eq!(later.json(), first.json());
    assert_eq!((products(&fixture).await.len(), logs(&fixture).await.len()), (1, 1));
    assert_eq!(stored(&fixture, id).await["title"], "New");
}

#[actix_web::test]
async fn a_repeat_after_a_crash_calls_the_platform_once() {
    let fixture = fixture().await;
    let id = hanging(&fixture).await;
    tokio::select! {
        first = execute(&fixture, "k1", id) => panic!("{}", first.text()),
        () = called(&fixture) => {}
    }
    fixture.app.sql("commit").await;

    let repeated = execute(&fixture, "k1", id).await;

    let body = repeated.json();
    let results = &body["executedRules"][0]["actionsExecuted"]["results"];
    assert_eq!(
        (repeated.status, &results[0]["status"], &results[1]["success"]),
        (200, &json!(201), &json!(true)),
        "{body}"
    );
    assert_eq!(repeated.header("Idempotency-Replayed"), None);
    assert_eq!((products(&fixture).await.len(), logs(&fixture).await.len()), (1, 1));
    assert_eq!(stored(&fixture, id).await["title"], "New");
}

#[actix_web::test]
async fn dry_executions_and_those_without_a_key_do_not_wait_for_others() {
    let fixture = fixture().await;
    let id = hanging(&fixture).await;
    let others = async {
        called(&fixture).await;
        let input = json!({"entityType": "customers.deal", "entityId": id, "dryRun": true});
        let request = fixture.app.request(Method::POST, EXECUTE).bearer(&fixture.a.token);
        let dry = request.header("Idempotency-Key", "k1").json(&input).send().await;
        let input = json!({"entityType": "x.y"});
        let without_key = fixture.app.post(&fixture.a.token, EXECUTE, input).await;
        fixture.app.sql("commit").await;
        (dry, without_key)
    };

    let (first, (dry, without_key)) = tokio::join!(execute(&fixture, "k1", id), others);

    assert_eq!((first.status, dry.status, without_key.0), (200, 200, 200));
    assert_eq!(dry.json()["executedRules"][0]["logId"], Value::Null);
}
