//! The entries of `dispatch`. Every record has the id of its organization, so that the id of another organization is also the id of a job site, a
//! resource and an assignment there. Only workers are users, so a worker is changed. New records belong to the caller's organization, which is `root`.

use actix_web::http::Method;
use serde_json::{Value, json};

use super::table::{at, entry};
use super::{Entry, Kind, Target};
use crate::call::{Call, Place};
use crate::dispatch::worker;
use crate::fixture::TenantFixture;

const JOB_SITES: &str = "/dispatch/job-sites";
const RESOURCES: &str = "/dispatch/resources";
const ASSIGNMENTS: &str = "/dispatch/assignments";
const ONE_SITE: &str = "/dispatch/job-sites/{id}";
const ONE_RESOURCE: &str = "/dispatch/resources/{id}";
const ONE_ASSIGNMENT: &str = "/dispatch/assignments/{id}";
const CHECK: &str = "/dispatch/assignments/check";
const BULK: &str = "/dispatch/assignments/bulk";
const BULK_UPDATE: &str = "/dispatch/assignments/bulk-update";

const fn inside(place: Place) -> Target {
    at(place, Kind::Organization)
}

/// The id in the path. A malformed one is like an unknown one.
const ONE: Target = Target {
    strict: false,
    ..inside(Place::Path)
};
const IDS: Target = inside(Place::QueryList("ids"));
const JOB_SITE: Target = inside(Place::Body("jobSiteId"));
const SUBJECT: Target = inside(Place::Body("subjectId"));
const USER: Target = at(Place::Body("userId"), Kind::User);

/// Returns the body of an assignment inside of `root`.
fn assignment(tenant: &TenantFixture) -> Value {
    json!({"jobSiteId": tenant.root, "subjectType": "equipment", "subjectId": tenant.root,
        "startAt": "2026-11-24T08:00:00Z", "endAt": "2026-11-24T16:00:00Z", "status": "planned", "note": "N"})
}

pub(crate) fn table() -> Vec<Entry> {
    let mut table = job_sites();
    table.extend(resources());
    table.extend(assignments());
    table
}

fn job_sites() -> Vec<Entry> {
    vec![
        entry(Method::GET, JOB_SITES, [IDS], |_, _| {
            Call::get(JOB_SITES)
                .with_query("status", "active")
                .with_query("from", "2026-11-20")
        }),
        entry(Method::GET, ONE_SITE, [ONE], |tenant, _| {
            Call::get(&format!("{JOB_SITES}/{}", tenant.child))
        }),
        entry(Method::POST, JOB_SITES, [], |_, _| {
            Call::post(
                JOB_SITES,
                json!({"name": "New", "code": "N1", "address": "A", "latitude": 1.5, "longitude": -1.5, "status": "planned",
                    "startDate": "2026-11-20", "endDateExclusive": "2026-12-01", "notes": "N"}),
            )
        }),
        entry(Method::PUT, ONE_SITE, [ONE], |tenant, _| {
            Call::put(
                &format!("{JOB_SITES}/{}", tenant.child),
                json!({"name": "Renamed", "code": null, "address": "B", "latitude": 2.5, "longitude": -2.5, "status": "active",
                    "startDate": "2026-11-21", "endDateExclusive": null, "notes": "M"}),
            )
        }),
        entry(Method::DELETE, ONE_SITE, [ONE], |tenant, _| {
            Call::new(Method::DELETE, &format!("{JOB_SITES}/{}", tenant.parent))
        }),
    ]
}

fn resources() -> Vec<Entry> {
    vec![
        entry(Method::GET, RESOURCES, [IDS], |_, _| {
            Call::get(RESOURCES)
                .with_query("isActive", "true")
                .with_query("availableFrom", "2026-11-23T08:00:00Z")
                .with_query("availableTo", "2026-11-23T09:00:00Z")
        }),
        entry(Method::GET, ONE_RESOURCE, [ONE], |tenant, _| {
            Call::get(&format!("{RESOURCES}/{}", tenant.child))
        }),
        entry(Method::POST, RESOURCES, [USER], |tenant, _| {
            Call::post(
                RESOURCES,
                json!({"type": "worker", "name": "New", "code": "N1", "userId": tenant.colleague.id, "isActive": true,
                    "notes": "N"}),
            )
        }),
        entry(Method::PUT, ONE_RESOURCE, [ONE, USER], |tenant, _| {
            Call::put(
                &format!("{RESOURCES}/{}", worker(tenant)),
                json!({"type": "worker", "name": "Renamed", "code": "R1", "userId": null, "isActive": false, "notes": null}),
            )
        }),
        entry(Method::DELETE, ONE_RESOURCE, [ONE], |tenant, _| {
            Call::new(Method::DELETE, &format!("{RESOURCES}/{}", tenant.parent))
        }),
    ]
}

fn assignments() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            ASSIGNMENTS,
            [
                IDS,
                inside(Place::QueryList("jobSiteIds")),
                inside(Place::QueryList("subjectIds")),
            ],
            |_, _| {
                Call::get(ASSIGNMENTS)
                    .with_query("from", "2026-11-23T00:00:00Z")
                    .with_query("to", "2026-11-24T00:00:00Z")
                    .with_query("statuses", "completed")
                    .with_query("hasConflicts", "false")
            },
        ),
        entry(Method::GET, ONE_ASSIGNMENT, [ONE], |tenant, _| {
            Call::get(&format!("{ASSIGNMENTS}/{}", tenant.child))
        }),
        entry(Method::POST, ASSIGNMENTS, [JOB_SITE, SUBJECT], |tenant, _| {
            Call::post(ASSIGNMENTS, assignment(tenant)).with_query("rejectConflicts", "false")
        }),
        entry(Method::PUT, ONE_ASSIGNMENT, [ONE, JOB_SITE, SUBJECT], |tenant, _| {
            Call::put(
                &format!("{ASSIGNMENTS}/{}", tenant.child),
                json!({"jobSiteId": tenant.child, "subjectType": "equipment", "subjectId": tenant.child,
                    "startDate": "2026-11-25", "endDateExclusive": "2026-11-27", "status": "confirmed", "note": "M"}),
            )
            .with_query("rejectConflicts", "true")
        }),
        entry(Method::DELETE, ONE_ASSIGNMENT, [ONE], |tenant, _| {
            Call::new(Method::DELETE, &format!("{ASSIGNMENTS}/{}", tenant.parent))
        }),
        entry(
            Method::POST,
            CHECK,
            [inside(Place::Body("id")), JOB_SITE, SUBJECT],
            |tenant, _| Call::post(CHECK, assignment(tenant)).with_field("id", json!(tenant.root)),
        ),
        entry(
            Method::POST,
            BULK,
            [
                inside(Place::Body("items[].jobSiteId")),
                inside(Place::Body("items[].subjectId")),
            ],
            |tenant, _| Call::post(BULK, json!({"items": [assignment(tenant), assignment(tenant)]})),
        ),
        entry(Method::POST, BULK_UPDATE, [JOB_SITE], |tenant, _| {
            Call::post(
                BULK_UPDATE,
                json!({"ids": [tenant.root], "status": "confirmed", "jobSiteId": tenant.root, "shiftMinutes": 60}),
            )
        }),
    ]
}
