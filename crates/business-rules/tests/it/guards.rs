//! Rules that validate commands.

use actix_web::http::Method;
use backoffice_test_support::{TestResponse, UNDO};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{
    DEALS, RULES, action, condition, deal, fixture, fixture_with, last_write, logs, message, rule, stored, with,
};
use backoffice_test_accounts::{ORGANIZATIONS, TwoTenants};

/// A guard that keeps won deals as they are.
fn keep_won() -> Value {
    let fields = json!({
        "conditionExpression": condition("_before.status", "!=", json!("won")),
        "failureActions": [message("SHOW_ERROR", "Deal {{title}} is won")],
    });
    with(rule("keep", "GUARD", "customers.deal"), fields)
}

async fn put(fixture: &TwoTenants, body: &Value) -> TestResponse {
    let request = fixture.app.request(Method::PUT, DEALS).bearer(&fixture.a.token);
    request.json(body).responded_by_interceptor().send().await
}

async fn undo(fixture: &TwoTenants, changed: &TestResponse) -> TestResponse {
    let body = json!({"undoToken": changed.undoable_write().token});
    let request = fixture.app.request(Method::POST, UNDO).bearer(&fixture.a.token);
    request.json(&body).responded_by_interceptor().send().await
}

#[actix_web::test]
async fn rul_6_a_blocked_command_changes_nothing_and_is_logged() {
    let fixture = fixture().await;
    let id = deal(&fixture, "D").await;
    let won = put(&fixture, &json!({"id": id, "status": "won"})).await;
    assert_eq!(won.status, 200);
    let rule_id = fixture.create(RULES, keep_won()).await;
    let before = stored(&fixture, id).await;

    let blocked = put(&fixture, &json!({"id": id, "title": "E"})).await;

    assert_eq!(blocked.status, 422);
    let expected = json!({
        "error": "Deal E is won", "code": "business_rule_blocked",
        "rules": [{"ruleId": "keep", "ruleName": "Rule keep", "message": "Deal E is won"}],
        "messages": [{"level": "error", "message": "Deal E is won", "ruleId": "keep"}],
    });
    assert_eq!(blocked.json(), expected);
    assert_eq!(stored(&fixture, id).await, before);
    let kept = logs(&fixture).await;
    assert_eq!((kept.len(), &kept[0]["ruleId"]), (1, &json!(rule_id)));
    assert_eq!(
        (&kept[0]["executionResult"], &kept[0]["trigger"]),
        (&json!("FAILURE"), &json!("guard"))
    );
    assert_eq!(kept[0]["inputContext"]["data"]["_changed"], json!(["title"]));
    assert_eq!(kept[0]["inputContext"]["eventType"], "updated");

    let undone = undo(&fixture, &won).await;
    assert_eq!(
        (undone.status, &undone.json()["code"]),
        (422, &json!("business_rule_blocked"))
    );
    assert_eq!(logs(&fixture).await[1]["inputContext"]["eventType"], "undone");
    assert_eq!(stored(&fixture, id).await["status"], "won");
}

#[actix_web::test]
async fn rul_7_validations_warn_and_reject() {
    let fixture = fixture().await;
    let id = deal(&fixture, "D").await;
    let fields = json!({
        "eventType": "updated", "conditionExpression": condition("source", "IS_NOT_EMPTY", json!(null)),
        "failureActions": [message("SHOW_WARNING", "No source: ü")],
    });
    let rule_id = fixture
        .create(RULES, with(rule("v", "VALIDATION", "customers.deal"), fields))
        .await;

    let warned = put(&fixture, &json!({"id": id, "title": "E"})).await;

    assert_eq!(warned.status, 200);
    let header = warned.header("X-Rule-Messages").expect("messages");
    assert!(header.is_ascii());
    let parsed: Vec<(String, String)> = url::form_urlencoded::parse(format!("m={header}").as_bytes())
        .into_owned()
        .collect();
    let messages: Value = serde_json::from_str(&parsed[0].1).expect("JSON");
    assert_eq!(
        messages,
        json!([{"level": "warning", "message": "No source: ü", "ruleId": "v"}])
    );
    let body = json!({"id": rule_id, "failureActions": [message("SHOW_ERROR", "No source")]});
    assert_eq!(fixture.app.put(&fixture.a.token, RULES, body).await.0, 200);

    let rejected = put(&fixture, &json!({"id": id, "title": "F"})).await;

    assert_eq!((rejected.status, &rejected.json()["error"]), (422, &json!("No source")));
    assert_eq!(stored(&fixture, id).await["title"], "E");
    assert!(
        put(&fixture, &json!({"id": id, "source": "web"}))
            .await
            .header("X-Rule-Messages")
            .is_none()
    );
}

#[actix_web::test]
async fn a_validation_over_its_time_limit_rejects_the_command_and_has_no_effect() {
    let fixture = fixture_with("[business_rules]\nguard_rule = '1ms'\n").await;
    let id = deal(&fixture, "D").await;
    // A thousand states for each of thousands of characters: slow on every machine.
    let slow = condition("description", "MATCHES", json!("(a{1,50}b?){1,20}c"));
    let actions = json!([
        action("NOTIFY", json!({"message": "m", "recipients": ["role:admin"]})),
        message("SHOW_WARNING", "Shown by no one"),
    ]);
    let fields = json!({
        "eventType": "updated", "conditionExpression": {"operator": "OR", "rules": vec![slow; 20]},
        "successActions": actions, "failureActions": actions,
    });
    fixture
        .create(RULES, with(rule("slow", "VALIDATION", "customers.deal"), fields))
        .await;

    let rejected = put(&fixture, &json!({"id": id, "description": "a".repeat(4000)})).await;

    assert_eq!(
        (rejected.status, &rejected.json()["code"]),
        (422, &json!("business_rule_blocked"))
    );
    assert_eq!(rejected.json()["messages"], json!([]));
    assert_eq!(stored(&fixture, id).await["description"], Value::Null);
    let logged = &logs(&fixture).await[0];
    assert_eq!(logged["errorMessage"], "timeout", "{logged}");
    let evaluated = &logged["outputContext"]["conditionResult"];
    assert_eq!(
        *evaluated,
        Value::Null,
        "the evaluation ended at its first comparison after the limit"
    );
    let (_, page) = fixture.app.get(&fixture.a.token, "/notifications").await;
    assert_eq!(page["total"], 0);
}

#[actix_web::test]
async fn creations_and_deletions_are_validated() {
    let fixture = fixture().await;
    let id = deal(&fixture, "Keep").await;
    let keep = json!({"eventType": "deleted", "conditionExpression": condition("title", "!=", json!("Keep"))});
    fixture
        .create(RULES, with(rule("d", "GUARD", "customers.deal"), keep))
        .await;
    let no_bad = json!({"eventType": "created", "conditionExpression": condition("title", "!=", json!("Bad"))});
    fixture
        .create(RULES, with(rule("c", "GUARD", "customers.deal"), no_bad))
        .await;
    let token = &fixture.a.token;

    let path = format!("{DEALS}?id={id}");
    let deleted = fixture
        .app
        .request(Method::DELETE, &path)
        .bearer(token)
        .responded_by_interceptor()
        .send()
        .await;
    let request = fixture.app.request(Method::POST, DEALS).bearer(token);
    let created = request
        .json(&json!({"title": "Bad"}))
        .responded_by_interceptor()
        .send()
        .await;

    assert_eq!((deleted.status, created.status), (422, 422));
    assert_eq!(created.json()["error"], "Blocked by business rule");
    let (_, page) = fixture.app.get(token, DEALS).await;
    assert_eq!(page["total"], 1);
    assert_eq!(logs(&fixture).await.len(), 2);
}

#[actix_web::test]
async fn further_events_of_a_change_are_names_of_it() {
    let fixture = fixture().await;
    let id = deal(&fixture, "D").await;
    let assigned = json!({"eventType": "owner_assigned", "conditionExpression": condition("title", "!=", json!("D"))});
    fixture
        .create(RULES, with(rule("o", "GUARD", "customers.deal"), assigned))
        .await;

    assert_eq!(put(&fixture, &json!({"id": id, "source": "web"})).await.status, 200);
    let owned = put(&fixture, &json!({"id": id, "ownerUserId": fixture.a.admin})).await;

    assert_eq!(owned.status, 422);
}

#[actix_web::test]
async fn guards_that_pass_are_logged_only_on_request() {
    for (config, number) in [("", 0), ("[business_rules]\nlog_passes = true\n", 1)] {
        let fixture = fixture_with(config).await;
        let id = deal(&fixture, "D").await;
        fixture.create(RULES, keep_won()).await;

        assert_eq!(put(&fixture, &json!({"id": id, "title": "E"})).await.status, 200);

        assert_eq!(logs(&fixture).await.len(), number);
    }
}

#[actix_web::test]
async fn a_guard_that_acts_is_logged_with_the_change() {
    let fixture = fixture().await;
    let id = deal(&fixture, "D").await;
    let actions = json!([
        action("EMIT_EVENT", json!({"eventName": "own.seen"})),
        action("NOTIFY", json!({"message": "m", "recipients": ["role:admin"]})),
    ]);
    fixture
        .create(
            RULES,
            with(rule("g", "GUARD", "customers.deal"), json!({"successActions": actions})),
        )
        .await;

    assert_eq!(put(&fixture, &json!({"id": id, "title": "E"})).await.status, 200);

    let logged = logs(&fixture).await.remove(0);
    assert_eq!(
        (&logged["executionResult"], &logged["entityId"]),
        (&json!("SUCCESS"), &json!(id))
    );
    let results = &logged["outputContext"]["actionsExecuted"]["results"];
    assert_eq!(
        (&results[0]["success"], &results[1]["recipients"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(
        fixture
            .app
            .rows("select 1 from core_outbox_events where name = 'own.seen'")
            .await
            .len(),
        1
    );
    let (_, page) = fixture.app.get(&fixture.a.token, "/notifications").await;
    assert_eq!(page["total"], 1);
}

#[actix_web::test]
async fn the_effects_of_a_blocking_guard_remain() {
    let fixture = fixture().await;
    let id = deal(&fixture, "D").await;
    let actions = json!([
        message("BLOCK_TRANSITION", "No"),
        action("EMIT_EVENT", json!({"eventName": "own.seen"})),
        action("NOTIFY", json!({"message": "m", "recipients": ["role:admin"]})),
    ]);
    fixture
        .create(
            RULES,
            with(
                rule("g", "VALIDATION", "customers.deal"),
                json!({"successActions": actions}),
            ),
        )
        .await;

    let blocked = put(&fixture, &json!({"id": id, "title": "E"})).await;

    assert_eq!((blocked.status, &blocked.json()["error"]), (422, &json!("No")));
    assert_eq!(
        fixture
            .app
            .rows("select 1 from core_outbox_events where name = 'own.seen'")
            .await
            .len(),
        1
    );
    let (_, page) = fixture.app.get(&fixture.a.token, "/notifications").await;
    assert_eq!(page["total"], 1);
    assert_eq!(logs(&fixture).await.len(), 1);
}

#[actix_web::test]
async fn super_administrators_and_rules_of_other_organizations() {
    let fixture = fixture().await;
    let branch = fixture.organization("Branch", None).await;
    let blocks = json!({"organizationId": branch, "successActions": [message("BLOCK_TRANSITION", "No")]});
    fixture
        .create(RULES, with(rule("g", "VALIDATION", "customers.deal"), blocks))
        .await;
    let own = deal(&fixture, "D").await;
    assert_eq!(put(&fixture, &json!({"id": own, "title": "E"})).await.status, 200);

    let request = fixture.app.request(Method::POST, DEALS).bearer(&fixture.root);
    let request = request.header("X-Tenant-Id", &fixture.a.id.to_string());
    let body = json!({"title": "F", "organizationId": branch});
    let created = request.json(&body).responded_by_interceptor().send().await;

    assert_eq!(created.status, 422);
    let below = fixture.organization("Below", Some(branch)).await;
    let request = fixture.app.request(Method::POST, DEALS).bearer(&fixture.a.token);
    let body = json!({"title": "F", "organizationId": below});
    assert_eq!(request.json(&body).responded_by_interceptor().send().await.status, 422);
}

async fn put_organization(fixture: &TwoTenants, body: &Value) -> TestResponse {
    let request = fixture.app.request(Method::PUT, ORGANIZATIONS).bearer(&fixture.a.token);
    request.json(body).responded_by_interceptor().send().await
}

/// Creates two tenants in an application that keeps the rules which it has read.
async fn fixture_with_cache() -> TwoTenants {
    let fixture = fixture().await;
    fixture.app.start_background();
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    fixture
}

#[actix_web::test]
async fn a_rejected_move_of_an_organization_changes_the_rules_of_no_other_command() {
    let fixture = fixture_with_cache().await;
    let a = fixture.organization("A", None).await;
    let b = fixture.organization("B", Some(a)).await;
    let c = fixture.organization("C", None).await;
    let blocks = json!([message("BLOCK_TRANSITION", "No")]);
    let moves = json!({"organizationId": null, "eventType": "updated", "successActions": blocks});
    fixture
        .create(
            RULES,
            with(rule("moves", "VALIDATION", "directory.organization"), moves),
        )
        .await;
    let deals = json!({"organizationId": a, "successActions": blocks});
    fixture
        .create(RULES, with(rule("deals", "VALIDATION", "customers.deal"), deals))
        .await;

    // The first command that reads the rules since they have changed.
    let moved = put_organization(&fixture, &json!({"id": b, "parentId": c})).await;

    assert_eq!(
        (moved.status, &moved.json()["rules"][0]["ruleId"]),
        (422, &json!("moves"))
    );
    let request = fixture.app.request(Method::POST, DEALS).bearer(&fixture.a.token);
    let request = request.json(&json!({"title": "D", "organizationId": b}));
    let created = request.responded_by_interceptor().send().await;
    assert_eq!(
        (created.status, &created.json()["rules"][0]["ruleId"]),
        (422, &json!("deals"))
    );
}

#[actix_web::test]
async fn a_moved_organization_is_validated_by_the_rules_above_its_new_place() {
    let fixture = fixture_with_cache().await;
    let a = fixture.organization("A", None).await;
    let b = fixture.organization("B", None).await;
    let blocks = json!({"organizationId": a, "successActions": [message("BLOCK_TRANSITION", "No")]});
    fixture
        .create(RULES, with(rule("g", "VALIDATION", "directory.organization"), blocks))
        .await;
    // The node keeps the rules from now on.
    deal(&fixture, "D").await;

    let moved = put_organization(&fixture, &json!({"id": b, "parentId": a})).await;

    assert_eq!(moved.status, 422);
    let renamed = put_organization(&fixture, &json!({"id": b, "name": "C"})).await;
    assert_eq!(renamed.status, 200);
}

#[actix_web::test]
async fn a_command_without_a_change_is_not_validated() {
    let fixture = fixture().await;
    let id = deal(&fixture, "D").await;
    let blocks = json!({"successActions": [message("BLOCK_TRANSITION", "No")]});
    fixture
        .create(RULES, with(rule("g", "VALIDATION", "customers.deal"), blocks))
        .await;

    assert_eq!(put(&fixture, &json!({"id": id, "title": "D"})).await.status, 200);
    assert_eq!(put(&fixture, &json!({"id": id, "title": "E"})).await.status, 422);
}

#[actix_web::test]
async fn rul_16_items_of_a_bulk_job_are_validated_one_by_one() {
    let fixture = fixture().await;
    let pipeline = fixture.create("/customers/pipelines", json!({"name": "P"})).await;
    let stage = fixture
        .create(
            "/customers/pipeline-stages",
            json!({"pipelineId": pipeline, "label": "S"}),
        )
        .await;
    let mut ids: Vec<Uuid> = Vec::new();
    for number in 0..200 {
        ids.push(deal(&fixture, if number < 3 { "Blocked" } else { "Free" }).await);
    }
    let free = json!({"conditionExpression": condition("title", "!=", json!("Blocked"))});
    fixture
        .create(RULES, with(rule("g", "GUARD", "customers.deal"), free))
        .await;

    let body = json!({"ids": ids, "pipelineId": pipeline, "pipelineStageId": stage});
    let (status, started) = fixture
        .app
        .post(&fixture.a.token, "/customers/deals/bulk-update-stage", body)
        .await;
    assert_eq!(status, 201, "{started}");
    fixture.app.run_jobs().await;

    let job = started["progressJobId"].as_str().unwrap_or_default().to_owned();
    let (_, job) = fixture
        .app
        .get(&fixture.a.token, &format!("/progress/jobs/{job}"))
        .await;
    let sql = format!("select count(*)::int as n from customers_deals where pipeline_stage_id = '{stage}'");
    assert_eq!(fixture.app.rows(&sql).await, [json!({"n": 197})], "{job}");
    assert!(job.to_string().contains("business_rule_blocked"), "{job}");
    let logs = logs(&fixture).await;
    assert_eq!(logs.len(), 3);
    assert!(logs.iter().all(|log| log["executionResult"] == json!("FAILURE")));
    let blocked: Vec<Value> = ids.iter().take(3).map(|id| json!(id)).collect();
    assert!(logs.iter().all(|log| blocked.contains(&log["entityId"])));
    assert_eq!(job.to_string().matches("business_rule_blocked").count(), 3, "{job}");
    // Every other item is undone by its own token.
    let last = last_write(&fixture, ids[100]).await;
    let (status, body) = fixture.app.undo(&fixture.a.token, last).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.app.rows(&sql).await, [json!({"n": 196})]);
}
