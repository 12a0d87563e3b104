//! The rules, sets, members and executions of a tenant. Each has the id of its organization.

use serde_json::json;

use crate::fixture::{Fixture, TenantFixture};

const AT: &str = "'2026-11-20T07:00:00Z'";

/// Inserts the records.
pub(crate) async fn seed(fixture: &Fixture, tenant_fixture: &TenantFixture) {
    let tenant = tenant_fixture.tenant;
    for id in [tenant_fixture.child, tenant_fixture.other, tenant_fixture.parent] {
        // The user of `other` requested the execution there.
        let executed_by = match id == tenant_fixture.other {
            true => format!("'{}'", tenant_fixture.user.id),
            false => "null".to_owned(),
        };
        let rule = format!(
            "insert into business_rules_rules (tenant_id, id, organization_id, rule_key, rule_name, description, rule_type, rule_category,
                entity_type, event_type, condition_expression, success_actions, failure_actions, enabled, priority, version,
                effective_from, effective_to, effect_features, created_by, updated_by, created_at, updated_at)
             values ('{tenant}', '{id}', '{id}', '{id}', 'Rule {id}', 'Why', 'ACTION', 'sales', 'samples.thing', 'updated',
                '{{\"field\": \"a\", \"operator\": \"=\", \"value\": 1}}',
                '[{{\"type\": \"LOG\", \"config\": {{\"message\": \"m\"}}}}]', '[]', true, 100, 1, '2026-01-01T00:00:00Z',
                '2036-01-01T00:00:00Z', '{{}}', null, null, {AT}, {AT})"
        );
        let set = format!(
            "insert into business_rules_sets (tenant_id, id, organization_id, set_key, set_name, description, enabled, created_at, updated_at)
             values ('{tenant}', '{id}', '{id}', '{id}', 'Set {id}', 'Why', true, {AT}, {AT})"
        );
        let member = format!(
            "insert into business_rules_set_members (tenant_id, id, organization_id, set_id, rule_id, sequence, enabled, created_at, updated_at)
             values ('{tenant}', '{id}', '{id}', '{id}', '{id}', 1, true, {AT}, {AT})"
        );
        let run = format!(
            "insert into business_rules_runs (tenant_id, id, organization_id, entity_type, entity_id, event_type, allowed, executed_rules,
                created_at, updated_at)
             values ('{tenant}', '{id}', '{id}', 'samples.thing', 'x', 'updated', true, 1, {AT}, {AT})"
        );
        let log = format!(
            "insert into business_rules_execution_logs (tenant_id, id, organization_id, run_id, rule_id, rule_key, rule_name, rule_type,
                entity_type, entity_id, execution_result, input_context, output_context, error_message, execution_time_ms, executed_at,
                executed_by, trigger, created_at, updated_at)
             values ('{tenant}', '{id}', '{id}', '{id}', '{id}', '{id}', 'Rule {id}', 'ACTION', 'samples.thing', 'x', 'SUCCESS', '{{}}',
                '{{}}', null, 1, {AT}, {executed_by}, 'api', {AT}, {AT})"
        );
        let delivery = format!(
            "insert into business_rules_webhook_deliveries (tenant_id, id, organization_id, rule_id, run_id, batch_id, url, method, headers,
                body, status, attempts, next_attempt_at, response_status, error, created_at, updated_at)
             values ('{tenant}', '{id}', '{id}', '{id}', '{id}', '{id}', 'https://hooks.invalid/{id}', 'POST', '{{}}', '{{}}', 'failed', 1,
                {AT}, 410, 'status_410', {AT}, {AT})"
        );
        for sql in [rule, set, member, run, log, delivery] {
            assert_eq!(fixture.app.sql(&sql).await, 1, "{sql}");
        }
    }
    // The tenant has one secret, so that another one can be created.
    let secret = format!(
        "insert into business_rules_webhook_secrets (tenant_id, id, secret, last4, created_at, updated_at)
         values ('{tenant}', '{}', '\\x00', 'AAA=', {AT}, {AT})",
        tenant_fixture.other
    );
    assert_eq!(fixture.app.sql(&secret).await, 1);
}

#[actix_web::test]
async fn rul_18_an_endpoint_that_streams_is_rejected_when_a_rule_is_saved() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.tenant_admin.token;
    let body = json!({"name": "Caller", "roles": []});
    let (status, key) = fixture.app.post(token, "/api_keys/keys", body).await;
    assert_eq!(status, 201, "{key}");
    let endpoints = fixture.app.platform().endpoints();
    let streams = endpoints.iter().filter(|one| {
        let is_open = one.module != "events" && !one.path.contains('{');
        is_open && (one.streaming || one.downloads || !one.media.is_empty())
    });
    let streams: Vec<String> = streams.map(|one| format!("{} {}", one.method, one.path)).collect();
    assert!(streams.contains(&"POST /attachments".to_owned()), "{streams:?}");

    let (status, options) = fixture.app.get(token, "/business_rules/platform-call-options").await;
    assert_eq!(status, 200, "{options}");
    for endpoint in streams {
        let call = json!({"type": "CALL_PLATFORM", "config": {"endpoint": endpoint, "apiKeyId": key["id"]}});
        let rule = json!({"ruleId": "r", "ruleName": "R", "ruleType": "ACTION", "entityType": "x.y", "successActions": [call]});
        let (status, body) = fixture.app.post(token, "/business_rules/rules", rule).await;

        let error = body["error"].as_str().unwrap_or_default();
        assert!(
            status == 400 && error.starts_with("Action 1: endpoint"),
            "{endpoint}: {status} {body}"
        );
        let listed = options["endpoints"].as_array().into_iter().flatten();
        assert!(
            listed.clone().count() > 0 && listed.clone().all(|one| one["id"] != endpoint.as_str()),
            "{endpoint}"
        );
    }
}
