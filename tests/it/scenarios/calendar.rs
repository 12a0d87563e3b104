//! Scenarios of the commands of `calendar`.

use serde_json::json;

use super::{Scenario, scenario};
use crate::call::Call;

const WINDOWS: &str = "/calendar/windows";

pub(crate) fn scenarios() -> Vec<Scenario> {
    vec![
        // A new record belongs to a tenant; a caller without a tenant must select one first.
        Scenario {
            by_anybody: false,
            ..scenario("calendar.window.create", "all fields", |tenant| {
                Call::post(
                    WINDOWS,
                    json!({"organizationId": tenant.child, "name": "New", "note": "N"}),
                )
            })
        },
        scenario("calendar.window.update", "all fields", |tenant| {
            Call::put(WINDOWS, json!({"id": tenant.child, "name": "Renamed", "note": null}))
        }),
        scenario("calendar.window.delete", "alone", |tenant| {
            Call::delete(WINDOWS, tenant.other)
        }),
    ]
}
