//! The rules, sets, members and executions of a tenant. Each has the id of its organization.

use crate::fixture::{Fixture, TenantFixture};

const AT: &str = "'2026-11-20T07:00:00Z'";

/// Inserts the records.
pub(crate) async fn seed(fixture: &Fixture, tenant_fixture: &TenantFixture) {
    let tenant = tenant_fixture.tenant;
    for id in [tenant_fixture.child, tenant_fixture.other, tenant_fixture.parent] {
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
                '{{}}', null, 1, {AT}, null, 'api', {AT}, {AT})"
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
