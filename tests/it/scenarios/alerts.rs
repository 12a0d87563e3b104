//! Scenarios of the commands of `alerts`.

use serde_json::json;

use super::{Scenario, scenario};
use crate::call::Call;

const ALERTS: &str = "/alerts/alerts";

pub(crate) fn scenarios() -> Vec<Scenario> {
    vec![
        // A new record belongs to a tenant; a caller without a tenant must select one first.
        Scenario {
            by_anybody: false,
            ..scenario("alerts.alert.create", "all fields", |tenant| {
                Call::post(
                    ALERTS,
                    json!({"organizationId": tenant.child, "name": "New", "note": "N"}),
                )
            })
        },
        scenario("alerts.alert.update", "all fields", |tenant| {
            Call::put(ALERTS, json!({"id": tenant.child, "name": "Renamed", "note": null}))
        }),
        scenario("alerts.alert.delete", "alone", |tenant| {
            Call::delete(ALERTS, tenant.other)
        }),
    ]
}
