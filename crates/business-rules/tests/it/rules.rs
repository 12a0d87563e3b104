//! Definitions of rules.

use backoffice_test_accounts::ORGANIZATIONS;
use backoffice_test_support::details;
use serde_json::{Value, json};

use crate::fixture::{RULES, action, condition, fixture, message, rule, with};

#[actix_web::test]
async fn rul_1_a_key_is_unique_and_an_undone_deletion_needs_it() {
    let fixture = fixture().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let first = fixture.create(RULES, rule("r1", "ACTION", "x.y")).await;

    let taken = app.post(token, RULES, rule("r1", "ACTION", "x.y")).await;
    let expected = json!({"error": "Rule id is taken already", "code": "rule_id_taken"});
    assert_eq!(taken, (409, expected));

    let path = format!("{RULES}?id={first}");
    let deleted = app
        .send(token, actix_web::http::Method::DELETE, &path, Value::Null)
        .await;
    assert_eq!(deleted.status, 200);
    fixture.create(RULES, rule("r1", "ACTION", "x.y")).await;

    let (status, body) = app.undo(token, &deleted).await;
    assert_eq!(status, 400, "{body}");
}

#[actix_web::test]
async fn a_rule_is_read_as_it_was_written() {
    let fixture = fixture().await;
    let body = with(
        rule("r1", "VALIDATION", "customers.deal"),
        json!({
            "description": "Why", "ruleCategory": "sales", "eventType": "updated", "priority": 7, "enabled": false,
            "conditionExpression": condition("title", "=", json!("x")),
            "successActions": [message("SHOW_INFO", "Hello")], "failureActions": [],
            "effectiveFrom": "2026-01-01T00:00:00Z", "effectiveTo": null,
        }),
    );
    let id = fixture.create(RULES, body.clone()).await;

    let (status, read) = fixture.app.get(&fixture.a.token, &format!("{RULES}/{id}")).await;

    assert_eq!(
        (status, &read["ruleId"], &read["version"]),
        (200, &json!("r1"), &json!(1))
    );
    for field in [
        "ruleName",
        "ruleType",
        "description",
        "ruleCategory",
        "entityType",
        "eventType",
        "priority",
        "enabled",
    ] {
        assert_eq!(read[field], body[field], "{field}");
    }
    assert_eq!(read["conditionExpression"], body["conditionExpression"]);
    assert_eq!(read["successActions"], body["successActions"]);
    assert_eq!(read["organizationId"], json!(fixture.a.organization));
    assert_eq!(read["createdBy"], json!(fixture.a.admin));
    let (_, page) = fixture.app.get(&fixture.a.token, RULES).await;
    let item = &page["items"][0];
    assert_eq!((&item["id"], &item["conditionExpression"]), (&json!(id), &Value::Null));
    assert!(item.get("conditionExpression").is_none() && item.get("successActions").is_none());
}

#[actix_web::test]
async fn an_update_changes_only_the_given_fields_and_counts() {
    let fixture = fixture().await;
    let id = fixture
        .create(RULES, with(rule("r1", "ACTION", "x.y"), json!({"description": "Why"})))
        .await;
    let put = async |body: Value| fixture.app.put(&fixture.a.token, RULES, body).await;

    assert_eq!(
        put(json!({"id": id, "ruleName": "Other", "description": null})).await.0,
        200
    );
    assert_eq!(put(json!({"id": id, "ruleName": "Other"})).await.0, 200);

    let (_, read) = fixture.app.get(&fixture.a.token, &format!("{RULES}/{id}")).await;
    assert_eq!(
        (&read["ruleName"], &read["description"]),
        (&json!("Other"), &Value::Null)
    );
    assert_eq!((&read["ruleId"], &read["version"]), (&json!("r1"), &json!(2)));
}

#[actix_web::test]
async fn everything_that_is_wrong_with_a_rule_is_reported() {
    let fixture = fixture().await;
    let body = json!({
        "ruleId": " ", "ruleName": "x".repeat(201), "ruleType": "GUARD", "entityType": "customers.deal", "priority": 10000,
        "conditionExpression": {"operator": "AND", "rules": [{"field": "a b", "operator": "="}]},
        "successActions": [
            {"type": "EXPLODE"}, {"type": "NOTIFY", "config": {"message": "m", "recipients": ["nobody"]}},
            action("SET_FIELD", json!({"field": "title", "value": "x"})), action("CALL_WEBHOOK", json!({"url": "https://10.0.0.1/"})),
            action("CALL_PLATFORM", json!({})), action("EMIT_EVENT", json!({"eventName": "customers.deal.updated"})),
        ],
        "failureActions": [action("SHOW_ERROR", json!({}))],
        "effectiveFrom": "2026-01-02T00:00:00Z", "effectiveTo": "2026-01-02T00:00:00Z",
    });

    let (status, body) = fixture.app.post(&fixture.a.token, RULES, body).await;

    assert_eq!((status, &body["error"]), (400, &json!("Validation failed")), "{body}");
    let expected = [
        ("conditionExpression.rules[0].field", "invalid_value"),
        ("conditionExpression.rules[0].value", "required"),
        ("effectiveTo", "out_of_range"),
        ("failureActions[0].config.message", "required"),
        ("priority", "out_of_range"),
        ("ruleId", "required"),
        ("ruleName", "too_long"),
        ("successActions[0].type", "invalid_value"),
        ("successActions[1].config.recipients[0]", "invalid_value"),
        ("successActions[2].type", "invalid_value"),
        ("successActions[3].config.url", "invalid_value"),
        ("successActions[4].config.apiKeyId", "required"),
        ("successActions[4].config.endpoint", "required"),
        ("successActions[4].config.method", "required"),
        ("successActions[5].config.eventName", "invalid_value"),
    ];
    let mut found = details(&body);
    found.sort_unstable();
    assert_eq!(found, expected);
}

/// Returns a rule with two groups of comparisons with patterns, of which the first one has 25.
fn with_patterns(number: usize) -> Value {
    let group =
        |number: usize| json!({"operator": "OR", "rules": vec![condition("a", "MATCHES", json!("x$")); number]});
    let fields = json!({"conditionExpression": {"operator": "AND", "rules": [group(25), group(number - 25)]}});
    with(rule("r1", "ACTION", "x.y"), fields)
}

#[actix_web::test]
async fn a_condition_has_at_most_fifty_patterns_and_a_stored_one_with_more_works() {
    let fixture = fixture().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let too_many = vec![("conditionExpression", "out_of_range")];

    let (status, body) = app.post(token, RULES, with_patterns(51)).await;

    assert_eq!((status, details(&body)), (400, too_many.clone()));
    let id = fixture.create(RULES, with_patterns(50)).await;
    // As an earlier release could store it.
    let first = "condition_expression #> '{rules,0,rules}'";
    let more = format!(
        "update business_rules_rules set condition_expression = jsonb_set(condition_expression, '{{rules,0,rules}}', ({first}) || ({first}))"
    );
    assert_eq!(app.sql(&more).await, 1);

    let input = json!({"entityType": "x.y", "data": {"a": "abx"}});
    let (_, executed) = app.post(token, "/business_rules/execute", input).await;
    let renamed = app.put(token, RULES, json!({"id": id, "ruleName": "Other"})).await;
    let (_, read) = app.get(token, &format!("{RULES}/{id}")).await;
    let body = json!({"id": id, "conditionExpression": read["conditionExpression"]});
    let (status, rejected) = app.put(token, RULES, body).await;

    assert_eq!(executed["executedRules"][0]["conditionResult"], true, "{executed}");
    assert_eq!(renamed.0, 200, "{}", renamed.1);
    assert_eq!((status, details(&rejected)), (400, too_many));
}

#[actix_web::test]
async fn an_update_is_checked_with_what_is_stored() {
    let fixture = fixture().await;
    let set = json!({"successActions": [action("SET_FIELD", json!({"field": "title", "value": "x"}))]});
    let id = fixture
        .create(RULES, with(rule("r1", "ACTION", "customers.deal"), set))
        .await;

    for change in [json!({"ruleType": "GUARD"}), json!({"entityType": "x.y"})] {
        let (status, body) = fixture
            .app
            .put(&fixture.a.token, RULES, with(json!({"id": id}), change))
            .await;
        assert_eq!((status, &body["error"]), (400, &json!("Validation failed")), "{body}");
    }
}

#[actix_web::test]
async fn only_writable_fields_are_set() {
    let fixture = fixture().await;
    for field in ["closedAt", "organizationId", "nothing"] {
        let set = json!({"successActions": [action("SET_FIELD", json!({"field": field, "value": null}))]});
        let body = with(rule("r1", "ACTION", "customers.deal"), set);
        let (status, body) = fixture.app.post(&fixture.a.token, RULES, body).await;
        assert_eq!(
            (status, details(&body)),
            (400, vec![("successActions[0].config.field", "invalid_value")])
        );
    }
}

#[actix_web::test]
async fn rul_13_an_editor_needs_the_features_of_the_effects() {
    let fixture = fixture().await;
    fixture.role("Editor", &["business_rules.*"], None).await;
    let (_, editor) = fixture.user("editor@alpha.test", &["Editor"]).await;
    let set = json!({"organizationId": null, "successActions": [action("SET_FIELD", json!({"field": "title", "value": "x"}))]});
    let body = with(rule("r1", "ACTION", "customers.deal"), set);

    let rejected = fixture.app.post(&editor, RULES, body.clone()).await;

    let expected = json!({"error": "Forbidden", "requiredFeatures": ["customers.deals.manage"]});
    assert_eq!(rejected, (403, expected));
    let id = fixture.create(RULES, body).await;
    let (_, read) = fixture.app.get(&fixture.a.token, &format!("{RULES}/{id}")).await;
    assert_eq!(read["effectFeatures"], json!(["customers.deals.manage"]));
}

#[actix_web::test]
async fn a_rule_of_the_whole_tenant_needs_the_whole_tenant() {
    let fixture = fixture().await;
    let branch = fixture.organization("Branch", None).await;
    fixture.role("Local", &["business_rules.*"], Some(&[branch])).await;
    let (_, local) = fixture.user("local@alpha.test", &["Local"]).await;
    let whole = fixture
        .create(
            RULES,
            with(rule("r1", "ACTION", "x.y"), json!({"organizationId": null})),
        )
        .await;

    let body = with(rule("r2", "ACTION", "x.y"), json!({"organizationId": null}));
    assert_eq!(fixture.app.post(&local, RULES, body).await.0, 403);
    assert_eq!(fixture.app.get(&local, &format!("{RULES}/{whole}")).await.0, 404);
    let body = with(rule("r2", "ACTION", "x.y"), json!({"organizationId": branch}));
    assert_eq!(fixture.app.post(&local, RULES, body).await.0, 201);
}

#[actix_web::test]
async fn rul_15_rules_are_filtered() {
    let fixture = fixture().await;
    fixture.create(RULES, rule("on", "ACTION", "x.y")).await;
    fixture
        .create(RULES, with(rule("off", "GUARD", "x.z"), json!({"enabled": false})))
        .await;
    let keys = async |query: &str| {
        let (status, page) = fixture.app.get(&fixture.a.token, &format!("{RULES}?{query}")).await;
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().into_iter().flatten();
        items
            .map(|item| item["ruleId"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };

    assert_eq!(keys("enabled=false").await, ["off"]);
    assert_eq!(keys("enabled=1").await, ["on"]);
    assert_eq!(keys("ruleType=GUARD&entityType=x.z").await, ["off"]);
    assert_eq!(keys("ruleId=on").await, ["on"]);
    assert_eq!(keys("search=RULE&sortField=ruleId&sortDir=desc").await, ["on", "off"]);
    let (status, body) = fixture
        .app
        .get(&fixture.a.token, &format!("{RULES}?enabled=maybe&ruleType=x"))
        .await;
    assert_eq!(status, 400);
    assert_eq!(
        details(&body),
        [("ruleType", "invalid_value"), ("enabled", "invalid_value")]
    );
}

#[actix_web::test]
async fn a_kind_of_records_has_a_hundred_enabled_rules() {
    let fixture = crate::fixture::fixture_with("[business_rules]\nmax_rules = 2\n").await;
    fixture.create(RULES, rule("r1", "ACTION", "x.y")).await;
    fixture.create(RULES, rule("r2", "ACTION", "x.y")).await;
    fixture.create(RULES, rule("r3", "ACTION", "x.z")).await;
    let off = fixture
        .create(RULES, with(rule("r4", "ACTION", "x.y"), json!({"enabled": false})))
        .await;

    for (method, body) in [
        ("POST", rule("r5", "ACTION", "x.y")),
        ("PUT", json!({"id": off, "enabled": true})),
    ] {
        let (status, body) = match method {
            "POST" => fixture.app.post(&fixture.a.token, RULES, body).await,
            _ => fixture.app.put(&fixture.a.token, RULES, body).await,
        };
        assert_eq!((status, &body["code"]), (400, &json!("rule_limit_reached")), "{body}");
    }
}

#[actix_web::test]
async fn another_tenant_and_another_organization_cannot_see_a_rule() {
    let fixture = fixture().await;
    let id = fixture.create(RULES, rule("r1", "ACTION", "x.y")).await;
    let branch = fixture.organization("Branch", None).await;
    fixture.role("Local", &["business_rules.*"], Some(&[branch])).await;
    let (_, local) = fixture.user("local@alpha.test", &["Local"]).await;

    for token in [&fixture.b.token, &local] {
        let (found, _) = fixture.app.get(token, &format!("{RULES}/{id}")).await;
        let (_, page) = fixture.app.get(token, RULES).await;
        let (executed, _) = fixture
            .app
            .post(token, &format!("/business_rules/execute/{id}"), json!({}))
            .await;
        assert_eq!((found, &page["total"], executed), (404, &json!(0), 404));
    }
}

#[actix_web::test]
async fn employees_have_no_features_of_rules() {
    let fixture = fixture().await;
    let (_, employee) = fixture.user("employee@alpha.test", &["employee"]).await;
    for (path, feature) in [
        (RULES, "business_rules.view"),
        ("/business_rules/sets", "business_rules.view"),
        ("/business_rules/logs", "business_rules.view_logs"),
        ("/business_rules/entity-types", "business_rules.view"),
    ] {
        let rejected = fixture.app.get(&employee, path).await;
        assert_eq!(
            rejected,
            (403, json!({"error": "Forbidden", "requiredFeatures": [feature]}))
        );
    }
}

#[actix_web::test]
async fn an_organization_with_rules_or_sets_cannot_be_deleted() {
    let fixture = fixture().await;
    let delete = async |path: &str| fixture.app.delete(&fixture.a.token, path, Value::Null).await;
    for (path, body) in [
        (RULES, rule("r1", "ACTION", "x.y")),
        ("/business_rules/sets", json!({"setId": "s1", "setName": "Set"})),
    ] {
        let branch = fixture.organization("Branch", None).await;
        let id = fixture
            .create(path, with(body, json!({"organizationId": branch})))
            .await;

        let rejected = delete(&format!("{ORGANIZATIONS}?id={branch}")).await;

        let expected = json!({"error": "Organization is in use", "code": "organization_in_use"});
        assert_eq!(rejected, (409, expected));
        assert_eq!(delete(&format!("{path}?id={id}")).await.0, 200);
        assert_eq!(delete(&format!("{ORGANIZATIONS}?id={branch}")).await.0, 200);
    }
}

#[actix_web::test]
async fn entity_types_are_the_kinds_that_modules_offer() {
    let fixture = fixture().await;

    let (status, body) = fixture.app.get(&fixture.a.token, "/business_rules/entity-types").await;

    assert_eq!(status, 200);
    let items = body["items"].as_array().cloned().unwrap_or_default();
    let kinds: Vec<&Value> = items.iter().map(|item| &item["entityType"]).collect();
    assert_eq!(
        kinds,
        [
            "catalog.product",
            "customers.company",
            "customers.deal",
            "customers.person",
            "customers.pipeline",
            "customers.pipeline_stage",
            "directory.organization"
        ]
    );
    let events = [
        "created",
        "updated",
        "deleted",
        "undone",
        "redone",
        "owner_assigned",
        "stage_changed",
    ];
    assert_eq!(items[2]["events"], json!(events));
    let fields = items[2]["fields"].as_array().cloned().unwrap_or_default();
    assert!(fields.contains(&json!({"path": "title", "type": "text", "writable": true})));
    assert!(fields.contains(&json!({"path": "closedAt", "type": "time", "writable": false})));
}
