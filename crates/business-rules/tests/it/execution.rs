//! Executions by request.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{EXECUTE, RULES, action, condition, deal, fixture, input, logs, message, rule, stored, with};

fn below_1000() -> Value {
    with(
        rule("limit", "GUARD", "x.y"),
        json!({"conditionExpression": condition("amount", "<", json!(1000))}),
    )
}

#[actix_web::test]
async fn rul_2_a_guard_allows_what_its_condition_holds_for() {
    let fixture = fixture().await;
    let id = fixture.create(RULES, below_1000()).await;
    let execute = async |amount: i32| {
        let (status, body) = fixture
            .app
            .post(&fixture.a.token, EXECUTE, input(json!({"amount": amount})))
            .await;
        assert_eq!(status, 200, "{body}");
        body
    };

    let (allowed, blocked) = (execute(500).await, execute(1500).await);

    assert_eq!(
        (&allowed["allowed"], &blocked["allowed"]),
        (&json!(true), &json!(false))
    );
    let ran = &allowed["executedRules"][0];
    assert_eq!(
        (&ran["ruleId"], &ran["id"], &ran["conditionResult"]),
        (&json!("limit"), &json!(id), &json!(true))
    );
    assert!(ran["executionTime"].is_number() && allowed["totalExecutionTime"].is_number());
    let logs = logs(&fixture).await;
    let results: Vec<&Value> = logs.iter().map(|log| &log["executionResult"]).collect();
    assert_eq!(results, ["SUCCESS", "FAILURE"]);
    assert_eq!(logs[0]["entityId"], json!(Uuid::nil()));
    assert_eq!((&logs[0]["ruleId"], &logs[0]["trigger"]), (&json!(id), &json!("api")));
    assert_eq!(logs[0]["executedBy"], json!(fixture.a.admin));
    assert_eq!(logs[0]["id"], ran["logId"]);
    let entries = fixture
        .app
        .rows(
            "select resource_kind, undo_secret from audit_action_logs where command_id = 'business_rules.run.execute'",
        )
        .await;
    assert_eq!(
        entries,
        vec![json!({"resource_kind": "business_rules.run", "undo_secret": null}); 2]
    );
}

#[actix_web::test]
async fn without_rules_everything_is_allowed() {
    let fixture = fixture().await;

    let (status, body) = fixture
        .app
        .post(&fixture.a.token, EXECUTE, json!({"entityType": "x.y"}))
        .await;

    assert_eq!(
        (status, &body["allowed"], &body["executedRules"]),
        (200, &json!(true), &json!([]))
    );
}

#[actix_web::test]
async fn rul_4_a_dry_run_leaves_nothing() {
    let fixture = fixture().await;
    let id = deal(&fixture, "Old").await;
    let actions = json!([
        action("SET_FIELD", json!({"field": "title", "value": "New"})),
        action("NOTIFY", json!({"message": "m", "recipients": ["role:admin"]})),
        action("EMIT_EVENT", json!({"eventName": "own.happened"})),
        message("SHOW_INFO", "Deal {{data.title}}"),
    ]);
    let body = with(
        rule("r1", "ACTION", "customers.deal"),
        json!({"successActions": actions}),
    );
    fixture.create(RULES, body).await;
    let tables = ["core_rate_limits", "audit_access_logs", "auth_sessions"];
    let before = fixture.app.snapshot_without(&tables, &[]).await;

    let input = json!({"entityType": "customers.deal", "entityId": id, "data": {"title": "x"}, "dryRun": true});
    let (status, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;

    assert_eq!(status, 200, "{body}");
    let executed = &body["executedRules"][0];
    assert_eq!(
        (&executed["actionsExecuted"]["simulated"], &executed["logId"]),
        (&json!(true), &Value::Null)
    );
    let results = executed["actionsExecuted"]["results"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert_eq!(results.len(), 4);
    assert!(
        results
            .iter()
            .all(|one| one["simulated"] == json!(true) && one["success"] == json!(true))
    );
    assert_eq!(
        body["messages"],
        json!([{"level": "info", "message": "Deal x", "ruleId": "r1"}])
    );
    assert_eq!(fixture.app.snapshot_without(&tables, &[]).await, before);
    assert_eq!(stored(&fixture, id).await["title"], "Old");
}

#[actix_web::test]
async fn rules_run_by_priority_and_allow_lifts_only_its_own_veto() {
    let fixture = fixture().await;
    let never = json!({"conditionExpression": condition("x", "=", json!("never"))});
    let allow = json!({"priority": 1, "failureActions": [message("ALLOW_TRANSITION", "fine")]});
    fixture
        .create(RULES, with(with(rule("low", "GUARD", "x.y"), never.clone()), allow))
        .await;
    let execute = async || fixture.app.post(&fixture.a.token, EXECUTE, input(json!({}))).await.1;
    assert_eq!(execute().await["allowed"], true);

    fixture
        .create(
            RULES,
            with(with(rule("high", "GUARD", "x.y"), never), json!({"priority": 200})),
        )
        .await;
    let body = execute().await;

    let order: Vec<&Value> = body["executedRules"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["ruleId"])
        .collect();
    assert_eq!(
        (order, &body["allowed"]),
        (vec![&json!("high"), &json!("low")], &json!(false))
    );
}

#[actix_web::test]
async fn more_rules_than_may_run_run_not_at_all() {
    let fixture = crate::fixture::fixture_with("[business_rules]\nmax_rules = 1\n").await;
    fixture.create(RULES, rule("r1", "GUARD", "x.y")).await;
    fixture
        .app
        .sql("insert into business_rules_rules select tenant_id, gen_random_uuid(), organization_id, 'r2', rule_name, description, rule_type,
            rule_category, entity_type, event_type, condition_expression, success_actions, failure_actions, enabled, priority, version,
            effective_from, effective_to, effect_features, created_by, updated_by, created_at, updated_at from business_rules_rules")
        .await;

    let (status, body) = fixture.app.post(&fixture.a.token, EXECUTE, input(json!({}))).await;

    assert_eq!(
        (status, &body["allowed"], &body["executedRules"]),
        (200, &json!(false), &json!([]))
    );
    assert_eq!(body["errors"], json!([{"code": "too_many_rules"}]));
}

#[actix_web::test]
async fn one_rule_is_executed_by_its_id() {
    let fixture = fixture().await;
    let id = fixture.create(RULES, below_1000()).await;
    let path = format!("{EXECUTE}/{id}");
    let execute = async |body: Value| fixture.app.post(&fixture.a.token, &path, body).await;

    let (status, body) = execute(json!({"data": {"amount": 5}})).await;
    assert_eq!(
        (status, &body["success"], &body["conditionResult"]),
        (200, &json!(true), &json!(true))
    );
    assert_eq!((&body["ruleId"], &body["id"]), (&json!("limit"), &json!(id)));
    fixture
        .app
        .put(&fixture.a.token, RULES, json!({"id": id, "enabled": false}))
        .await;
    let (status, body) = execute(json!({})).await;
    assert_eq!(
        (status, &body["success"], &body["actionsExecuted"]),
        (200, &json!(false), &Value::Null)
    );
    assert_eq!(
        (&body["error"], &body["logId"]),
        (&json!("The rule is disabled"), &Value::Null)
    );
    let body = json!({"id": id, "enabled": true, "effectiveTo": "2020-01-01T00:00:00Z"});
    fixture.app.put(&fixture.a.token, RULES, body).await;
    assert_eq!(execute(json!({})).await.1["error"], "The rule is not effective now");

    let missing = fixture
        .app
        .post(
            &fixture.a.token,
            &format!("{EXECUTE}/{}", Uuid::from_u128(1)),
            json!({}),
        )
        .await;
    assert_eq!(missing, (404, json!({"error": "Rule not found"})));
    assert_eq!(
        fixture
            .app
            .post(&fixture.a.token, &format!("{EXECUTE}/x"), json!({}))
            .await
            .0,
        400
    );
}

#[actix_web::test]
async fn invalid_requests_are_rejected() {
    let fixture = fixture().await;
    for (body, path) in [
        (json!({}), "entityType"),
        (json!({"entityType": "x".repeat(51)}), "entityType"),
        (json!({"entityType": "x.y", "entityId": "x".repeat(256)}), "entityId"),
        (json!({"entityType": "x.y", "eventType": "x".repeat(51)}), "eventType"),
        (json!({"entityType": "x.y", "dryRun": "yes"}), "dryRun"),
        (json!({"entityType": "x.y", "data": "x".repeat(256 * 1024)}), "data"),
    ] {
        let (status, rejected) = fixture.app.post(&fixture.a.token, EXECUTE, body).await;
        assert_eq!(
            (status, &rejected["details"][0]["path"]),
            (400, &json!(path)),
            "{rejected}"
        );
    }
}

#[actix_web::test]
async fn a_repeated_request_has_no_further_effects() {
    let fixture = fixture().await;
    let id = deal(&fixture, "Old").await;
    let actions = json!([action(
        "SET_FIELD",
        json!({"field": "title", "value": "{{data.title}}"})
    )]);
    fixture
        .create(
            RULES,
            with(
                rule("r1", "ACTION", "customers.deal"),
                json!({"successActions": actions}),
            ),
        )
        .await;
    let input = json!({"entityType": "customers.deal", "entityId": id, "data": {"title": "New"}});
    let send = async || {
        let request = fixture.app.request(Method::POST, EXECUTE).bearer(&fixture.a.token);
        request.header("Idempotency-Key", "k1").json(&input).send().await
    };
    let first = send().await;
    assert_eq!(first.status, 200, "{}", first.text());
    let body = json!({"id": id, "title": "Changed since"});
    assert_eq!(
        fixture.app.put(&fixture.a.token, crate::fixture::DEALS, body).await.0,
        200
    );

    let second = send().await;

    assert_eq!(second.header("Idempotency-Replayed").as_deref(), Some("true"));
    assert_eq!(second.json(), first.json());
    assert_eq!(stored(&fixture, id).await["title"], "Changed since");
    assert_eq!(logs(&fixture).await.len(), 1);
}

#[actix_web::test]
async fn a_repeated_request_gets_the_first_response_after_its_rule_was_disabled_or_deleted() {
    let fixture = fixture().await;
    let id = fixture.create(RULES, rule("r1", "ACTION", "x.y")).await;
    let path = format!("{EXECUTE}/{id}");
    let send = async || {
        let request = fixture.app.request(Method::POST, &path).bearer(&fixture.a.token);
        request.header("Idempotency-Key", "k1").json(&json!({})).send().await
    };
    let first = send().await;
    assert_eq!((first.status, &first.json()["success"]), (200, &json!(true)));

    let body = json!({"id": id, "enabled": false});
    assert_eq!(fixture.app.put(&fixture.a.token, RULES, body).await.0, 200);
    let disabled = send().await;
    let deletion = format!("{RULES}?id={id}");
    assert_eq!(
        fixture.app.delete(&fixture.a.token, &deletion, Value::Null).await.0,
        200
    );
    let deleted = send().await;

    for repeated in [disabled, deleted] {
        assert_eq!(repeated.header("Idempotency-Replayed").as_deref(), Some("true"));
        assert_eq!((repeated.status, repeated.json()), (200, first.json()));
    }
    assert_eq!(logs(&fixture).await.len(), 1);
}

#[actix_web::test]
async fn ids_of_records_are_logged_as_they_were_given() {
    let fixture = fixture().await;
    fixture.create(RULES, rule("r1", "ACTION", "x.y")).await;
    let given = [
        json!(" a\tb\n"),
        json!(""),
        json!("  "),
        json!("\u{202e}x"),
        json!("ü".repeat(255)),
        Value::Null,
    ];
    for id in &given {
        let input = json!({"entityType": "x.y", "entityId": id});
        let (status, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;
        assert_eq!(status, 200, "{body}");
    }

    let input = json!({"entityType": "x.y", "entityId": "a\0"});
    let (status, _) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;

    assert_eq!(status, 400);
    let logged: Vec<Value> = logs(&fixture).await.iter().map(|log| log["entityId"].clone()).collect();
    let mut expected = given.to_vec();
    expected[5] = json!(Uuid::nil());
    assert_eq!(logged, expected);
}

#[actix_web::test]
async fn a_failure_of_the_engine_is_reported_without_its_reason() {
    let fixture = fixture().await;
    fixture
        .app
        .sql("alter table business_rules_rules rename to hidden_rules")
        .await;

    let (status, body) = fixture.app.post(&fixture.a.token, EXECUTE, input(json!({}))).await;

    assert_eq!(
        (status, &body["error"]),
        (500, &json!("Rule execution failed")),
        "{body}"
    );
    assert!(body["requestId"].is_string());
}

#[actix_web::test]
async fn paths_without_names_or_indexes_find_nothing() {
    let fixture = fixture().await;
    for (key, path) in [("a", "items[]"), ("b", "items[x]"), ("c", "items."), ("d", "a..b")] {
        let fields = json!({
            "conditionExpression": {"operator": "AND", "rules": [
                condition(path, "IS_EMPTY", json!(null)),
                {"field": path, "operator": "=", "valueField": path},
            ]},
        });
        fixture.create(RULES, with(rule(key, "GUARD", "x.y"), fields)).await;
    }

    let data = json!({"items": [1], "a": {"b": 1, "": {"b": 2}}});
    let (_, body) = fixture.app.post(&fixture.a.token, EXECUTE, input(data)).await;

    assert_eq!(body["allowed"], true, "{body}");
    assert_eq!(body["executedRules"].as_array().map(Vec::len), Some(4));
}

#[actix_web::test]
async fn secrets_of_the_data_are_not_logged() {
    let fixture = fixture().await;
    fixture.create(RULES, rule("r1", "ACTION", "x.y")).await;

    fixture
        .app
        .post(&fixture.a.token, EXECUTE, input(json!({"apiKey": "k", "name": "n"})))
        .await;

    let logged = logs(&fixture).await.remove(0);
    assert_eq!(
        logged["inputContext"]["data"],
        json!({"apiKey": "[REDACTED]", "name": "n"})
    );
    assert_eq!(logged["inputContext"]["user"]["id"], json!(fixture.a.admin));
}
