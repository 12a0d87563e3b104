//! Scenarios of the commands of `notifications`. They need a user.

use serde_json::json;

use super::{Scenario, scenario};
use crate::call::Call;

const PREFERENCES: &str = "/notifications/preferences";
const ID: &str = "notifications.preference.update";

pub(crate) fn scenarios() -> Vec<Scenario> {
    let mut all = vec![
        scenario(ID, "a type with a preference", |_| {
            Call::put(
                PREFERENCES,
                json!({"items": [{"type": "samples.sample.done", "email": false, "push": false}]}),
            )
        }),
        scenario(ID, "a type without one", |_| {
            Call::put(
                PREFERENCES,
                json!({"items": [{"type": "samples.sample.failed", "inApp": false}]}),
            )
        }),
    ];
    for scenario in &mut all {
        scenario.by_anybody = false;
    }
    all
}
