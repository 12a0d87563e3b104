//! Values of rules that are nested too deeply.

use actix_web::http::Method;
use backoffice_test_support::details;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{EXECUTE, RULES, action, condition, deal, fixture, logs, message, rule, stored, with};
use crate::platform_calls::{call, calling, catalog_key, product};

const ACTIONS: &str = "/audit_logs/audit-logs/actions";

/// Returns a value inside of this many lists.
fn lists(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

/// Returns the fields of a rule whose values are nested this deep.
fn nested(levels: usize) -> Value {
    let compared = condition("title", "=", lists(levels));
    let payload = json!({"a": lists(levels - 1)});
    json!({
        "conditionExpression": {"operator": "AND", "rules": [compared]},
        "successActions": [
            action("EMIT_EVENT", json!({"eventName": "own.seen", "payload": payload})),
            action("CALL_WEBHOOK", json!({"url": "https://example.com/", "body": lists(levels)})),
            action("SET_FIELD", json!({"field": "title", "value": lists(levels)})),
        ],
        "failureActions": [with(message("LOG", "m"), json!({"note": lists(levels)}))],
    })
}

#[actix_web::test]
async fn values_of_rules_are_nested_at_most_sixteen_deep() {
    let fixture = fixture().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let body = rule("r1", "ACTION", "customers.deal");
    let expected = [
        ("conditionExpression.rules[0].value", "invalid_value"),
        ("failureActions[0].note", "invalid_value"),
        ("successActions[0].config.payload", "invalid_value"),
        ("successActions[1].config.body", "invalid_value"),
        ("successActions[2].config.value", "invalid_value"),
    ];
    let found = |body: &Value| {
        let mut found: Vec<(String, String)> = Vec::new();
        for (path, code) in details(body) {
            found.push((path.to_owned(), code.to_owned()));
        }
        found.sort_unstable();
        found
    };
    let expected: Vec<(String, String)> = expected.map(|(path, code)| (path.to_owned(), code.to_owned())).into();

    let (status, rejected) = app.post(token, RULES, with(body.clone(), nested(17))).await;
    assert_eq!((status, found(&rejected)), (400, expected.clone()), "{rejected}");
    let id = fixture.create(RULES, with(body, nested(16))).await;
    let (status, rejected) = app.put(token, RULES, with(json!({"id": id}), nested(17))).await;
    assert_eq!((status, found(&rejected)), (400, expected), "{rejected}");

    let page = app.read(token, &format!("{ACTIONS}?resourceId={id}")).await;
    assert_eq!(
        page["items"][0]["changes"]["successActions"]["to"],
        nested(16)["successActions"]
    );
}

#[actix_web::test]
async fn a_stored_rule_with_a_deep_value_is_changed_and_the_log_remains_readable() {
    let fixture = fixture().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let fields = json!({"successActions": [message("LOG", "m")]});
    let id = fixture.create(RULES, with(rule("r1", "ACTION", "x.y"), fields)).await;
    // As an earlier release could store it: the snapshot of the rule has 127 levels, which is what the parser reads, its changes have 128.
    let sql = format!(
        "update business_rules_rules set success_actions = jsonb_set(success_actions, '{{0,config,note}}', '{}')",
        lists(123)
    );
    assert_eq!(app.sql(&sql).await, 1);

    let disabled = app.put(token, RULES, json!({"id": id, "enabled": false})).await;
    let replaced = app.put(token, RULES, json!({"id": id, "successActions": []})).await;
    let page = app.read(token, &format!("{ACTIONS}?resourceId={id}")).await;
    let export = app
        .send(token, Method::GET, &format!("{ACTIONS}/export"), Value::Null)
        .await;

    assert_eq!((disabled.0, replaced.0), (200, 200), "{} {}", disabled.1, replaced.1);
    let changes = &page["items"][0]["changes"]["successActions"];
    assert_eq!(
        (page["items"].as_array().map(Vec::len), &changes["to"]),
        (Some(3), &json!([]))
    );
    assert_eq!(changes["from"][0]["config"]["message"], "m");
    assert!(
        changes["from"][0]["config"]["note"].to_string().contains("[null]"),
        "{changes}"
    );
    assert_eq!(export.status, 200, "{}", export.text());
}

#[actix_web::test]
async fn an_action_that_builds_a_deep_document_fails_alone() {
    let fixture = fixture().await;
    let id = deal(&fixture, "Old").await;
    let (_, key) = catalog_key(&fixture).await;
    let actions = json!([
        action(
            "EMIT_EVENT",
            json!({"eventName": "own.seen", "payload": {"a": "{{deep}}"}})
        ),
        action(
            "CALL_WEBHOOK",
            json!({"url": "https://example.com/", "body": "{{deep}}"})
        ),
        action("SET_FIELD", json!({"field": "title", "value": "{{deep}}"})),
        call(
            "POST /catalog/products",
            key,
            json!({"title": "T", "metadata": "{{deep}}"})
        ),
        action("EMIT_EVENT", json!({"eventName": "own.later"})),
    ]);
    let fields = json!({"successActions": actions});
    fixture
        .create(RULES, with(rule("r1", "ACTION", "customers.deal"), fields))
        .await;

    let input = json!({"entityType": "customers.deal", "entityId": id, "data": {"deep": lists(65)}});
    let (status, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;

    let executed = &body["executedRules"][0];
    assert_eq!((status, &executed["error"]), (200, &Value::Null), "{body}");
    let results = executed["actionsExecuted"]["results"].as_array().expect("results");
    let errors: Vec<&Value> = results.iter().map(|result| &result["error"]).collect();
    let too_deep = json!("document_too_deep");
    assert_eq!(errors, [&too_deep, &too_deep, &too_deep, &too_deep, &Value::Null]);
    assert_eq!(stored(&fixture, id).await["title"], "Old");
    let emitted = "select name from core_outbox_events where name like 'own.%'";
    assert_eq!(fixture.app.rows(emitted).await, [json!({"name": "own.later"})]);
}

#[actix_web::test]
async fn a_stored_call_with_a_deep_body_leaves_no_job() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    fixture.create(RULES, calling("GUARD", &product(key))).await;
    let sql = format!(
        "update business_rules_rules set success_actions = jsonb_set(success_actions, '{{0,config,body}}', '{}')",
        lists(112)
    );
    assert_eq!(fixture.app.sql(&sql).await, 1);

    let id: Uuid = deal(&fixture, "D").await;

    let logged = logs(&fixture).await.remove(0);
    let result = &logged["outputContext"]["actionsExecuted"]["results"][0];
    assert_eq!(
        (&logged["entityId"], &result["error"]),
        (&json!(id), &json!("document_too_deep"))
    );
    let jobs = "core_jobs where kind = 'business_rules.platform.call'";
    assert_eq!(fixture.app.count(jobs).await, 0);
}
