//! Scenarios of the commands of `business-rules`.

use actix_web::http::Method;
use serde_json::json;

use super::{Scenario, scenario};
use crate::call::Call;
use crate::fixture::TenantFixture;

const RULES: &str = "/business_rules/rules";
const SETS: &str = "/business_rules/sets";

/// A new record belongs to a tenant; a caller without a tenant must select one first.
fn in_tenant(command: &'static str, state: &'static str, call: fn(&TenantFixture) -> Call) -> Scenario {
    Scenario {
        by_anybody: false,
        ..scenario(command, state, call)
    }
}

pub(crate) fn scenarios() -> Vec<Scenario> {
    vec![
        in_tenant("business_rules.rule.create", "all fields", |tenant| {
            Call::post(
                RULES,
                json!({"organizationId": tenant.child, "ruleId": "new", "ruleName": "New", "description": "D", "ruleType": "ACTION",
                    "ruleCategory": "sales", "entityType": "customers.deal", "eventType": "updated",
                    "conditionExpression": {"field": "title", "operator": "=", "value": "x"},
                    "successActions": [{"type": "SET_FIELD", "config": {"field": "title", "value": "y"}}], "failureActions": [],
                    "enabled": true, "priority": 5, "effectiveFrom": "2026-01-01T00:00:00Z", "effectiveTo": "2036-01-01T00:00:00Z"}),
            )
        }),
        scenario("business_rules.rule.update", "all fields", |tenant| {
            Call::put(
                RULES,
                json!({"id": tenant.child, "ruleId": "other", "ruleName": "Renamed", "description": null, "ruleType": "GUARD",
                    "ruleCategory": null, "entityType": "customers.company", "eventType": null, "conditionExpression": null,
                    "successActions": [], "failureActions": [{"type": "LOG", "config": {"message": "m"}}], "enabled": false,
                    "priority": 9, "effectiveFrom": null, "effectiveTo": null}),
            )
        }),
        scenario("business_rules.rule.delete", "in a set", |tenant| {
            Call::delete(RULES, tenant.other)
        }),
        in_tenant("business_rules.set.create", "all fields", |tenant| {
            Call::post(
                SETS,
                json!({"organizationId": tenant.child, "setId": "new", "setName": "New", "description": "D", "enabled": false}),
            )
        }),
        scenario("business_rules.set.update", "all fields", |tenant| {
            Call::put(
                SETS,
                json!({"id": tenant.child, "setId": "other", "setName": "Renamed", "description": null, "enabled": false}),
            )
        }),
        scenario("business_rules.set.delete", "with a member", |tenant| {
            Call::delete(SETS, tenant.other)
        }),
        in_tenant("business_rules.set_member.create", "all fields", |tenant| {
            Call::post(
                &format!("{SETS}/{}/members", tenant.child),
                json!({"ruleId": tenant.parent, "sequence": 3, "enabled": false}),
            )
        }),
        scenario("business_rules.set_member.update", "all fields", |tenant| {
            Call::put(
                &format!("{SETS}/{}/members", tenant.child),
                json!({"memberId": tenant.child, "sequence": 9, "enabled": false}),
            )
        }),
        scenario("business_rules.set_member.delete", "alone", |tenant| {
            Call::new(Method::DELETE, &format!("{SETS}/{}/members", tenant.other))
                .with_query("memberId", &tenant.other.to_string())
        }),
    ]
}
