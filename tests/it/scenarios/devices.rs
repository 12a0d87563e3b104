//! Scenarios of the commands of `devices`. They need a user of the tenant: a device belongs to its user.

use serde_json::json;

use super::{Scenario, scenario};
use crate::call::Call;

const DEVICES: &str = "/devices";

pub(crate) fn scenarios() -> Vec<Scenario> {
    let mut all = vec![
        scenario("devices.device.register", "a new device", |_| {
            Call::post(
                DEVICES,
                json!({"deviceId": "d1", "platform": "web", "locale": "pl", "osVersion": "1"}),
            )
        }),
        scenario("devices.device.register", "of another user", |tenant| {
            Call::post(
                "/devices/admin/devices",
                json!({"deviceId": "d1", "platform": "ios", "userId": tenant.colleague.id}),
            )
        }),
        scenario("devices.device.update", "all fields", |tenant| {
            Call::put(
                &format!("{DEVICES}/{}", tenant.child),
                json!({"clientAppVersion": "2", "osVersion": null, "locale": "de", "pushProvider": null}),
            )
        }),
        scenario("devices.device.update", "by a registration", |tenant| {
            Call::post(
                DEVICES,
                json!({"deviceId": format!("d-{}", tenant.child), "platform": "android", "locale": null}),
            )
        }),
        scenario(
            "devices.device.update",
            "by a registration of an administrator",
            |tenant| {
                Call::post(
                    "/devices/admin/devices",
                    json!({"deviceId": format!("d-{}", tenant.other), "platform": "web", "userId": tenant.tenant_admin.id}),
                )
            },
        ),
    ];
    for scenario in &mut all {
        scenario.by_anybody = false;
    }
    all
}
