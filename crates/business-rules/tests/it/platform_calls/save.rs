//! What is checked when a rule that calls the platform is saved.

use actix_web::http::Method;
use backoffice_test_support::details;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{KEYS, call, calling, catalog_key, key, product};
use crate::fixture::{RULES, action, fixture, rule, with};

#[actix_web::test]
async fn rul_14_an_endpoint_outside_of_the_list_is_rejected() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    for endpoint in [
        "POST /access/users",
        "POST /auth/users",
        "GET /api_keys/keys",
        "POST /business_rules/execute",
        "GET /audit_logs/audit-logs/actions",
        "GET /customers/deals/{id}",
        "PATCH /catalog/products",
        "POST /catalog/nothing",
        "POST /api/catalog/products",
    ] {
        let actions = json!([{"type": "SHOW_INFO", "config": {"message": "m"}}, call(endpoint, key, Value::Null)]);
        let body = with(
            rule("r", "ACTION", "customers.deal"),
            json!({"failureActions": actions}),
        );
        let (status, body) = fixture.app.post(&fixture.a.token, RULES, body).await;

        assert_eq!(status, 400, "{endpoint}: {body}");
        let error = body["error"].as_str().unwrap_or_default();
        assert!(error.starts_with("Action 2: endpoint"), "{endpoint}: {body}");
        let expected = [("failureActions[1].config.endpoint", "unknown_reference")];
        assert_eq!(details(&body), expected, "{endpoint}");
    }
    fixture.create(RULES, calling("ACTION", &product(key))).await;
}

#[actix_web::test]
async fn an_editor_needs_the_feature_to_create_keys() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    let features = ["business_rules.*", "catalog.*", "customers.*"];
    let role = fixture.role("Editor", &features, None).await;
    let (_, editor) = fixture.user("editor@alpha.test", &["Editor"]).await;
    let body = calling("ACTION", &product(key));

    let (status, rejected) = fixture.app.post(&editor, RULES, body.clone()).await;
    assert_eq!(
        (status, &rejected["requiredFeatures"]),
        (403, &json!(["api_keys.create"]))
    );

    let id = fixture.create(RULES, body.clone()).await;
    let change = json!({"id": id, "ruleName": "Other"});
    assert_eq!(fixture.app.put(&editor, RULES, change.clone()).await.0, 403);
    let features = [&features[..], &["api_keys.create"]].concat();
    fixture.acl(role, &features, None).await;
    assert_eq!(fixture.app.put(&editor, RULES, change).await.0, 200);
    let (_, stored) = fixture.app.get(&editor, &format!("{RULES}/{id}")).await;
    assert_eq!(stored["effectFeatures"], json!(["api_keys.create"]));
}

#[actix_web::test]
async fn undo_and_redo_bring_back_no_call_that_their_caller_could_not_save() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    let features = ["business_rules.*", "api_keys.create", "audit_logs.*"];
    let role = fixture.role("Editor", &features, None).await;
    let (_, editor) = fixture.user("editor@alpha.test", &["Editor"]).await;
    let (app, admin) = (&fixture.app, &fixture.a.token);
    let id = fixture.create(RULES, calling("ACTION", &product(key))).await;
    let update = async |actions: Value| {
        let body = json!({"id": id, "successActions": actions});
        let updated = app.send(admin, Method::PUT, RULES, body).await;
        assert_eq!(updated.status, 200, "{}", updated.text());
        updated
    };
    let removed = update(json!([])).await;

    let (status, body) = app.undo(&editor, &removed).await;
    assert_eq!((status, details(&body)), (400, unusable_key()), "{body}");
    assert_eq!(app.undo(admin, &removed).await.0, 200);
    update(json!([])).await;
    let added = update(json!([product(key)])).await;
    assert_eq!(app.undo(admin, &added).await.0, 200);
    let (status, body) = app.redo(&editor, &added).await;
    assert_eq!((status, details(&body)), (400, unusable_key()), "{body}");
    let path = format!("{RULES}?id={id}");
    assert_eq!(app.redo(admin, &added).await.0, 200);
    let deleted = app.send(admin, Method::DELETE, &path, Value::Null).await;
    let (status, body) = app.undo(&editor, &deleted).await;
    assert_eq!((status, details(&body)), (400, unusable_key()), "{body}");

    let features = [&features[..], &["catalog.*"]].concat();
    fixture.acl(role, &features, None).await;
    assert_eq!(app.undo(&editor, &deleted).await.0, 200);
}

fn unusable_key() -> Vec<(&'static str, &'static str)> {
    vec![("successActions[0].config.apiKeyId", "unknown_reference")]
}

#[actix_web::test]
async fn a_key_that_is_not_in_the_list_is_rejected() {
    let fixture = fixture().await;
    let body = json!({"name": "Beta", "roles": ["admin"], "organizationId": null});
    let (_, foreign) = fixture.app.post(&fixture.b.token, KEYS, body).await;
    let foreign: Uuid = foreign["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    let (_, revoked) = catalog_key(&fixture).await;
    let path = format!("{KEYS}?id={revoked}");
    assert_eq!(fixture.app.delete(&fixture.a.token, &path, Value::Null).await.0, 200);
    let expired = key(&fixture, "Catalog", None).await;
    let sql = format!("update api_keys_keys set expires_at = '2026-11-20T07:00:00Z' where id = '{expired}'");
    fixture.app.sql(&sql).await;
    fixture
        .role("Maker", &["business_rules.*", "api_keys.create"], None)
        .await;
    let (_, maker) = fixture.user("maker@alpha.test", &["Maker"]).await;
    let wide = key(&fixture, "Catalog", None).await;
    let admin = &fixture.a.token;
    for (token, key) in [
        (admin, Uuid::from_u128(7)),
        (admin, foreign),
        (admin, revoked),
        (admin, expired),
        (&maker, wide),
    ] {
        let (status, body) = fixture.app.post(token, RULES, calling("GUARD", &product(key))).await;

        assert_eq!(status, 400, "{body}");
        assert_eq!(
            details(&body),
            [("successActions[0].config.apiKeyId", "unknown_reference")]
        );
        assert!(
            body["error"]
                .as_str()
                .unwrap_or_default()
                .starts_with("Action 1: apiKeyId")
        );
    }
    fixture.create(RULES, calling("GUARD", &product(wide))).await;
}

#[actix_web::test]
async fn a_key_of_another_organization_is_rejected() {
    let fixture = fixture().await;
    fixture.role("Catalog", &["catalog.*"], None).await;
    let branch = fixture.organization("Branch", None).await;
    let below = fixture.organization("Below", Some(branch)).await;
    let own = key(&fixture, "Catalog", Some(fixture.a.organization)).await;
    let of_branch = key(&fixture, "Catalog", Some(branch)).await;
    let rule = |key: Uuid, number: u32, organization: Option<Uuid>| {
        let fields = json!({"ruleId": format!("r{number}"), "organizationId": organization});
        with(calling("ACTION", &product(key)), fields)
    };

    for (number, (key, organization, expected)) in (0..).zip([
        (of_branch, Some(fixture.a.organization), 400),
        (own, Some(below), 400),
        (of_branch, Some(below), 201),
        (of_branch, Some(branch), 201),
        (own, None, 201),
    ]) {
        let body = rule(key, number, organization);
        let (status, body) = fixture.app.post(&fixture.a.token, RULES, body).await;
        assert_eq!(status, expected, "{number}: {body}");
    }
    let request = fixture.app.request(Method::POST, RULES);
    let request = request
        .bearer(&fixture.a.token)
        .header("x-organization-id", &branch.to_string());
    let response = request.json(&rule(own, 9, Some(branch))).send().await;
    assert_eq!(response.status, 400, "{}", response.text());
}

#[actix_web::test]
async fn all_faults_of_a_call_are_reported() {
    let fixture = fixture().await;
    let configs = json!([
        {},
        {"endpoint": "/catalog/{{a}}", "method": "TRACE", "apiKeyId": "x", "body": "x".repeat(65 * 1024)},
        {"endpoint": "POST /catalog/products", "method": "GET", "apiKeyId": Uuid::nil()},
        {"endpoint": 1, "method": 2, "apiKeyId": 3},
    ]);
    let configs = configs.as_array().cloned().unwrap_or_default();
    let actions: Vec<Value> = configs
        .iter()
        .map(|config| action("CALL_PLATFORM", config.clone()))
        .collect();
    // The sum of all is over the limit of a branch.
    let fields = json!({"successActions": actions[..1], "failureActions": actions[2..]});
    let (status, body) = fixture
        .app
        .post(&fixture.a.token, RULES, with(rule("r", "ACTION", "a.b"), fields))
        .await;

    assert_eq!((status, &body["error"]), (400, &json!("Validation failed")));
    let config = |branch: &str, index: usize, name: &str| format!("{branch}Actions[{index}].config.{name}");
    let expected = [
        (config("success", 0, "endpoint"), "required"),
        (config("success", 0, "method"), "required"),
        (config("success", 0, "apiKeyId"), "required"),
        (config("failure", 0, "method"), "invalid_value"),
        (config("failure", 1, "endpoint"), "invalid_type"),
        (config("failure", 1, "method"), "invalid_value"),
        (config("failure", 1, "apiKeyId"), "invalid_type"),
    ];
    let expected: Vec<(&str, &str)> = expected.iter().map(|(path, code)| (path.as_str(), *code)).collect();
    assert_eq!(details(&body), expected);
}

#[actix_web::test]
async fn a_rule_can_be_disabled_whatever_its_actions_need() {
    let fixture = fixture().await;
    let (_, gone) = catalog_key(&fixture).await;
    let of_gone = fixture.create(RULES, calling("GUARD", &product(gone))).await;
    let path = format!("{KEYS}?id={gone}");
    assert_eq!(fixture.app.delete(&fixture.a.token, &path, Value::Null).await.0, 200);
    let live = key(&fixture, "Catalog", None).await;
    let other = with(calling("GUARD", &product(live)), json!({"ruleId": "other"}));
    let of_live = fixture.create(RULES, other).await;
    fixture.role("Editor", &["business_rules.*"], None).await;
    let (_, editor) = fixture.user("editor@alpha.test", &["Editor"]).await;
    let admin = &fixture.a.token;
    let put = async |token: &str, id: Uuid, fields: Value| {
        let body = with(json!({"id": id}), fields);
        fixture.app.put(token, RULES, body).await.0
    };

    for (token, id, rejected) in [(admin, of_gone, 400), (&editor, of_live, 403)] {
        assert_eq!(put(token, id, json!({"ruleName": "Renamed"})).await, rejected);
        assert_eq!(put(token, id, json!({"enabled": false})).await, 200);
        let (_, stored) = fixture.app.get(admin, &format!("{RULES}/{id}")).await;
        assert_eq!(stored["enabled"], false);
        assert_eq!(stored["effectFeatures"], json!(["api_keys.create"]));
        assert_eq!(put(token, id, json!({"ruleName": "Renamed"})).await, 200);
        for needing in [
            json!({"enabled": true}),
            json!({"entityType": "customers.company"}),
            json!({"failureActions": [product(if id == of_gone { gone } else { live })]}),
        ] {
            assert_eq!(put(token, id, needing.clone()).await, rejected, "{needing}");
        }
    }
}
