//! The entries of deals, pipelines and stages.

use actix_web::http::Method;
use serde_json::json;

use crate::call::{Call, Place};
use crate::customers::Customer;
use crate::endpoints::table::{at, entry};
use crate::endpoints::{Entry, Kind, Target};

const DEALS: &str = "/customers/deals";
const PIPELINES: &str = "/customers/pipelines";
const STAGES: &str = "/customers/pipeline-stages";
const REORDER: &str = "/customers/pipeline-stages/reorder";

pub(super) fn table() -> Vec<Entry> {
    let mut table = deals();
    table.extend(pipelines());
    table.extend(stages());
    table
}

/// The last segment of the path; without it the path is a different one.
pub(super) const fn segment(customer: Customer) -> [Target; 1] {
    [Target {
        strict: false,
        ..at(Place::Path, Kind::Customer(customer))
    }]
}

/// The record that a write changes.
pub(super) const fn subject(place: Place, customer: Customer) -> Target {
    at(place, Kind::Customer(customer))
}

fn deals() -> Vec<Entry> {
    let by = |name, customer| at(Place::QueryList(name), Kind::Customer(customer));
    let refers = [
        at(Place::Body("ownerUserId"), Kind::User),
        subject(Place::Body("pipelineId"), Customer::Pipeline),
        subject(Place::Body("pipelineStageId"), Customer::Stage),
        subject(Place::BodyList("personIds"), Customer::Person),
        subject(Place::BodyList("companyIds"), Customer::Company),
    ];
    let [owner, pipeline, stage, people, companies] = refers;
    vec![
        entry(
            Method::GET,
            DEALS,
            [
                by("ids", Customer::Deal),
                by("pipelineId", Customer::Pipeline),
                by("pipelineStageId", Customer::Stage),
                by("personIds", Customer::Person),
                by("companyIds", Customer::Company),
                at(Place::QueryList("ownerUserId"), Kind::Owner),
            ],
            |_, _| Call::get(DEALS),
        ),
        entry(
            Method::GET,
            "/customers/deals/{id}",
            segment(Customer::Deal),
            |tenant_fixture, _| Call::get(&format!("{DEALS}/{}", Customer::Deal.of(tenant_fixture))),
        ),
        entry(
            Method::POST,
            DEALS,
            [
                at(Place::Body("organizationId"), Kind::Organization),
                owner,
                pipeline,
                stage,
                people,
                companies,
            ],
            |tenant_fixture, _| {
                let body = json!({"title": "Made", "organizationId": tenant_fixture.child, "description": "D", "status": "open",
                    "valueCurrency": "EUR", "expectedCloseOn": "2027-01-31", "ownerUserId": tenant_fixture.tenant_admin.id, "source": "Web"});
                Call::post(DEALS, body)
            },
        ),
        entry(
            Method::PUT,
            DEALS,
            [
                subject(Place::Body("id"), Customer::Deal),
                at(Place::Body("organizationId"), Kind::Organization),
                owner,
                pipeline,
                stage,
                people,
                companies,
            ],
            |tenant_fixture, _| {
                let body = json!({"id": Customer::Deal.of(tenant_fixture), "title": "Renamed", "description": "D", "status": "lost",
                    "lostReason": "Price", "valueCurrency": "USD", "expectedCloseOn": "2027-01-31", "source": "Web"});
                Call::put(DEALS, body)
            },
        ),
        entry(
            Method::DELETE,
            DEALS,
            [subject(Place::Query("id"), Customer::Deal)],
            |tenant_fixture, _| Call::delete(DEALS, Customer::BareDeal.of(tenant_fixture)),
        ),
    ]
}

fn pipelines() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            PIPELINES,
            [at(Place::QueryList("ids"), Kind::Customer(Customer::Pipeline))],
            |_, _| Call::get(PIPELINES),
        ),
        entry(
            Method::GET,
            "/customers/pipelines/{id}",
            segment(Customer::Pipeline),
            |tenant_fixture, _| Call::get(&format!("{PIPELINES}/{}", Customer::Pipeline.of(tenant_fixture))),
        ),
        entry(
            Method::POST,
            PIPELINES,
            [at(Place::Body("organizationId"), Kind::Organization)],
            |tenant_fixture, _| {
                Call::post(
                    PIPELINES,
                    json!({"name": "Made", "organizationId": tenant_fixture.child}),
                )
            },
        ),
        entry(
            Method::PUT,
            PIPELINES,
            [
                subject(Place::Body("id"), Customer::Pipeline),
                at(Place::Body("organizationId"), Kind::Organization),
            ],
            |tenant_fixture, _| {
                let body = json!({"id": Customer::Pipeline.of(tenant_fixture), "name": "Renamed", "organizationId": tenant_fixture.other});
                Call::put(PIPELINES, body)
            },
        ),
        entry(
            Method::DELETE,
            PIPELINES,
            [subject(Place::Query("id"), Customer::Pipeline)],
            |tenant_fixture, _| Call::delete(PIPELINES, Customer::FreePipeline.of(tenant_fixture)),
        ),
    ]
}

fn stages() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            STAGES,
            [
                at(Place::QueryList("ids"), Kind::Customer(Customer::Stage)),
                at(Place::QueryList("pipelineId"), Kind::Customer(Customer::Pipeline)),
            ],
            |_, _| Call::get(STAGES),
        ),
        entry(
            Method::GET,
            "/customers/pipeline-stages/{id}",
            segment(Customer::Stage),
            |tenant_fixture, _| Call::get(&format!("{STAGES}/{}", Customer::Stage.of(tenant_fixture))),
        ),
        entry(
            Method::POST,
            STAGES,
            [
                at(Place::Body("organizationId"), Kind::Organization),
                subject(Place::Body("pipelineId"), Customer::Pipeline),
            ],
            |tenant_fixture, _| {
                let body =
                    json!({"pipelineId": Customer::Pipeline.of(tenant_fixture), "label": "Made", "color": "#00ff00"});
                Call::post(STAGES, body)
            },
        ),
        entry(
            Method::PUT,
            STAGES,
            [
                subject(Place::Body("id"), Customer::Stage),
                at(Place::Body("organizationId"), Kind::Organization),
                subject(Place::Body("pipelineId"), Customer::Pipeline),
            ],
            |tenant_fixture, _| {
                let body = json!({"id": Customer::Stage.of(tenant_fixture), "label": "Renamed", "color": "#0000ff"});
                Call::put(STAGES, body)
            },
        ),
        entry(
            Method::POST,
            REORDER,
            [
                subject(Place::Body("pipelineId"), Customer::Pipeline),
                subject(Place::BodyList("ids"), Customer::Stage),
            ],
            |tenant_fixture, _| {
                let ids = [
                    Customer::SecondFreeStage.of(tenant_fixture),
                    Customer::FreeStage.of(tenant_fixture),
                ];
                Call::post(
                    REORDER,
                    json!({"pipelineId": Customer::FreePipeline.of(tenant_fixture), "ids": ids}),
                )
            },
        ),
        entry(
            Method::DELETE,
            STAGES,
            [subject(Place::Query("id"), Customer::Stage)],
            |tenant_fixture, _| Call::delete(STAGES, Customer::Third.of(tenant_fixture)),
        ),
    ]
}
