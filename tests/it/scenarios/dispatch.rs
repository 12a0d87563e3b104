//! Scenarios of the commands of `dispatch`.

use serde_json::json;

use super::{Scenario, scenario};
use crate::call::Call;

const JOB_SITES: &str = "/dispatch/job-sites";

pub(crate) fn scenarios() -> Vec<Scenario> {
    vec![
        // A new record belongs to a tenant; a caller without a tenant must select one first.
        Scenario {
            by_anybody: false,
            ..scenario("dispatch.job_site.create", "all fields", |tenant| {
                Call::post(
                    JOB_SITES,
                    json!({"organizationId": tenant.child, "name": "New", "note": "N"}),
                )
            })
        },
        scenario("dispatch.job_site.update", "all fields", |tenant| {
            Call::put(JOB_SITES, json!({"id": tenant.child, "name": "Renamed", "note": null}))
        }),
        scenario("dispatch.job_site.delete", "alone", |tenant| {
            Call::delete(JOB_SITES, tenant.other)
        }),
    ]
}
