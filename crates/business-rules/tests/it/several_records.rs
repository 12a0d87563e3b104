//! Rules for the further records that a command changes: the stages of a pipeline, which are reordered together.

use actix_web::http::Method;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
use backoffice_test_support::{REDO, TestApp, TestResponse, UNDO, UndoableWrite};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::events::settle;
use crate::fixture::{MODULES, RULES, action, condition, fixture, logs, message, rule, with};
use crate::recipients::{crowd, notify};

const STAGES: &str = "/customers/pipeline-stages";
const STAGE: &str = "customers.pipeline_stage";

/// A pipeline and its stages.
struct Pipeline {
    id: Uuid,
    stages: Vec<Uuid>,
}

impl Pipeline {
    async fn with_stages(fixture: &TwoTenants, labels: &[&str]) -> Self {
        let name = json!({"name": format!("{} stages", labels.len())});
        let id = fixture.create("/customers/pipelines", name).await;
        let mut stages = Vec::with_capacity(labels.len());
        for label in labels {
            let body = json!({"pipelineId": id, "label": label});
            stages.push(fixture.create(STAGES, body).await);
        }
        Self { id, stages }
    }

    /// Reverses the order that the pipeline was created with.
    async fn reverse(&self, fixture: &TwoTenants) -> TestResponse {
        let ids: Vec<&Uuid> = self.stages.iter().rev().collect();
        self.reorder(fixture, json!(ids)).await
    }

    async fn reorder(&self, fixture: &TwoTenants, ids: Value) -> TestResponse {
        let request = fixture.app.request(Method::POST, &format!("{STAGES}/reorder"));
        let request = request.bearer(&fixture.a.token).responded_by_interceptor();
        request.json(&json!({"pipelineId": self.id, "ids": ids})).send().await
    }

    /// Returns the labels of the stages in their order.
    async fn labels(&self, fixture: &TwoTenants) -> Vec<Value> {
        let path = format!("{STAGES}?pipelineId={}", self.id);
        let page = fixture.app.read(&fixture.a.token, &path).await;
        let items = page["items"].as_array().expect("a list").iter();
        items.map(|item| item["label"].clone()).collect()
    }
}

/// A rule that rejects one change of the stage `Kept`.
fn keep(event_type: &str) -> Value {
    let fields = json!({
        "eventType": event_type, "conditionExpression": condition("label", "!=", json!("Kept")),
        "failureActions": [message("SHOW_ERROR", "{{label}} stays behind {{_before.position}}")],
    });
    with(rule(event_type, "GUARD", STAGE), fields)
}

async fn undo(fixture: &TwoTenants, write: &UndoableWrite) -> TestResponse {
    let request = fixture.app.request(Method::POST, UNDO).bearer(&fixture.a.token);
    let request = request.json(&json!({"undoToken": write.token}));
    request.responded_by_interceptor().send().await
}

async fn redo(fixture: &TwoTenants, write: &UndoableWrite) -> TestResponse {
    let request = fixture.app.request(Method::POST, REDO).bearer(&fixture.a.token);
    let request = request.json(&json!({"logId": write.log_id}));
    request.responded_by_interceptor().send().await
}

/// Returns the messages in the header of a response.
fn messages(response: &TestResponse) -> Value {
    let header = response.header("X-Rule-Messages").expect("messages");
    let parsed: Vec<(String, String)> = url::form_urlencoded::parse(format!("m={header}").as_bytes())
        .into_owned()
        .collect();
    serde_json::from_str(&parsed[0].1).expect("JSON")
}

#[actix_web::test]
async fn a_further_record_is_validated_when_it_is_changed_undone_and_redone() {
    let fixture = fixture().await;
    let pipeline = Pipeline::with_stages(&fixture, &["First", "Second", "Kept"]).await;
    let (before, after) = (["First", "Second", "Kept"], ["Kept", "Second", "First"]);
    let disable = async |rule: Uuid| {
        let body = json!({"id": rule, "enabled": false});
        assert_eq!(fixture.app.put(&fixture.a.token, RULES, body).await.0, 200);
    };
    let updated = fixture.create(RULES, keep("updated")).await;

    let blocked = pipeline.reverse(&fixture).await;

    assert_eq!(
        (blocked.status, &blocked.json()["error"]),
        (422, &json!("Kept stays behind 3"))
    );
    assert_eq!(pipeline.labels(&fixture).await, before);
    let log = logs(&fixture).await.remove(0);
    assert_eq!(
        (&log["entityId"], &log["entityType"]),
        (&json!(pipeline.stages[2]), &json!(STAGE))
    );
    assert_eq!(log["inputContext"]["data"]["_changed"], json!(["position"]));

    disable(updated).await;
    let reordered = pipeline.reverse(&fixture).await;
    assert_eq!(reordered.status, 200);
    let write = reordered.undoable_write();
    let undone = fixture.create(RULES, keep("undone")).await;
    assert_eq!(undo(&fixture, &write).await.status, 422);
    assert_eq!(pipeline.labels(&fixture).await, after);

    disable(undone).await;
    assert_eq!(undo(&fixture, &write).await.status, 200);
    let redone = fixture.create(RULES, keep("redone")).await;
    assert_eq!(redo(&fixture, &write).await.status, 422);
    assert_eq!(pipeline.labels(&fixture).await, before);

    disable(redone).await;
    assert_eq!(redo(&fixture, &write).await.status, 200);
    assert_eq!(pipeline.labels(&fixture).await, after);
    assert_eq!(logs(&fixture).await.len(), 3);
}

#[actix_web::test]
async fn a_record_that_does_not_change_is_not_validated() {
    let fixture = fixture().await;
    let pipeline = Pipeline::with_stages(&fixture, &["Kept", "Second", "Third"]).await;
    fixture.create(RULES, keep("updated")).await;
    let [kept, second, third] = pipeline.stages[..] else {
        panic!("three stages")
    };

    let reordered = pipeline.reorder(&fixture, json!([kept, third, second])).await;

    assert_eq!(reordered.status, 200, "{}", reordered.text());
}

#[actix_web::test]
async fn the_messages_about_all_records_are_in_one_header() {
    let fixture = fixture().await;
    let pipeline = Pipeline::with_stages(&fixture, &["First", "Second", "Third"]).await;
    let fields = json!({"successActions": [
        message("SHOW_WARNING", "{{label}} moves"),
        message("SHOW_INFO", "The order changes"),
    ]});
    fixture
        .create(RULES, with(rule("moves", "VALIDATION", STAGE), fields))
        .await;

    let reordered = pipeline.reverse(&fixture).await;

    assert_eq!(reordered.status, 200, "{}", reordered.text());
    let message = |level: &str, text: &str| json!({"level": level, "message": text, "ruleId": "moves"});
    assert_eq!(
        messages(&reordered),
        json!([
            message("warning", "First moves"),
            message("info", "The order changes"),
            message("warning", "Third moves"),
        ])
    );
}

#[actix_web::test]
async fn what_rules_do_for_other_records_of_a_blocked_command_remains() {
    let fixture = fixture().await;
    let pipeline = Pipeline::with_stages(&fixture, &["First", "Second", "Kept"]).await;
    let actions = json!([action("EMIT_EVENT", json!({"eventName": "own.moved"}))]);
    let announce = json!({"priority": 200, "eventType": "updated", "successActions": actions});
    fixture
        .create(RULES, with(rule("announce", "VALIDATION", STAGE), announce))
        .await;
    fixture.create(RULES, keep("updated")).await;

    assert_eq!(pipeline.reverse(&fixture).await.status, 422);

    let logged: Vec<(Value, Value)> = logs(&fixture)
        .await
        .iter()
        .map(|log| (log["entityId"].clone(), log["ruleName"].clone()))
        .collect();
    let (first, kept) = (json!(pipeline.stages[0]), json!(pipeline.stages[2]));
    assert_eq!(
        logged,
        [
            (first, json!("Rule announce")),
            (kept.clone(), json!("Rule announce")),
            (kept, json!("Rule updated")),
        ]
    );
    assert_eq!(
        fixture.app.count("core_outbox_events where name = 'own.moved'").await,
        2
    );
}

#[actix_web::test]
async fn an_event_about_a_further_record_starts_rules_with_its_own_data() {
    let fixture = fixture().await;
    let pipeline = Pipeline::with_stages(&fixture, &["First", "Second", "Third"]).await;
    settle(&fixture).await;
    let set = json!({"field": "label", "value": "{{label}}, once {{_before.position}}"});
    let fields = json!({
        "eventType": "updated", "conditionExpression": condition("_changed", "CONTAINS", json!("position")),
        "successActions": [action("SET_FIELD", set)],
    });
    fixture
        .create(RULES, with(rule("describe", "ACTION", STAGE), fields))
        .await;

    assert_eq!(pipeline.reverse(&fixture).await.status, 200);
    settle(&fixture).await;

    assert_eq!(
        pipeline.labels(&fixture).await,
        ["Third, once 3", "Second", "First, once 1"]
    );
    let logs = logs(&fixture).await;
    assert!(
        logs.iter()
            .all(|log| log["entityId"] == log["inputContext"]["data"]["id"])
    );
    let changed: Vec<&Value> = logs
        .iter()
        .map(|log| &log["inputContext"]["data"]["_changed"])
        .collect();
    // The changes by the rule start it again, but no position has changed then.
    let (moved, labelled) = (json!(["position"]), json!(["label"]));
    assert_eq!(changed, [&moved, &moved, &labelled, &labelled]);
}

#[actix_web::test]
async fn what_rules_need_is_read_once_for_all_records() {
    let app = TestApp::builder(&MODULES).config(CONFIG).config(NO_LIMITS);
    let fixture = TwoTenants::inside(app.through_proxy().pool_size(1).build().await).await;
    let few = Pipeline::with_stages(&fixture, &["A", "B"]).await;
    let labels: Vec<String> = (0..20).map(|number| format!("S{number}")).collect();
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let many = Pipeline::with_stages(&fixture, &labels).await;
    let rejected = json!({"operator": "NOT", "rules": [
        condition("label", "=", json!("{{user.email}}")), condition("label", "=", json!("{{localToday}}")),
    ]});
    // What it leaves is written once, too.
    let fields = json!({"conditionExpression": rejected, "successActions": [notify("admin@alpha.test")]});
    fixture.create(RULES, with(rule("facts", "GUARD", STAGE), fields)).await;
    let count = async |pipeline: &Pipeline| {
        let (reordered, statements) = fixture.app.count_statements(pipeline.reverse(&fixture)).await;
        assert_eq!(reordered.status, 200, "{}", reordered.text());
        let write = reordered.undoable_write();
        let (undone, of_undo) = fixture.app.count_statements(undo(&fixture, &write)).await;
        assert_eq!(undone.status, 200, "{}", undone.text());
        (statements, of_undo)
    };
    // The connection prepares its statements.
    count(&few).await;

    assert_eq!(count(&few).await, count(&many).await);
}

#[actix_web::test]
async fn the_records_of_a_command_share_the_recipients_of_a_run() {
    let fixture = fixture().await;
    crowd(&fixture).await;
    let pipeline = Pipeline::with_stages(&fixture, &["First", "Second"]).await;
    let fields = json!({"eventType": "updated", "successActions": vec![notify("role:Crowd"); 6]});
    fixture.create(RULES, with(rule("r1", "GUARD", STAGE), fields)).await;

    let reordered = pipeline.reverse(&fixture).await;

    assert_eq!(reordered.status, 200, "{}", reordered.text());
    let logged = logs(&fixture).await;
    let results = logged.iter().flat_map(|log| {
        let results = log["outputContext"]["actionsExecuted"]["results"].as_array();
        results.into_iter().flatten()
    });
    let errors: Vec<&Value> = results.map(|result| &result["error"]).collect();
    let too_many = json!("too_many_recipients");
    assert_eq!(errors.len(), 12);
    assert_eq!(errors.iter().filter(|error| ***error == too_many).count(), 2);
    assert_eq!(fixture.app.count("notifications_notifications").await, 10_000);
}
