//! Calls of rules that run outside of a command.

use actix_web::http::Method;
use backoffice_test_accounts::TwoTenants;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{KEYS, call, calling, catalog_key, entries, failures, key, product, products, settle};
use crate::fixture::{DEALS, EXECUTE, RULES, action, deal, fixture, logs, rule, stored, with};

const UPDATE: &str = "customers.deal.update";

async fn execute(fixture: &TwoTenants, token: &str, fields: Value) -> Value {
    let input = with(json!({"entityType": "customers.deal"}), fields);
    let (status, body) = fixture.app.post(token, EXECUTE, input).await;
    assert_eq!(status, 200, "{body}");
    body["executedRules"][0].clone()
}

async fn rename(fixture: &TwoTenants, id: Uuid, title: &str) {
    let body = json!({"id": id, "title": title});
    assert_eq!(fixture.app.put(&fixture.a.token, DEALS, body).await.0, 200);
}

/// Returns the result of the only action of an executed rule.
fn result(rule: &Value) -> &Value {
    &rule["actionsExecuted"]["results"][0]
}

#[actix_web::test]
async fn an_execution_calls_the_platform_as_its_caller() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    let rule_id = fixture.create(RULES, calling("ACTION", &product(key))).await;

    let executed = execute(&fixture, &fixture.a.token, json!({"entityId": "x"})).await;

    let expected = json!({"type": "CALL_PLATFORM", "success": true, "status": 201});
    assert_eq!(result(&executed), &expected);
    let products = products(&fixture).await;
    assert_eq!((products.len(), &products[0]["title"]), (1, &json!("Of x")));
    let entries = entries(&fixture, "catalog.product.create").await;
    let (entry, context) = (&entries[0], &entries[0]["context"]);
    assert_eq!(
        (&entry["actor_kind"], &entry["actor_id"]),
        (&json!("user"), &json!(fixture.a.admin))
    );
    assert_eq!((&context["ruleId"], &context["depth"]), (&json!(rule_id), &json!(1)));
    let logged = logs(&fixture).await;
    assert_eq!(logged[0]["outputContext"]["actionsExecuted"]["results"][0], expected);
}

#[actix_web::test]
async fn a_call_is_a_use_of_its_key() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    fixture.role("Other", &["catalog.*"], None).await;
    let unused = self::key(&fixture, "Other", None).await;
    fixture.create(RULES, calling("ACTION", &product(key))).await;
    execute(&fixture, &fixture.a.token, json!({"dryRun": true})).await;
    let last_use = async |key: Uuid| {
        let (_, page) = fixture.app.get(&fixture.a.token, KEYS).await;
        let mut keys = page["items"].as_array().into_iter().flatten();
        let found = keys.find(|one| one["id"] == json!(key));
        found.expect("a listed key")["lastUsedAt"].clone()
    };
    assert_eq!(last_use(key).await, Value::Null);

    execute(&fixture, &fixture.a.token, json!({})).await;

    let expected = json!(fixture.app.now().to_string());
    for _ in 0..100 {
        if last_use(key).await == expected {
            break;
        }
        // The time is written independently of the request.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!((last_use(key).await, last_use(unused).await), (expected, Value::Null));
}

#[actix_web::test]
async fn actions_act_in_their_order_and_all_fields_are_set_with_the_first() {
    let fixture = fixture().await;
    fixture.role("Seller", &["customers.*"], None).await;
    let key = key(&fixture, "Seller", None).await;
    let renamed = |title: &str| {
        let body = json!({"id": "{{entityId}}", "title": title});
        call("PUT /customers/deals", key, body)
    };
    let set = |field: &str, value: &str| action("SET_FIELD", json!({"field": field, "value": value}));
    let actions = json!([
        renamed("First"),
        set("title", "Second"),
        renamed("Third"),
        set("source", "web")
    ]);
    let fields = json!({"successActions": actions});
    fixture
        .create(RULES, with(rule("calls", "ACTION", "customers.deal"), fields))
        .await;
    let id = deal(&fixture, "Old").await;

    let executed = execute(&fixture, &fixture.a.token, json!({"entityId": id})).await;

    assert_eq!(executed["actionsExecuted"]["success"], true, "{executed}");
    let results = &executed["actionsExecuted"]["results"];
    assert_eq!(
        (&results[1]["patch"], &results[3]["patch"]),
        (&json!({"title": "Second"}), &json!({"source": "web"}))
    );
    let sql = format!("select snapshot_after from audit_action_logs where command_id = '{UPDATE}' order by seq");
    let changes = fixture.app.rows(&sql).await;
    let after: Vec<[&Value; 2]> = changes
        .iter()
        .map(|row| [&row["snapshot_after"]["title"], &row["snapshot_after"]["source"]])
        .collect();
    let (none, web) = (Value::Null, json!("web"));
    let (first, second, third) = (json!("First"), json!("Second"), json!("Third"));
    assert_eq!(after, [[&first, &none], [&second, &web], [&third, &web]]);
}

#[actix_web::test]
async fn a_dry_run_calls_nothing() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    fixture.create(RULES, calling("ACTION", &product(key))).await;

    let executed = execute(&fixture, &fixture.a.token, json!({"dryRun": true})).await;

    let expected = json!({"type": "CALL_PLATFORM", "success": true, "simulated": true});
    assert_eq!(result(&executed), &expected);
    assert!(products(&fixture).await.is_empty());
}

#[actix_web::test]
async fn an_event_calls_the_platform_as_the_rule_in_its_organization() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    let fields = json!({"organizationId": fixture.a.organization, "eventType": "updated"});
    let rule_id = fixture
        .create(RULES, with(calling("ACTION", &product(key)), fields))
        .await;
    let id = deal(&fixture, "Old").await;
    rename(&fixture, id, "New").await;

    settle(&fixture).await;

    let products = products(&fixture).await;
    assert_eq!(products.len(), 1);
    assert_eq!(
        (&products[0]["title"], &products[0]["organization_id"]),
        (&json!(format!("Of {id}")), &json!(fixture.a.organization))
    );
    let entries = entries(&fixture, "catalog.product.create").await;
    let (entry, context) = (&entries[0], &entries[0]["context"]);
    assert_eq!(
        (&entry["actor_kind"], &entry["actor_id"], &entry["actor_name"]),
        (&json!("system"), &Value::Null, &json!("rule calls"))
    );
    assert_eq!((&context["ruleId"], &context["depth"]), (&json!(rule_id), &json!(1)));
}

#[actix_web::test]
async fn the_same_job_twice_has_one_effect() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    fixture.create(RULES, calling("ACTION", &product(key))).await;
    deal(&fixture, "D").await;
    settle(&fixture).await;
    assert_eq!(products(&fixture).await.len(), 1);

    let again =
        "update core_jobs set state = 'queued', cursor = 0, finished_at = null where kind = 'business_rules.rule.run'";
    assert_eq!(fixture.app.sql(again).await, 1);
    settle(&fixture).await;

    let logged = logs(&fixture).await;
    assert_eq!((products(&fixture).await.len(), logged.len()), (1, 2));
    assert!(logged.iter().all(|log| log["executionResult"] == "SUCCESS"));
    assert!(failures(&fixture).await.is_empty());
}

#[actix_web::test]
async fn rul_18_a_key_that_has_lost_its_role_fails_with_the_status_only() {
    let fixture = fixture().await;
    let (role, key) = catalog_key(&fixture).await;
    fixture.create(RULES, calling("ACTION", &product(key))).await;
    fixture.acl(role, &["catalog.products.view"], None).await;

    let executed = execute(&fixture, &fixture.a.token, json!({})).await;
    deal(&fixture, "D").await;
    settle(&fixture).await;

    let failed = json!({"type": "CALL_PLATFORM", "success": false, "status": 403, "error": "status 403"});
    assert_eq!(result(&executed), &failed);
    for log in logs(&fixture).await {
        assert_eq!(log["outputContext"]["actionsExecuted"]["results"], json!([failed]));
    }
    assert_eq!(failures(&fixture).await, ["status 403"]);
    assert!(products(&fixture).await.is_empty());
}

#[actix_web::test]
async fn rul_18_a_revoked_or_expired_key_sends_no_request() {
    let fixture = fixture().await;
    let (_, revoked) = catalog_key(&fixture).await;
    let expiring = key(&fixture, "Catalog", None).await;
    fixture.create(RULES, calling("ACTION", &product(revoked))).await;
    fixture
        .create(
            RULES,
            with(calling("ACTION", &product(expiring)), json!({"ruleId": "other"})),
        )
        .await;
    let path = format!("{KEYS}?id={revoked}");
    assert_eq!(fixture.app.delete(&fixture.a.token, &path, Value::Null).await.0, 200);
    let sql = format!("update api_keys_keys set expires_at = '2026-11-20T07:00:00Z' where id = '{expiring}'");
    fixture.app.sql(&sql).await;

    let input = json!({"entityType": "customers.deal"});
    let (_, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;

    let failed = json!({"type": "CALL_PLATFORM", "success": false, "error": "api_key_not_available"});
    let rules = body["executedRules"].as_array().cloned().unwrap_or_default();
    assert_eq!(rules.iter().map(result).collect::<Vec<_>>(), [&failed, &failed]);
    assert!(products(&fixture).await.is_empty());
}

#[actix_web::test]
async fn a_key_of_another_tenant_or_organization_sends_no_request() {
    let fixture = fixture().await;
    let (_, own) = catalog_key(&fixture).await;
    let body = json!({"name": "Beta", "roles": ["admin"], "organizationId": null});
    let (_, foreign) = fixture.app.post(&fixture.b.token, KEYS, body).await;
    let branch = fixture.organization("Branch", None).await;
    let of_branch = key(&fixture, "Catalog", Some(branch)).await;
    let fields = json!({"organizationId": fixture.a.organization});
    let id = fixture
        .create(RULES, with(calling("ACTION", &product(own)), fields))
        .await;
    for key in [foreign["id"].clone(), json!(of_branch)] {
        // Saving such a rule is rejected, so that only a change in the database shows the check of the run.
        let sql = format!(
            "update business_rules_rules set success_actions = jsonb_set(success_actions, '{{0,config,apiKeyId}}', '{key}') where id = '{id}'"
        );
        assert_eq!(fixture.app.sql(&sql).await, 1);

        let path = format!("{EXECUTE}/{id}");
        let (status, body) = fixture.app.post(&fixture.a.token, &path, json!({})).await;

        assert_eq!((status, &body["success"]), (200, &json!(false)), "{body}");
        assert_eq!(result(&body)["error"], "api_key_not_available");
    }
    assert!(products(&fixture).await.is_empty());
}

#[actix_web::test]
async fn a_stored_endpoint_that_is_not_in_the_list_is_not_called() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    let id = fixture.create(RULES, calling("ACTION", &product(key))).await;
    let sql = format!(
        "update business_rules_rules set success_actions = jsonb_set(success_actions, '{{0,config,endpoint}}', '\"POST /auth/roles\"') \
         where id = '{id}'"
    );
    assert_eq!(fixture.app.sql(&sql).await, 1);

    let (_, body) = fixture
        .app
        .post(&fixture.a.token, &format!("{EXECUTE}/{id}"), json!({}))
        .await;

    let failed = json!({"type": "CALL_PLATFORM", "success": false, "error": "endpoint_not_available"});
    assert_eq!(result(&body), &failed);
}

#[actix_web::test]
async fn rul_13_the_caller_of_an_execution_limits_the_key() {
    let fixture = fixture().await;
    let (_, key) = catalog_key(&fixture).await;
    fixture.create(RULES, calling("ACTION", &product(key))).await;
    let role = fixture.role("Executor", &["business_rules.execute"], None).await;
    let (_, executor) = fixture.user("executor@alpha.test", &["Executor"]).await;

    let executed = execute(&fixture, &executor, json!({})).await;
    assert_eq!(result(&executed)["status"], 403);
    fixture
        .acl(
            role,
            &["business_rules.execute", "catalog.*"],
            Some(&[fixture.a.organization]),
        )
        .await;
    let executed = execute(&fixture, &executor, json!({})).await;

    assert_eq!(result(&executed)["status"], 201);
    let organization = &products(&fixture).await[0]["organization_id"];
    assert_eq!(organization, &json!(fixture.a.organization));
}

#[actix_web::test]
async fn values_are_percent_encoded_in_the_query_and_responses_are_not_stored() {
    let fixture = fixture().await;
    fixture.role("Reader", &["customers.*"], None).await;
    let key = key(&fixture, "Reader", None).await;
    deal(&fixture, "Secret & co").await;
    let list = call("GET /customers/deals?search={{data.text}}&pageSize=1", key, Value::Null);
    fixture.create(RULES, calling("ACTION", &list)).await;

    for (text, expected) in [("Secret & co", 200), ("x&pageSize=0", 200)] {
        let executed = execute(&fixture, &fixture.a.token, json!({"data": {"text": text}})).await;
        assert_eq!(result(&executed)["status"], expected);
    }

    let output = "select output_context::text as text from business_rules_execution_logs";
    let output = fixture.app.rows(output).await;
    assert!(output.iter().all(|row| !row["text"].to_string().contains("Secret")));
}

#[actix_web::test]
async fn rul_8_a_rule_that_starts_itself_by_a_call_stops() {
    let fixture = fixture().await;
    fixture.role("Seller", &["customers.*"], None).await;
    let key = key(&fixture, "Seller", None).await;
    let body = json!({"id": "{{entityId}}", "title": "{{data.title}}+"});
    let fields = json!({"eventType": "updated"});
    fixture
        .create(
            RULES,
            with(calling("ACTION", &call("PUT /customers/deals", key, body)), fields),
        )
        .await;
    let id = deal(&fixture, "D").await;
    rename(&fixture, id, "E").await;

    settle(&fixture).await;

    assert_eq!(stored(&fixture, id).await["title"], "E+++");
    let entries = entries(&fixture, UPDATE).await;
    let depths: Vec<&Value> = entries.iter().map(|entry| &entry["context"]["depth"]).collect();
    assert_eq!(depths, [&Value::Null, &json!(1), &json!(2), &json!(3)]);
    assert_eq!(failures(&fixture).await, ["rules start each other too many times"]);
}

#[actix_web::test]
async fn a_job_that_a_call_has_requested_stays_an_effect_of_the_rule() {
    let fixture = fixture().await;
    let role = fixture.role("Seller", &["customers.*"], None).await;
    let key = key(&fixture, "Seller", None).await;
    let ids = json!(["{{entityId}}"]);
    let bulk = call(
        "POST /customers/deals/bulk-update-owner",
        key,
        json!({"ids": ids, "ownerUserId": "{{data.title}}"}),
    );
    let fields = json!({"eventType": "created"});
    let rule_id = fixture.create(RULES, with(calling("ACTION", &bulk), fields)).await;
    let owner = fixture.a.admin.to_string();
    let id = deal(&fixture, &owner).await;

    settle(&fixture).await;

    assert_eq!(stored(&fixture, id).await["ownerUserId"], json!(owner));
    let own = &entries(&fixture, "customers.deal.bulk_update_owner").await[0];
    assert_eq!(
        (&own["actor_kind"], &own["actor_name"]),
        (&json!("system"), &json!("rule calls"))
    );
    assert_eq!(
        (&own["context"]["ruleId"], &own["context"]["depth"]),
        (&json!(rule_id), &json!(1))
    );
    let other = deal(&fixture, &owner).await;
    // The rule runs; its job starts when the key has lost its rights.
    while fixture.app.deliver_events().await > 0 {}
    let worker = backoffice_core::jobs::Worker::new(fixture.app.runtime().clone());
    assert!(worker.run_one(None).await.expect("the queue"));
    fixture.acl(role, &["customers.deals.view"], None).await;
    settle(&fixture).await;
    assert_eq!(stored(&fixture, other).await["ownerUserId"], Value::Null);
}

#[actix_web::test]
async fn a_header_from_outside_makes_no_effect_of_a_rule() {
    let fixture = fixture().await;
    let rule_id = fixture.create(RULES, rule("r", "ACTION", "customers.deal")).await;
    let headers = [
        ("x-rule-id", rule_id.to_string()),
        ("x-internal-caller", "system".to_owned()),
        ("x-organization-id", fixture.a.organization.to_string()),
        ("x-tenant-id", fixture.a.id.to_string()),
    ];
    let send = async |token: Option<&str>| {
        let mut request = fixture.app.request(Method::POST, DEALS).json(&json!({"title": "D"}));
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        if let Some(token) = token {
            request = request.bearer(token);
        }
        request.send().await.status
    };

    assert_eq!(send(None).await, 401);
    assert_eq!(send(Some(&fixture.b.token)).await, 403);
    assert_eq!(send(Some(&fixture.a.token)).await, 201);
    let entry = &entries(&fixture, "customers.deal.create").await[0];
    assert_eq!(
        (&entry["actor_id"], &entry["context"]["ruleId"]),
        (&json!(fixture.a.admin), &Value::Null)
    );
}
