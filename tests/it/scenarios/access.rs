//! Scenarios of the commands of `access`.

use serde_json::json;

use super::{Scenario, scenario};
use crate::call::Call;

const USERS: &str = "/access/users";

pub(crate) fn scenarios() -> Vec<Scenario> {
    vec![
        // A new record belongs to a tenant; a caller without a tenant must select one first.
        Scenario {
            by_anybody: false,
            ..scenario("access.user.create", "all fields", |tenant| {
                Call::post(
                    USERS,
                    json!({"organizationId": tenant.child, "name": "New", "note": "N"}),
                )
            })
        },
        scenario("access.user.update", "all fields", |tenant| {
            Call::put(USERS, json!({"id": tenant.child, "name": "Renamed", "note": null}))
        }),
        scenario("access.user.delete", "alone", |tenant| {
            Call::delete(USERS, tenant.other)
        }),
    ]
}
