//! Scenarios of the commands of `alerts`.

use actix_web::http::Method;
use serde_json::json;

use super::{Scenario, scenario};
use crate::call::Call;

pub(crate) fn scenarios() -> Vec<Scenario> {
    vec![
        scenario("alerts.alert.acknowledge", "with a note", |tenant| {
            Call::post(
                &format!("/alerts/alerts/{}/acknowledge", tenant.child),
                json!({"note": "Known"}),
            )
        }),
        scenario("alerts.alert.unacknowledge", "an acknowledged one", |tenant| {
            Call::new(Method::DELETE, &format!("/alerts/alerts/{}/acknowledge", tenant.other))
        }),
    ]
}
