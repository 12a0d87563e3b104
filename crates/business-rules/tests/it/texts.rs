//! Texts and values that rules build from references.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{EXECUTE, RULES, action, deal, fixture, logs, message, rule, stored, with};

/// An action that sets a field to a list of this many references.
fn long_list(references: usize) -> Value {
    action(
        "SET_FIELD",
        json!({"field": "title", "value": vec!["{{data.a}}"; references]}),
    )
}

fn input(id: Uuid, is_dry: bool) -> Value {
    json!({"entityType": "customers.deal", "entityId": id, "data": {"a": "x".repeat(200_000)}, "dryRun": is_dry})
}

#[actix_web::test]
async fn a_rule_that_builds_too_much_ends_with_an_error() {
    let fixture = fixture().await;
    let id = deal(&fixture, "Old").await;
    let actions = json!([
        action("EMIT_EVENT", json!({"eventName": "own.first"})),
        long_list(4000),
        action("EMIT_EVENT", json!({"eventName": "own.later"})),
        message("BLOCK_TRANSITION", "No"),
    ]);
    let first = json!({"priority": 200, "successActions": actions});
    fixture
        .create(RULES, with(rule("large", "ACTION", "customers.deal"), first))
        .await;
    fixture.create(RULES, rule("next", "GUARD", "customers.deal")).await;

    for is_dry in [true, false] {
        let (status, body) = fixture.app.post(&fixture.a.token, EXECUTE, input(id, is_dry)).await;

        assert_eq!((status, &body["allowed"]), (200, &json!(true)), "{body}");
        let (large, next) = (&body["executedRules"][0], &body["executedRules"][1]);
        assert_eq!(large["error"], "texts_too_long");
        let results = large["actionsExecuted"]["results"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let errors: Vec<&Value> = results.iter().map(|result| &result["error"]).collect();
        assert_eq!(
            errors,
            [
                &Value::Null,
                &json!("texts_too_long"),
                &json!("not_run"),
                &json!("not_run")
            ]
        );
        assert_eq!((&next["ruleId"], &next["error"]), (&json!("next"), &Value::Null));
    }
    assert_eq!(stored(&fixture, id).await["title"], "Old");
    let emitted = fixture
        .app
        .rows("select name from core_outbox_events where name like 'own.%'")
        .await;
    assert_eq!(emitted, [json!({"name": "own.first"})]);
    let logged = logs(&fixture).await;
    let error = logged.iter().find(|log| log["ruleKey"] == "large");
    assert_eq!(error.map(|log| &log["errorMessage"]), Some(&json!("texts_too_long")));
}

#[actix_web::test]
async fn the_rules_of_a_run_share_what_they_may_build() {
    let fixture = fixture().await;
    let id = deal(&fixture, "Old").await;
    for key in ["a", "b"] {
        let actions = json!({"successActions": [long_list(15)]});
        fixture
            .create(RULES, with(rule(key, "ACTION", "customers.deal"), actions))
            .await;
    }

    let (_, body) = fixture.app.post(&fixture.a.token, EXECUTE, input(id, true)).await;

    let rules = &body["executedRules"];
    assert_eq!(
        (&rules[0]["error"], &rules[1]["error"]),
        (&Value::Null, &json!("texts_too_long")),
        "{body}"
    );
}

#[actix_web::test]
async fn single_actions_keep_their_own_limits() {
    let fixture = fixture().await;
    let long = "{{data.a}}".repeat(50);
    let actions = json!([
        action(
            "EMIT_EVENT",
            json!({"eventName": "own.first", "payload": {"text": long}})
        ),
        action("CALL_WEBHOOK", json!({"url": "https://example.com/", "body": long})),
        action("CALL_WEBHOOK", json!({"url": "https://example.com/"})),
        action("CALL_WEBHOOK", json!({"url": format!("https://example.com/{long}")})),
        message("SHOW_INFO", &long),
    ]);
    fixture
        .create(
            RULES,
            with(
                rule("r1", "ACTION", "customers.deal"),
                json!({"successActions": actions}),
            ),
        )
        .await;

    let (_, body) = fixture
        .app
        .post(&fixture.a.token, EXECUTE, input(Uuid::nil(), true))
        .await;

    let executed = &body["executedRules"][0];
    let results = executed["actionsExecuted"]["results"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let errors: Vec<&Value> = results.iter().map(|result| &result["error"]).collect();
    assert_eq!(executed["error"], Value::Null, "{executed}");
    assert_eq!(
        errors,
        [
            &json!("payload_too_long"),
            &json!("body_too_long"),
            &json!("body_too_long"),
            &json!("invalid_url"),
            &Value::Null
        ]
    );
    assert_eq!(body["messages"][0]["message"], "x".repeat(2000));
}
