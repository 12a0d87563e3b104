//! The entries of jobs, and of the requests that start them. The job checks whether a resource exists, so its ids are not targets of the request.

use actix_web::http::Method;
use serde_json::json;

use super::table::{at, entry};
use super::{Entry, Kind, Target};
use crate::call::{Call, Place};
use crate::customers::Customer;
use crate::progress::Job;

const JOBS: &str = "/progress/jobs";
const OWNERS: &str = "/customers/deals/bulk-update-owner";
const STAGES: &str = "/customers/deals/bulk-update-stage";
const DELETION: &str = "/catalog/bulk-delete";

/// An invalid id is treated as a missing job.
const fn job(place: Place, job: Job) -> [Target; 1] {
    [Target {
        strict: false,
        ..at(place, Kind::Job(job))
    }]
}

pub(crate) fn table() -> Vec<Entry> {
    let mut table = jobs();
    table.extend(operations());
    table
}

fn operations() -> Vec<Entry> {
    let stage = Kind::Customer(Customer::Stage);
    vec![
        entry(
            Method::POST,
            OWNERS,
            [at(Place::Body("ownerUserId"), Kind::User)],
            |tenant_fixture, _| {
                let ids = [Customer::Deal.of(tenant_fixture), Customer::BareDeal.of(tenant_fixture)];
                Call::post(OWNERS, json!({"ids": ids, "ownerUserId": tenant_fixture.admin.id}))
            },
        ),
        entry(
            Method::POST,
            STAGES,
            [at(Place::Body("pipelineStageId"), stage)],
            |tenant_fixture, _| {
                let ids = [Customer::Deal.of(tenant_fixture)];
                Call::post(
                    STAGES,
                    json!({"ids": ids, "pipelineStageId": Customer::Second.of(tenant_fixture)}),
                )
            },
        ),
        entry(Method::POST, DELETION, [], |tenant_fixture, _| {
            Call::post(
                DELETION,
                json!({"confirm": true, "scope": "selected", "ids": [tenant_fixture.leaf]}),
            )
        }),
    ]
}

fn jobs() -> Vec<Entry> {
    vec![
        entry(Method::GET, "/progress/active", [], |_, _| {
            Call::get("/progress/active").with_query("mine", "true")
        }),
        entry(
            Method::GET,
            JOBS,
            [at(Place::QueryList("ids"), Kind::Job(Job::Failed))],
            |_, _| {
                Call::get(JOBS)
                    .with_query("status", "running,failed")
                    .with_query("search", "own")
            },
        ),
        entry(
            Method::GET,
            "/progress/jobs/{id}",
            job(Place::Path, Job::Failed),
            |tenant_fixture, _| Call::get(&format!("{JOBS}/{}", Job::Failed.of(tenant_fixture))),
        ),
        entry(
            Method::GET,
            "/progress/jobs/{id}/items",
            job(Place::Inner, Job::Failed),
            |tenant_fixture, _| {
                Call::get(&format!("{JOBS}/{}/items", Job::Failed.of(tenant_fixture))).with_query("state", "failed")
            },
        ),
        entry(
            Method::POST,
            "/progress/jobs/{id}/cancel",
            job(Place::Inner, Job::Running),
            |tenant_fixture, _| {
                Call::new(
                    Method::POST,
                    &format!("{JOBS}/{}/cancel", Job::Running.of(tenant_fixture)),
                )
            },
        ),
        entry(
            Method::POST,
            "/progress/jobs/{id}/retry",
            job(Place::Inner, Job::Failed),
            |tenant_fixture, _| {
                Call::new(
                    Method::POST,
                    &format!("{JOBS}/{}/retry", Job::Failed.of(tenant_fixture)),
                )
            },
        ),
    ]
}
