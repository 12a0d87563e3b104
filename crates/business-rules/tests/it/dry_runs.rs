//! Executions that only report what would happen.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{DEALS, EXECUTE, RULES, action, deal, fixture, rule, stored, with};
use crate::recipients::notify;

#[actix_web::test]
async fn a_dry_run_reports_the_actions_that_a_run_could_not_execute() {
    let fixture = fixture().await;
    let own = deal(&fixture, "Old").await;
    let theirs = fixture
        .app
        .create(&fixture.b.token, DEALS, json!({"title": "Theirs"}))
        .await;
    let set = action("SET_FIELD", json!({"field": "title", "value": "New"}));
    let fields = json!({"successActions": [set, notify("role:nobody"), notify("role:admin")]});
    fixture
        .create(RULES, with(rule("r1", "ACTION", "customers.deal"), fields))
        .await;
    let execute = async |id: &Value, is_dry: bool| {
        let input = json!({"entityType": "customers.deal", "entityId": id, "dryRun": is_dry});
        let (status, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;
        assert_eq!(status, 200, "{body}");
        body["executedRules"][0]["actionsExecuted"].clone()
    };
    let errors = |executed: &Value| {
        let results = executed["results"].as_array().expect("results").iter();
        results.map(|result| result["error"].clone()).collect::<Vec<_>>()
    };

    for (id, error) in [
        (json!(own), Value::Null),
        (json!(theirs), json!("entity_not_found")),
        (json!(Uuid::from_u128(7)), json!("entity_not_found")),
        (json!("no id"), json!("entity_not_found")),
    ] {
        let dry = execute(&id, true).await;
        assert_eq!(stored(&fixture, own).await["title"], "Old");
        assert_eq!((&dry["success"], &dry["simulated"]), (&json!(false), &json!(true)));
        assert_eq!(errors(&dry), [error, json!("no_recipients"), Value::Null], "{id}");
        if id != json!(own) {
            assert_eq!(errors(&dry), errors(&execute(&id, false).await), "{id}");
        }
    }
}

#[actix_web::test]
async fn a_dry_run_needs_the_features_of_the_effects() {
    let fixture = fixture().await;
    let id = deal(&fixture, "Old").await;
    let set = action("SET_FIELD", json!({"field": "title", "value": "New"}));
    let fields = json!({"successActions": [set]});
    fixture
        .create(RULES, with(rule("r1", "ACTION", "customers.deal"), fields))
        .await;
    fixture.role("Executor", &["business_rules.execute"], None).await;
    let (_, executor) = fixture.user("executor@alpha.test", &["Executor"]).await;

    let input = json!({"entityType": "customers.deal", "entityId": id, "dryRun": true});
    let (status, body) = fixture.app.post(&executor, EXECUTE, input).await;

    let result = &body["executedRules"][0]["actionsExecuted"]["results"][0];
    let expected = json!({
        "type": "SET_FIELD", "success": false, "simulated": true, "error": "missing feature: customers.deals.manage", "field": "title",
    });
    assert_eq!((status, result), (200, &expected), "{body}");
}
