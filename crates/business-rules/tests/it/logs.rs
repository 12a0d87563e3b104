//! The log of executions.

use backoffice_test_support::Duration;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{EXECUTE, LOGS, RULES, action, fixture, fixture_with, logs, rule, with};

async fn run(fixture: &backoffice_test_accounts::TwoTenants, entity_id: &str) {
    let input = json!({"entityType": "x.y", "entityId": entity_id});
    assert_eq!(fixture.app.post(&fixture.a.token, EXECUTE, input).await.0, 200);
}

#[actix_web::test]
async fn rul_15_executions_are_filtered() {
    let mut fixture = fixture().await;
    let id = fixture.create(RULES, rule("r1", "ACTION", "x.y")).await;
    run(&fixture, "first").await;
    fixture.app.advance(Duration::days(1));
    fixture.a.token = backoffice_test_accounts::login(&fixture.app, "admin@alpha.test").await;
    run(&fixture, "second").await;
    let found = async |query: &str| {
        let (status, page) = fixture.app.get(&fixture.a.token, &format!("{LOGS}?{query}")).await;
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().into_iter().flatten();
        items
            .map(|item| item["entityId"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let day = fixture.app.now().to_string();
    let day = &day[..10];

    assert_eq!(found("").await, ["second", "first"]);
    assert_eq!(found(&format!("ruleId={id}&entityId=first")).await, ["first"]);
    assert_eq!(
        found(&format!("executedAtFrom={day}&executedAtTo={day}")).await,
        ["second"]
    );
    assert_eq!(found("executionResult=FAILURE").await, Vec::<String>::new());
    assert_eq!(
        found(&format!("executedBy={}&entityType=x.y&sortDir=asc", fixture.a.admin)).await,
        ["first", "second"]
    );
    for query in [
        "ruleId=abc",
        "executionResult=MAYBE",
        "executedBy=me",
        "executedAtFrom=yesterday",
        "sortField=x",
        "pageSize=101",
    ] {
        let (status, _) = fixture.app.get(&fixture.a.token, &format!("{LOGS}?{query}")).await;
        assert_eq!(status, 400, "{query}");
    }
    for (path, query, expected) in [
        (
            LOGS,
            "ruleId=abc&executionResult=MAYBE&executedAtFrom=yesterday&page=0",
            ["executedAtFrom", "executionResult", "page", "ruleId"].as_slice(),
        ),
        (
            "/business_rules/webhook-deliveries",
            "ruleId=abc&status=lost",
            &["ruleId", "status"],
        ),
        (RULES, "tenantId=x&enabled=perhaps", &["enabled", "tenantId"]),
    ] {
        let (status, body) = fixture.app.get(&fixture.a.token, &format!("{path}?{query}")).await;
        let details = body["details"].as_array().expect("details");
        let mut paths: Vec<&str> = details.iter().filter_map(|one| one["path"].as_str()).collect();
        paths.sort_unstable();
        assert_eq!((status, paths.as_slice()), (400, expected), "{query}");
    }
}

#[actix_web::test]
async fn executions_for_a_record_and_by_a_user_are_a_range_of_an_index() {
    let fixture = fixture().await;
    for (column, condition) in [
        ("rule_id", ""),
        ("entity_id", ""),
        ("executed_by", " WHERE (executed_by IS NOT NULL)"),
    ] {
        let index = format!(
            "pg_indexes where tablename = 'business_rules_execution_logs' \
             and indexdef like '%(tenant_id, {column}, executed_at DESC, id DESC){condition}'"
        );

        assert_eq!(fixture.app.count(&index).await, 1, "{column}");
    }
}

#[actix_web::test]
async fn the_rows_of_a_run_together_keep_a_bounded_part_of_it() {
    let fixture = fixture().await;
    let shown = json!({"message": "{{data.text}}"});
    let actions = json!({"successActions": vec![action("SHOW_INFO", shown); 12]});
    for number in 0..8 {
        let body = rule(&format!("r{number}"), "ACTION", "x.y");
        fixture.create(RULES, with(body, actions.clone())).await;
    }

    let input = json!({"entityType": "x.y", "eventType": "checked", "data": {"text": "x".repeat(50_000)}});
    let (status, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;

    assert_eq!(status, 200, "{body}");
    let logged = logs(&fixture).await;
    let kept = |field: &str| {
        let bytes = logged.iter().map(|log| log[field].to_string().len());
        let shortened = logged.iter().filter(|log| log[field]["truncated"] == json!(true));
        (bytes.sum::<usize>() < 270_000, shortened.count())
    };
    assert_eq!((kept("inputContext"), kept("outputContext")), ((true, 3), (true, 3)));
    let last = &logged[7];
    let user = json!({"id": fixture.a.admin, "role": "admin"});
    assert_eq!(
        last["inputContext"],
        json!({"truncated": true, "eventType": "checked", "user": user})
    );
    assert_eq!(
        last["outputContext"],
        json!({"truncated": true, "conditionResult": true})
    );
}

#[actix_web::test]
async fn rul_15_an_execution_of_another_tenant_is_missing() {
    let fixture = fixture().await;
    let id = fixture.create(RULES, rule("r1", "ACTION", "x.y")).await;
    run(&fixture, "first").await;
    let log = logs(&fixture).await.remove(0);
    let path = format!("{LOGS}/{}", log["id"].as_str().unwrap_or_default());

    let (status, detail) = fixture.app.get(&fixture.a.token, &path).await;

    assert_eq!(status, 200);
    let expected = json!({"id": id, "ruleId": "r1", "ruleName": "Rule r1", "ruleType": "ACTION", "entityType": "x.y"});
    assert_eq!((&detail["rule"], &detail["entityId"]), (&expected, &json!("first")));
    assert_eq!(fixture.app.get(&fixture.b.token, &path).await.0, 404);
    assert_eq!(
        fixture
            .app
            .get(&fixture.a.token, &format!("{LOGS}/{}", Uuid::from_u128(1)))
            .await
            .0,
        404
    );
    assert_eq!(fixture.app.get(&fixture.a.token, &format!("{LOGS}/x")).await.0, 400);
}

#[actix_web::test]
async fn executions_of_rules_of_the_whole_tenant_need_the_whole_tenant() {
    let fixture = fixture().await;
    fixture
        .create(
            RULES,
            with(rule("r1", "ACTION", "x.y"), json!({"organizationId": null})),
        )
        .await;
    run(&fixture, "first").await;
    fixture
        .role("Local", &["business_rules.*"], Some(&[fixture.a.organization]))
        .await;
    let (_, local) = fixture.user("local@alpha.test", &["Local"]).await;

    let (_, page) = fixture.app.get(&local, LOGS).await;

    assert_eq!(page["total"], 0);
}

#[actix_web::test]
async fn executions_outlive_their_rule_and_the_runs_until_their_retention_ends() {
    let fixture = fixture_with("[business_rules]\nlog_retention = \"30d\"\n").await;
    let id = fixture.create(RULES, rule("r1", "ACTION", "x.y")).await;
    run(&fixture, "first").await;
    let path = format!("{RULES}?id={id}");
    assert_eq!(fixture.app.delete(&fixture.a.token, &path, Value::Null).await.0, 200);
    assert_eq!(logs(&fixture).await.len(), 1);
    let rows = async || {
        let counts = "select (select count(*) from business_rules_execution_logs)::int as logs, (select count(*) from business_rules_runs)::int as runs";
        fixture.app.rows(counts).await.remove(0)
    };
    let enqueue = async || {
        backoffice_core::jobs::enqueue_due(fixture.app.system_context().call())
            .await
            .expect("enqueued");
        fixture.app.run_jobs().await;
    };

    enqueue().await;
    fixture.app.advance(Duration::days(29));
    enqueue().await;
    assert_eq!(rows().await, json!({"logs": 1, "runs": 1}));
    fixture.app.advance(Duration::days(2));
    enqueue().await;

    let expected = json!({"logs": 1, "runs": 0});
    assert_eq!(rows().await, expected, "the log ends with its month");
}
