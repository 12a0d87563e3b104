//! Effects of rules that a request executes: fields, notifications and events.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{EXECUTE, RULES, action, deal, fixture, input, logs, rule, stored, with};

#[actix_web::test]
async fn fields_are_set_by_the_command_of_their_module() {
    let fixture = fixture().await;
    let id = deal(&fixture, "Old").await;
    let actions = json!([
        action(
            "SET_FIELD",
            json!({"field": "title", "value": "{{data.title}} of {{entityType}}"})
        ),
        action("SET_FIELD", json!({"field": "probability", "value": "{{number}}"})),
    ]);
    let rule_id = fixture
        .create(
            RULES,
            with(
                rule("r1", "CALCULATION", "customers.deal"),
                json!({"successActions": actions}),
            ),
        )
        .await;

    let input = json!({"entityType": "customers.deal", "entityId": id, "data": {"title": "New", "number": 40}});
    let (_, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;

    let results = &body["executedRules"][0]["actionsExecuted"]["results"];
    assert_eq!(results[1]["patch"], json!({"probability": 40}), "{body}");
    let deal = stored(&fixture, id).await;
    assert_eq!(
        (&deal["title"], &deal["probability"]),
        (&json!("New of customers.deal"), &json!(40))
    );
    let sql = "select actor_id, context from audit_action_logs where command_id = 'customers.deal.update'";
    let entries = fixture.app.rows(sql).await;
    assert_eq!((entries.len(), &entries[0]["actor_id"]), (1, &json!(fixture.a.admin)));
    assert_eq!(
        (&entries[0]["context"]["ruleId"], &entries[0]["context"]["depth"]),
        (&json!(rule_id), &json!(1))
    );
}

#[actix_web::test]
async fn rul_13_a_caller_needs_the_features_of_the_effects() {
    let fixture = fixture().await;
    let id = deal(&fixture, "Old").await;
    let actions = json!([action("SET_FIELD", json!({"field": "title", "value": "New"}))]);
    fixture
        .create(
            RULES,
            with(
                rule("r1", "ACTION", "customers.deal"),
                json!({"successActions": actions}),
            ),
        )
        .await;
    fixture.role("Executor", &["business_rules.execute"], None).await;
    let (_, executor) = fixture.user("executor@alpha.test", &["Executor"]).await;

    let input = json!({"entityType": "customers.deal", "entityId": id});
    let (status, body) = fixture.app.post(&executor, EXECUTE, input).await;

    let result = &body["executedRules"][0]["actionsExecuted"]["results"][0];
    assert_eq!((status, &result["success"]), (200, &json!(false)), "{body}");
    assert_eq!(result["error"], "missing feature: customers.deals.manage");
    assert_eq!(stored(&fixture, id).await["title"], "Old");
    let logs = logs(&fixture).await;
    let logged = &logs[0]["outputContext"]["actionsExecuted"]["results"][0]["error"];
    assert_eq!(logged, "missing feature: customers.deals.manage");
}

#[actix_web::test]
async fn an_effect_on_an_invisible_record_fails() {
    let fixture = fixture().await;
    let actions = json!([action("SET_FIELD", json!({"field": "title", "value": "New"}))]);
    fixture
        .create(
            RULES,
            with(
                rule("r1", "ACTION", "customers.deal"),
                json!({"successActions": actions}),
            ),
        )
        .await;
    let (status, theirs) = fixture
        .app
        .post(&fixture.b.token, crate::fixture::DEALS, json!({"title": "Theirs"}))
        .await;
    assert_eq!(status, 201);

    for id in [theirs["id"].clone(), json!(Uuid::from_u128(7)), json!("no id")] {
        let input = json!({"entityType": "customers.deal", "entityId": id});
        let (status, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;
        let result = &body["executedRules"][0]["actionsExecuted"]["results"][0];
        assert_eq!((status, &result["error"]), (200, &json!("entity_not_found")), "{body}");
    }
}

#[actix_web::test]
async fn rul_9_notifications_reach_the_named_users_once() {
    let fixture = fixture().await;
    let (user, token) = fixture.user("dispatcher@alpha.test", &["employee"]).await;
    let recipients = json!([
        "role:employee",
        user,
        "Dispatcher@Alpha.test",
        "nobody@alpha.test",
        "admin@beta.test",
        fixture.b.admin
    ]);
    let notify = json!({"message": "Amount {{data.amount}}", "subject": "Look", "recipients": recipients, "severity": "warning"});
    let body = with(
        rule("r1", "ACTION", "x.y"),
        json!({"successActions": [action("NOTIFY", notify)]}),
    );
    fixture.create(RULES, body).await;

    let (_, body) = fixture
        .app
        .post(&fixture.a.token, EXECUTE, input(json!({"amount": 7})))
        .await;

    let result = &body["executedRules"][0]["actionsExecuted"]["results"][0];
    assert_eq!(
        (&result["success"], &result["recipients"]),
        (&json!(true), &json!(1)),
        "{body}"
    );
    let skipped = json!(["nobody@alpha.test", "admin@beta.test", fixture.b.admin]);
    assert_eq!(result["skipped"], skipped);
    let (_, page) = fixture.app.get(&token, "/notifications").await;
    let shown = &page["items"][0];
    assert_eq!(
        (&page["total"], &shown["title"], &shown["body"]),
        (&json!(1), &json!("Look"), &json!("Amount 7"))
    );
    let (_, theirs) = fixture.app.get(&fixture.b.token, "/notifications").await;
    assert_eq!(theirs["total"], 0);
}

#[actix_web::test]
async fn a_notification_without_recipients_fails() {
    let fixture = fixture().await;
    let notify = action("NOTIFY", json!({"message": "m", "recipients": ["role:nobody"]}));
    fixture
        .create(
            RULES,
            with(rule("r1", "ACTION", "x.y"), json!({"successActions": [notify]})),
        )
        .await;

    let (_, body) = fixture.app.post(&fixture.a.token, EXECUTE, input(json!({}))).await;

    let executed = &body["executedRules"][0]["actionsExecuted"];
    assert_eq!(
        (&executed["success"], &executed["results"][0]["error"]),
        (&json!(false), &json!("no_recipients"))
    );
}

#[actix_web::test]
async fn events_of_rules_stay_inside() {
    let fixture = fixture().await;
    let emit =
        json!({"eventName": "own.thing.happened", "payload": {"amount": "{{data.amount}}", "tenantId": "forged"}});
    let body = with(
        rule("r1", "ACTION", "x.y"),
        json!({"successActions": [action("EMIT_EVENT", emit)]}),
    );
    let id = fixture.create(RULES, body).await;

    fixture
        .app
        .post(&fixture.a.token, EXECUTE, input(json!({"amount": 7})))
        .await;

    let sql = "select browser, payload from core_outbox_events where name = 'own.thing.happened'";
    let events = fixture.app.rows(sql).await;
    assert_eq!((events.len(), &events[0]["browser"]), (1, &json!(false)));
    let payload = &events[0]["payload"];
    assert_eq!((&payload["amount"], &payload["ruleId"]), (&json!(7), &json!(id)));
    assert_eq!(payload["tenantId"], json!(fixture.a.id));
}

#[actix_web::test]
async fn results_of_fields_and_notifications_are_reported_and_logged() {
    let fixture = fixture().await;
    let id = deal(&fixture, "Old").await;
    let notify = |recipients: Value| action("NOTIFY", json!({"message": "m", "recipients": recipients}));
    let actions = json!([
        action("SET_FIELD", json!({"field": "title", "value": "New"})),
        notify(json!(["role:admin", "nobody@alpha.test"])),
        notify(json!(["role:nobody"])),
    ]);
    let rules = [
        with(
            rule("good", "ACTION", "customers.deal"),
            json!({"successActions": actions}),
        ),
        with(
            rule("invalid", "ACTION", "customers.deal"),
            json!({"successActions": [action("SET_FIELD", json!({"field": "title", "value": 7}))]}),
        ),
    ];
    for body in rules {
        fixture.create(RULES, body).await;
    }

    let input = json!({"entityType": "customers.deal", "entityId": id});
    let (_, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;

    let (good, invalid) = (&body["executedRules"][0], &body["executedRules"][1]);
    let expected = json!({"success": false, "results": [
        {"type": "SET_FIELD", "success": true, "field": "title", "patch": {"title": "New"}},
        {"type": "NOTIFY", "success": true, "recipients": 1, "skipped": ["nobody@alpha.test"]},
        {"type": "NOTIFY", "success": false, "error": "no_recipients", "recipients": 0, "skipped": ["role:nobody"]},
    ]});
    assert_eq!(good["actionsExecuted"], expected);
    let rejected = &invalid["actionsExecuted"];
    assert_eq!(
        (&rejected["success"], &rejected["results"][0]["success"]),
        (&json!(false), &json!(false))
    );
    assert!(rejected["results"][0]["error"].is_string() && rejected["results"][0]["patch"].is_null());
    for executed in [good, invalid] {
        let logged = logs(&fixture).await;
        let log = logged.iter().find(|log| log["id"] == executed["logId"]).expect("a log");
        assert_eq!(log["outputContext"]["actionsExecuted"], executed["actionsExecuted"]);
        assert_eq!(log["executionResult"], "SUCCESS");
    }
}
