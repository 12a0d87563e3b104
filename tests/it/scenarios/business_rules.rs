//! Scenarios of the commands of `business-rules`.

use serde_json::json;

use super::{Scenario, scenario};
use crate::call::Call;

const RULES: &str = "/business_rules/rules";

pub(crate) fn scenarios() -> Vec<Scenario> {
    vec![
        // A new record belongs to a tenant; a caller without a tenant must select one first.
        Scenario {
            by_anybody: false,
            ..scenario("business_rules.rule.create", "all fields", |tenant| {
                Call::post(
                    RULES,
                    json!({"organizationId": tenant.child, "name": "New", "note": "N"}),
                )
            })
        },
        scenario("business_rules.rule.update", "all fields", |tenant| {
            Call::put(RULES, json!({"id": tenant.child, "name": "Renamed", "note": null}))
        }),
        scenario("business_rules.rule.delete", "alone", |tenant| {
            Call::delete(RULES, tenant.other)
        }),
    ]
}
