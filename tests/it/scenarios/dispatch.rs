//! Scenarios of the commands of `dispatch`. New records belong to the caller's organization, `root`; a caller without a tenant has none.

use actix_web::http::Method;
use serde_json::{Value, json};

use super::{Scenario, scenario};
use crate::call::Call;
use crate::fixture::TenantFixture;

const JOB_SITES: &str = "/dispatch/job-sites";
const RESOURCES: &str = "/dispatch/resources";
const ASSIGNMENTS: &str = "/dispatch/assignments";

fn by_member(command: &'static str, state: &'static str, call: fn(&TenantFixture) -> Call) -> Scenario {
    Scenario {
        by_anybody: false,
        ..scenario(command, state, call)
    }
}

fn assignment(tenant: &TenantFixture) -> Value {
    json!({"jobSiteId": tenant.root, "subjectType": "equipment", "subjectId": tenant.root,
        "startAt": "2026-11-24T08:00:00Z", "endAt": "2026-11-24T16:00:00Z", "note": "N"})
}

fn by_dates(tenant: &TenantFixture) -> Value {
    json!({"jobSiteId": tenant.root, "subjectType": "equipment", "subjectId": tenant.root,
        "startDate": "2026-11-24", "endDateExclusive": "2026-11-26", "status": "confirmed"})
}

pub(crate) fn scenarios() -> Vec<Scenario> {
    vec![
        by_member("dispatch.job_site.create", "all fields", |_| {
            Call::post(
                JOB_SITES,
                json!({"name": "New", "code": "N1", "address": "A", "latitude": 1.5, "longitude": -1.5, "status": "planned",
                    "startDate": "2026-11-20", "endDateExclusive": "2026-12-01", "notes": "N"}),
            )
        }),
        scenario("dispatch.job_site.update", "all fields", |tenant| {
            Call::put(
                &format!("{JOB_SITES}/{}", tenant.child),
                json!({"name": "Renamed", "code": null, "address": "B", "latitude": 2.5, "status": "closed",
                    "startDate": "2026-11-21", "notes": "M"}),
            )
        }),
        scenario("dispatch.job_site.delete", "with a completed assignment", |tenant| {
            Call::new(Method::DELETE, &format!("{JOB_SITES}/{}", tenant.other))
        }),
        by_member("dispatch.resource.create", "a worker with a user", |tenant| {
            Call::post(
                RESOURCES,
                json!({"type": "worker", "name": "New", "code": "N1", "userId": tenant.colleague.id, "notes": "N"}),
            )
        }),
        scenario("dispatch.resource.update", "all fields", |tenant| {
            Call::put(
                &format!("{RESOURCES}/{}", tenant.child),
                json!({"name": "Renamed", "code": "R1", "isActive": false, "notes": "M"}),
            )
        }),
        scenario("dispatch.resource.delete", "with a completed assignment", |tenant| {
            Call::new(Method::DELETE, &format!("{RESOURCES}/{}", tenant.other))
        }),
        by_member("dispatch.assignment.create", "by instants", |tenant| {
            Call::post(ASSIGNMENTS, assignment(tenant))
        }),
        by_member("dispatch.assignment.create", "by dates", |tenant| {
            Call::post(ASSIGNMENTS, by_dates(tenant))
        }),
        by_member("dispatch.assignment.bulk_create", "of both kinds", |tenant| {
            Call::post(
                "/dispatch/assignments/bulk",
                json!({"items": [assignment(tenant), by_dates(tenant), assignment(tenant)]}),
            )
        }),
        scenario("dispatch.assignment.update", "from instants to dates", |tenant| {
            Call::put(
                &format!("{ASSIGNMENTS}/{}", tenant.child),
                json!({"startDate": "2026-11-25", "endDateExclusive": "2026-11-27", "status": "confirmed", "note": null}),
            )
        }),
        scenario("dispatch.assignment.update", "to live", |tenant| {
            Call::put(
                &format!("{ASSIGNMENTS}/{}", tenant.parent),
                json!({"status": "planned", "endAt": "2026-11-24T16:00:00Z"}),
            )
        }),
        scenario("dispatch.assignment.delete", "alone", |tenant| {
            Call::new(Method::DELETE, &format!("{ASSIGNMENTS}/{}", tenant.other))
        }),
    ]
}
