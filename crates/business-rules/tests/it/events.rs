//! Rules that events start.

use actix_web::http::Method;
use backoffice_test_accounts::TwoTenants;
use backoffice_test_support::{TestResponse, UndoableWrite};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{DEALS, EXECUTE, RULES, action, condition, deal, fixture, last_write, logs, rule, stored, with};

/// Delivers events and runs jobs until nothing is left.
pub(crate) async fn settle(fixture: &TwoTenants) {
    while fixture.app.deliver_events().await + fixture.app.run_jobs().await > 0 {}
}

fn set(field: &str, value: Value) -> Value {
    action("SET_FIELD", json!({"field": field, "value": value}))
}

/// A rule that describes updated deals.
fn describe() -> Value {
    let fields = json!({
        "eventType": "updated", "conditionExpression": condition("_changed", "CONTAINS", json!("title")),
        "successActions": [set("description", json!("Was {{_before.title}}"))],
    });
    with(rule("describe", "ACTION", "customers.deal"), fields)
}

async fn rename(fixture: &TwoTenants, id: Uuid, title: &str) -> TestResponse {
    let body = json!({"id": id, "title": title});
    let response = fixture.app.send(&fixture.a.token, Method::PUT, DEALS, body).await;
    assert_eq!(response.status, 200, "{}", response.text());
    response
}

async fn entries(fixture: &TwoTenants) -> Vec<Value> {
    let sql = "select actor_kind, actor_id, actor_name, context, history_action from audit_action_logs \
        where command_id = 'customers.deal.update' order by seq";
    fixture.app.rows(sql).await
}

#[actix_web::test]
async fn rul_5_an_event_starts_a_rule_that_acts_by_itself() {
    let fixture = fixture().await;
    let id = deal(&fixture, "Old").await;
    let rule_id = fixture.create(RULES, describe()).await;
    settle(&fixture).await;

    rename(&fixture, id, "New").await;
    settle(&fixture).await;

    assert_eq!(stored(&fixture, id).await["description"], "Was Old");
    let entries = entries(&fixture).await;
    let own = &entries[1];
    assert_eq!(
        (entries.len(), &own["actor_kind"], &own["actor_id"]),
        (2, &json!("system"), &Value::Null)
    );
    assert_eq!(
        (&own["actor_name"], &own["context"]["ruleId"]),
        (&json!("rule describe"), &json!(rule_id))
    );
    let logs = logs(&fixture).await;
    assert_eq!(
        (&logs[0]["trigger"], &logs[0]["executedBy"]),
        (&json!("event"), &Value::Null)
    );
    // The change by the rule starts it again, but the title has not changed then.
    let results: Vec<&Value> = logs.iter().map(|log| &log["executionResult"]).collect();
    assert_eq!(results, ["SUCCESS", "FAILURE"]);
}

#[actix_web::test]
async fn a_rule_that_an_event_starts_knows_the_user_of_the_change() {
    let fixture = fixture().await;
    let id = deal(&fixture, "Old").await;
    let (user, token) = fixture.user("clerk@alpha.test", &["employee"]).await;
    fixture.role("Auditor", &["customers.*"], None).await;
    let (both, token_of_both) = fixture.user("both@alpha.test", &["employee", "Auditor"]).await;
    let fields = json!({
        "eventType": "updated", "conditionExpression": condition("_changed", "CONTAINS", json!("title")),
        "successActions": [set("description", json!("{{user.id}} {{user.email}} {{user.role}}"))],
    });
    fixture
        .create(RULES, with(rule("actor", "ACTION", "customers.deal"), fields))
        .await;

    for (title, token, expected) in [
        ("A", &token, format!("{user} clerk@alpha.test employee")),
        ("B", &token_of_both, format!("{both} both@alpha.test Auditor")),
    ] {
        let (status, body) = fixture.app.put(token, DEALS, json!({"id": id, "title": title})).await;
        assert_eq!(status, 200, "{body}");
        settle(&fixture).await;

        assert_eq!(stored(&fixture, id).await["description"], expected);
    }
    // The second change of each round is by the rule, which is not a user.
    let roles: Vec<Value> = logs(&fixture)
        .await
        .iter()
        .map(|log| log["inputContext"]["user"]["role"].clone())
        .collect();
    assert_eq!(roles, [json!("employee"), Value::Null, json!("Auditor"), Value::Null]);
}

#[actix_web::test]
async fn rul_19_taking_a_change_back_starts_no_rule() {
    let fixture = fixture().await;
    let id = deal(&fixture, "Old").await;
    fixture.create(RULES, describe()).await;
    let renamed = rename(&fixture, id, "New").await.undoable_write();
    settle(&fixture).await;
    let before = logs(&fixture).await.len();
    let own = last_write(&fixture, id).await;
    assert_ne!(own.token, renamed.token);
    let undo = async |write: &UndoableWrite| {
        let response = fixture.app.undo(&fixture.a.token, write).await;
        settle(&fixture).await;
        response
    };

    // The entry of the rule is undone by itself.
    let (status, body) = undo(&own).await;
    assert_eq!(status, 200, "{body}");
    let deal = stored(&fixture, id).await;
    assert_eq!((&deal["title"], &deal["description"]), (&json!("New"), &Value::Null));
    assert_eq!(logs(&fixture).await.len(), before);

    let (status, body) = undo(&renamed).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(stored(&fixture, id).await["title"], "Old");
    assert_eq!(logs(&fixture).await.len(), before);
}

#[actix_web::test]
async fn rul_19_further_events_of_an_undo_or_redo_start_no_rule() {
    let fixture = fixture().await;
    let token = &fixture.a.token;
    let pipeline = fixture.create("/customers/pipelines", json!({"name": "P"})).await;
    let body = json!({"pipelineId": pipeline, "label": "S"});
    let stage = fixture.create("/customers/pipeline-stages", body).await;
    let id = deal(&fixture, "D").await;
    let fields = json!({"eventType": "stage_changed", "successActions": [set("description", json!("Moved"))]});
    fixture
        .create(RULES, with(rule("moved", "ACTION", "customers.deal"), fields))
        .await;
    let seen = async || {
        settle(&fixture).await;
        let deal = stored(&fixture, id).await;
        let logs = logs(&fixture).await.len();
        (deal["pipelineStageId"].clone(), deal["description"].clone(), logs)
    };

    let body = json!({"id": id, "pipelineStageId": stage});
    let moved = fixture.app.send(token, Method::PUT, DEALS, body).await;
    assert_eq!(moved.status, 200, "{}", moved.text());
    assert_eq!(seen().await, (json!(stage), json!("Moved"), 1));

    let own = last_write(&fixture, id).await;
    let (status, body) = fixture.app.undo(token, &own).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(seen().await, (json!(stage), Value::Null, 1));
    let (status, body) = fixture.app.undo(token, &moved).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(seen().await, (Value::Null, Value::Null, 1));
    let (status, body) = fixture.app.redo(token, &moved).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(seen().await, (json!(stage), Value::Null, 1));
}

#[actix_web::test]
async fn rul_8_rules_that_start_each_other_stop() {
    let fixture = fixture().await;
    let id = deal(&fixture, "D").await;
    for (key, field) in [("a", "description"), ("b", "source")] {
        let fields = json!({"eventType": "updated", "successActions": [set(field, json!("{{now}} {{updatedAt}}"))]});
        fixture
            .create(RULES, with(rule(key, "ACTION", "customers.deal"), fields))
            .await;
    }

    rename(&fixture, id, "E").await;
    for _ in 0..50 {
        fixture.app.advance(backoffice_test_support::Duration::seconds(1));
        if fixture.app.deliver_events().await + fixture.app.run_jobs().await == 0 {
            break;
        }
    }

    assert_eq!(fixture.app.deliver_events().await + fixture.app.run_jobs().await, 0);
    let sql = "select payload from core_outbox_events where name = 'business_rules.rule.execution_failed'";
    let failed = fixture.app.rows(sql).await;
    assert!(!failed.is_empty());
    assert_eq!(failed[0]["payload"]["reason"], "rules start each other too many times");
    let depths: Vec<u64> = entries(&fixture)
        .await
        .iter()
        .filter_map(|entry| entry["context"]["depth"].as_u64())
        .collect();
    assert_eq!(depths.iter().max(), Some(&3));
    let (_, page) = fixture.app.get(&fixture.a.token, "/notifications").await;
    assert_eq!(page["items"][0]["type"], "business_rules.rule.execution_failed");
}

#[actix_web::test]
async fn notifications_of_failures_say_the_reason_in_the_language_of_the_reader() {
    let fixture = fixture().await;
    let id = deal(&fixture, "D").await;
    let notify = action("NOTIFY", json!({"message": "m", "recipients": ["role:nobody"]}));
    let fields = json!({"eventType": "updated", "successActions": [notify]});
    fixture
        .create(RULES, with(rule("a", "ACTION", "customers.deal"), fields))
        .await;

    rename(&fixture, id, "E").await;
    settle(&fixture).await;

    let sql = "select payload->>'reason' as reason from core_outbox_events where name = 'business_rules.rule.execution_failed'";
    assert_eq!(fixture.app.rows(sql).await, [json!({"reason": "no_recipients"})]);
    for (language, body) in [
        ("en", "A notification has no recipients."),
        ("pl", "Przyczyna: Powiadomienie nie ma odbiorców."),
        ("es", "Motivo: Una notificación no tiene destinatarios."),
        ("de", "Grund: Eine Benachrichtigung hat keine Empfänger."),
    ] {
        let request = fixture
            .app
            .request(Method::GET, "/notifications")
            .bearer(&fixture.a.token);
        let page = request.header("accept-language", language).send().await.json();
        assert_eq!(page["items"][0]["body"], body, "{language}");
    }
}

#[actix_web::test]
async fn a_rule_without_an_event_type_runs_once_for_a_change() {
    let fixture = fixture().await;
    let id = deal(&fixture, "D").await;
    settle(&fixture).await;
    fixture.create(RULES, rule("all", "ACTION", "customers.deal")).await;

    let body = json!({"id": id, "ownerUserId": fixture.a.admin});
    assert_eq!(fixture.app.put(&fixture.a.token, DEALS, body).await.0, 200);
    settle(&fixture).await;

    assert_eq!(logs(&fixture).await.len(), 1);
}

#[actix_web::test]
async fn an_effect_beyond_the_features_of_its_rule_fails() {
    let fixture = fixture().await;
    let id = deal(&fixture, "Old").await;
    fixture.create(RULES, describe()).await;
    fixture
        .app
        .sql("update business_rules_rules set effect_features = '{}'")
        .await;

    rename(&fixture, id, "New").await;
    settle(&fixture).await;

    let log = logs(&fixture).await.remove(0);
    let result = &log["outputContext"]["actionsExecuted"]["results"][0];
    assert_eq!(
        (&result["success"], &result["error"]),
        (&json!(false), &json!("missing feature: customers.deals.manage"))
    );
    assert_eq!(stored(&fixture, id).await["description"], Value::Null);
}

#[actix_web::test]
async fn a_rule_of_an_organization_acts_only_there() {
    let fixture = fixture().await;
    let branch = fixture.organization("Branch", None).await;
    fixture
        .create(RULES, with(describe(), json!({"organizationId": branch})))
        .await;
    let own = deal(&fixture, "Old").await;
    let theirs = fixture
        .create(DEALS, json!({"title": "Old", "organizationId": branch}))
        .await;

    rename(&fixture, own, "New").await;
    rename(&fixture, theirs, "New").await;
    settle(&fixture).await;

    assert_eq!(stored(&fixture, own).await["description"], Value::Null);
    assert_eq!(stored(&fixture, theirs).await["description"], "Was Old");
}

#[actix_web::test]
async fn an_execution_of_a_rule_sets_no_field_outside_of_its_organization() {
    let fixture = fixture().await;
    let branch = fixture.organization("Branch", None).await;
    let fields = json!({"organizationId": branch, "successActions": [set("description", json!("By the rule"))]});
    let rule = fixture
        .create(RULES, with(rule("r", "ACTION", "customers.deal"), fields))
        .await;
    let outside = deal(&fixture, "D").await;
    let inside = fixture
        .create(DEALS, json!({"title": "D", "organizationId": branch}))
        .await;
    let execute = async |id: Uuid| {
        let body = json!({"entityType": "customers.deal", "entityId": id});
        let (status, body) = fixture
            .app
            .post(&fixture.a.token, &format!("{EXECUTE}/{rule}"), body)
            .await;
        assert_eq!(status, 200, "{body}");
        body["actionsExecuted"]["results"][0]["error"].clone()
    };

    assert_eq!(execute(outside).await, "entity_not_found");
    assert_eq!(execute(inside).await, Value::Null);

    assert_eq!(stored(&fixture, outside).await["description"], Value::Null);
    assert_eq!(stored(&fixture, inside).await["description"], "By the rule");
}
