//! Commands on deals, pipelines and stages.

use serde_json::json;

use crate::call::Call;
use crate::customers::Customer;
use crate::scenarios::{Scenario, scenario};

const DEALS: &str = "/customers/deals";
const PIPELINES: &str = "/customers/pipelines";
const STAGES: &str = "/customers/pipeline-stages";

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut all = deals();
    all.extend(pipelines());
    all
}

/// A command that a super administrator can't run without selecting a tenant: the request does not name the record's tenant.
fn own(command: &'static str, state: &'static str, call: fn(&crate::fixture::TenantFixture) -> Call) -> Scenario {
    Scenario {
        by_anybody: false,
        ..scenario(command, state, call)
    }
}

fn deals() -> Vec<Scenario> {
    vec![
        own("customers.deal.create", "all members", |tenant_fixture| {
            let body = json!({"title": " Made ", "organizationId": tenant_fixture.other, "description": "D", "status": "lost",
                "lostReason": "Price", "pipelineStageId": Customer::Second.of(tenant_fixture), "valueAmount": 1999.99, "valueCurrency": "eur",
                "probability": 40, "expectedCloseOn": "2027-02-28", "ownerUserId": tenant_fixture.tenant_admin.id, "source": "Web",
                "personIds": [Customer::Person.of(tenant_fixture), Customer::SparePerson.of(tenant_fixture)],
                "companyIds": [Customer::Company.of(tenant_fixture)]});
            Call::post(DEALS, body)
        }),
        own("customers.deal.create", "bare", |_| {
            Call::post(DEALS, json!({"title": "Bare"}))
        }),
        scenario("customers.deal.update", "all members", |tenant_fixture| {
            let body = json!({"id": Customer::Deal.of(tenant_fixture), "title": "Renamed", "description": "D", "status": "won",
                "pipelineId": Customer::FreePipeline.of(tenant_fixture), "valueAmount": 0.07, "valueCurrency": "USD", "probability": 100,
                "expectedCloseOn": "2026-12-01", "ownerUserId": tenant_fixture.admin.id, "source": "Fair",
                "personIds": [Customer::SparePerson.of(tenant_fixture)], "companyIds": []});
            Call::put(DEALS, body)
        }),
        scenario("customers.deal.update", "all members cleared", |tenant_fixture| {
            let body = json!({"id": Customer::Deal.of(tenant_fixture), "pipelineId": null, "valueAmount": null, "valueCurrency": null,
                "ownerUserId": null, "personIds": null, "companyIds": null});
            Call::put(DEALS, body)
        }),
        scenario("customers.deal.update", "only its people", |tenant_fixture| {
            let people = [
                Customer::Person.of(tenant_fixture),
                Customer::SparePerson.of(tenant_fixture),
            ];
            Call::put(
                DEALS,
                json!({"id": Customer::Deal.of(tenant_fixture), "personIds": people}),
            )
        }),
        scenario("customers.deal.delete", "with people and companies", |tenant_fixture| {
            Call::delete(DEALS, Customer::Deal.of(tenant_fixture))
        }),
        scenario("customers.deal.delete", "in no pipeline", |tenant_fixture| {
            Call::delete(DEALS, Customer::BareDeal.of(tenant_fixture))
        }),
    ]
}

fn pipelines() -> Vec<Scenario> {
    vec![
        own("customers.pipeline.create", "in an organization", |tenant_fixture| {
            Call::post(
                PIPELINES,
                json!({"name": "Made", "organizationId": tenant_fixture.child}),
            )
        }),
        scenario("customers.pipeline.update", "with deals", |tenant_fixture| {
            Call::put(
                PIPELINES,
                json!({"id": Customer::Pipeline.of(tenant_fixture), "name": "SALES"}),
            )
        }),
        scenario("customers.pipeline.delete", "with a stage", |tenant_fixture| {
            Call::delete(PIPELINES, Customer::FreePipeline.of(tenant_fixture))
        }),
        scenario("customers.pipeline_stage.create", "behind others", |tenant_fixture| {
            let body =
                json!({"pipelineId": Customer::Pipeline.of(tenant_fixture), "label": "Made", "color": "#AABBCC"});
            Call::post(STAGES, body)
        }),
        scenario("customers.pipeline_stage.update", "with deals", |tenant_fixture| {
            Call::put(
                STAGES,
                json!({"id": Customer::Stage.of(tenant_fixture), "label": "Renamed", "color": null}),
            )
        }),
        scenario("customers.pipeline_stage.delete", "between others", |tenant_fixture| {
            Call::delete(STAGES, Customer::Second.of(tenant_fixture))
        }),
        scenario("customers.pipeline_stage.reorder", "turned round", |tenant_fixture| {
            let ids = [
                Customer::Third.of(tenant_fixture),
                Customer::Second.of(tenant_fixture),
                Customer::Stage.of(tenant_fixture),
            ];
            let body = json!({"pipelineId": Customer::Pipeline.of(tenant_fixture), "ids": ids});
            Call::post("/customers/pipeline-stages/reorder", body)
        }),
    ]
}
