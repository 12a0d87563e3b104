//! The entries of `business-rules`. Every rule, set, member and execution has the id of its organization, so that the id of another organization
//! is also the id of a record there.

use actix_web::http::Method;
use serde_json::json;

use super::table::{at, entry};
use super::{Entry, Kind, Target};
use crate::call::{Call, Place};

const RULES: &str = "/business_rules/rules";
const SETS: &str = "/business_rules/sets";
const EXECUTE: &str = "/business_rules/execute";
const SECRETS: &str = "/business_rules/webhook-secrets";
const DELIVERIES: &str = "/business_rules/webhook-deliveries";
const LOGS: &str = "/business_rules/logs";

const fn inside(place: Place) -> Target {
    at(place, Kind::Organization)
}

/// The id in the path. It is exempt from the check of malformed ids, because a path with an empty id is a different path.
const ONE: Target = Target {
    strict: false,
    ..inside(Place::Path)
};
const INNER: Target = Target {
    strict: false,
    ..inside(Place::Inner)
};
const IDS: [Target; 2] = [inside(Place::Query("id")), inside(Place::QueryList("ids"))];
const ORGANIZATION: Target = inside(Place::Body("organizationId"));

pub(crate) fn table() -> Vec<Entry> {
    let mut table = rules();
    table.extend(sets());
    table.extend(members());
    table.extend(executions());
    table.extend(webhooks());
    table
}

fn rules() -> Vec<Entry> {
    vec![
        entry(Method::GET, RULES, IDS, |_, _| {
            Call::get(RULES)
                .with_query("ruleType", "ACTION")
                .with_query("ruleCategory", "sales")
                .with_query("entityType", "samples.thing")
                .with_query("eventType", "updated")
                .with_query("enabled", "true")
        }),
        entry(Method::GET, "/business_rules/rules/{id}", [ONE], |tenant, _| {
            Call::get(&format!("{RULES}/{}", tenant.child))
        }),
        entry(Method::POST, RULES, [ORGANIZATION], |tenant, _| {
            Call::post(
                RULES,
                json!({"organizationId": tenant.child, "ruleId": "new", "ruleName": "New", "description": "D", "ruleType": "ACTION",
                    "ruleCategory": "sales", "entityType": "samples.thing", "eventType": "updated",
                    "conditionExpression": {"field": "a", "operator": "=", "value": 1},
                    "successActions": [{"type": "LOG", "config": {"message": "m"}}], "failureActions": [], "enabled": true,
                    "priority": 5, "effectiveFrom": "2026-01-01T00:00:00Z", "effectiveTo": "2036-01-01T00:00:00Z"}),
            )
        }),
        entry(
            Method::PUT,
            RULES,
            [inside(Place::Body("id")), ORGANIZATION],
            |tenant, _| {
                Call::put(
                    RULES,
                    json!({"id": tenant.child, "organizationId": tenant.child, "ruleName": "Renamed", "description": null}),
                )
            },
        ),
        entry(Method::DELETE, RULES, [inside(Place::Query("id"))], |tenant, _| {
            Call::delete(RULES, tenant.parent)
        }),
    ]
}

fn sets() -> Vec<Entry> {
    vec![
        entry(Method::GET, SETS, IDS, |_, _| Call::get(SETS)),
        entry(Method::GET, "/business_rules/sets/{id}", [ONE], |tenant, _| {
            Call::get(&format!("{SETS}/{}", tenant.child))
        }),
        entry(Method::POST, SETS, [ORGANIZATION], |tenant, _| {
            Call::post(
                SETS,
                json!({"organizationId": tenant.child, "setId": "new", "setName": "New", "description": "D", "enabled": true}),
            )
        }),
        entry(
            Method::PUT,
            SETS,
            [inside(Place::Body("id")), ORGANIZATION],
            |tenant, _| {
                Call::put(
                    SETS,
                    json!({"id": tenant.child, "organizationId": tenant.child, "setName": "Renamed", "description": null}),
                )
            },
        ),
        entry(Method::DELETE, SETS, [inside(Place::Query("id"))], |tenant, _| {
            Call::delete(SETS, tenant.parent)
        }),
        entry(
            Method::POST,
            "/business_rules/sets/{id}/execute",
            [INNER],
            |tenant, _| {
                Call::post(
                    &format!("{SETS}/{}/execute", tenant.child),
                    json!({"entityType": "samples.thing", "entityId": "x", "eventType": "updated", "data": {"a": 1}, "dryRun": false}),
                )
            },
        ),
    ]
}

fn members() -> Vec<Entry> {
    let path = "/business_rules/sets/{id}/members";
    vec![
        entry(
            Method::POST,
            path,
            [INNER, inside(Place::Body("ruleId"))],
            |tenant, _| {
                Call::post(
                    &format!("{SETS}/{}/members", tenant.child),
                    json!({"ruleId": tenant.parent, "sequence": 2, "enabled": true}),
                )
            },
        ),
        entry(
            Method::PUT,
            path,
            [INNER, inside(Place::Body("memberId"))],
            |tenant, _| {
                Call::put(
                    &format!("{SETS}/{}/members", tenant.child),
                    json!({"memberId": tenant.child, "sequence": 7, "enabled": false}),
                )
            },
        ),
        entry(
            Method::DELETE,
            path,
            [INNER, inside(Place::Query("memberId"))],
            |tenant, _| {
                Call::new(Method::DELETE, &format!("{SETS}/{}/members", tenant.child))
                    .with_query("memberId", &tenant.child.to_string())
            },
        ),
    ]
}

fn executions() -> Vec<Entry> {
    vec![
        entry(Method::POST, EXECUTE, [], |_, _| {
            Call::post(
                EXECUTE,
                json!({"entityType": "samples.thing", "entityId": "x", "eventType": "updated", "data": {"a": 1}, "dryRun": false}),
            )
        }),
        entry(Method::POST, "/business_rules/execute/{ruleId}", [ONE], |tenant, _| {
            Call::post(
                &format!("{EXECUTE}/{}", tenant.child),
                json!({"entityType": "samples.thing", "entityId": "x", "eventType": "updated", "data": {"a": 1}, "dryRun": false}),
            )
        }),
        entry(
            Method::GET,
            LOGS,
            [
                IDS[0],
                IDS[1],
                inside(Place::Query("ruleId")),
                at(Place::Query("executedBy"), Kind::User),
            ],
            |_, _| {
                Call::get(LOGS)
                    .with_query("entityId", "x")
                    .with_query("entityType", "samples.thing")
                    .with_query("executionResult", "SUCCESS")
                    .with_query("executedAtFrom", "2026-11-01")
                    .with_query("executedAtTo", "2026-11-30")
            },
        ),
        entry(Method::GET, "/business_rules/logs/{id}", [ONE], |tenant, _| {
            Call::get(&format!("{LOGS}/{}", tenant.child))
        }),
        entry(Method::GET, "/business_rules/entity-types", [], |_, _| {
            Call::get("/business_rules/entity-types")
        }),
        entry(Method::GET, "/business_rules/platform-call-options", [], |_, _| {
            Call::get("/business_rules/platform-call-options")
        }),
    ]
}

fn webhooks() -> Vec<Entry> {
    vec![
        entry(Method::GET, SECRETS, IDS, |_, _| Call::get(SECRETS)),
        entry(Method::POST, SECRETS, [], |_, _| Call::new(Method::POST, SECRETS)),
        entry(Method::DELETE, SECRETS, [inside(Place::Query("id"))], |tenant, _| {
            Call::delete(SECRETS, tenant.other)
        }),
        entry(
            Method::GET,
            DELIVERIES,
            [IDS[0], IDS[1], inside(Place::Query("ruleId"))],
            |_, _| Call::get(DELIVERIES).with_query("status", "failed"),
        ),
        entry(
            Method::POST,
            "/business_rules/webhook-deliveries/{id}/retry",
            [INNER],
            |tenant, _| Call::new(Method::POST, &format!("{DELIVERIES}/{}/retry", tenant.child)),
        ),
    ]
}
