//! Scenarios of the commands of `access`. Super administrators select a tenant first: its users are read in one tenant.

use serde_json::json;

use super::{Scenario, scenario};
use crate::call::Call;

const USERS: &str = "/access/users";

pub(crate) fn scenarios() -> Vec<Scenario> {
    let mut all = vec![
        scenario(
            "access.user.change_role",
            "of a user with other roles and an own ACL",
            |tenant| Call::put(&format!("{USERS}/{}", tenant.colleague.id), json!({"role": "viewer"})),
        ),
        scenario("access.user.change_role", "of a user without roles", |tenant| {
            Call::put(&format!("{USERS}/{}", tenant.plain.id), json!({"role": "dispatcher"}))
        }),
        scenario("access.user.change_role", "of a user without a password", |tenant| {
            Call::put(&format!("{USERS}/{}", tenant.invited), json!({"role": "viewer"}))
        }),
    ];
    for scenario in &mut all {
        scenario.by_anybody = false;
    }
    all
}
