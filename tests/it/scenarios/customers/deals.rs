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

/// A command that a super administrator can't run without selecting a tenant: nothing else says where the record belongs.
fn own(command: &'static str, state: &'static str, call: fn(&crate::world::House) -> Call) -> Scenario {
    Scenario {
        by_anybody: false,
        ..scenario(command, state, call)
    }
}

fn deals() -> Vec<Scenario> {
    vec![
        own("customers.deal.create", "all members", |house| {
            let body = json!({"title": " Made ", "organizationId": house.other, "description": "D", "status": "lost",
                "lostReason": "Price", "pipelineStageId": Customer::Second.of(house), "valueAmount": 1999.99, "valueCurrency": "eur",
                "probability": 40, "expectedCloseOn": "2027-02-28", "ownerUserId": house.keeper.id, "source": "Web",
                "personIds": [Customer::Person.of(house), Customer::SparePerson.of(house)],
                "companyIds": [Customer::Company.of(house)]});
            Call::post(DEALS, body)
        }),
        own("customers.deal.create", "bare", |_| {
            Call::post(DEALS, json!({"title": "Bare"}))
        }),
        scenario("customers.deal.update", "all members", |house| {
            let body = json!({"id": Customer::Deal.of(house), "title": "Renamed", "description": "D", "status": "won",
                "pipelineId": Customer::FreePipeline.of(house), "valueAmount": 0.07, "valueCurrency": "USD", "probability": 100,
                "expectedCloseOn": "2026-12-01", "ownerUserId": house.admin.id, "source": "Fair",
                "personIds": [Customer::SparePerson.of(house)], "companyIds": []});
            Call::put(DEALS, body)
        }),
        scenario("customers.deal.update", "all members cleared", |house| {
            let body = json!({"id": Customer::Deal.of(house), "pipelineId": null, "valueAmount": null, "valueCurrency": null,
                "ownerUserId": null, "personIds": null, "companyIds": null});
            Call::put(DEALS, body)
        }),
        scenario("customers.deal.update", "only its people", |house| {
            let people = [Customer::Person.of(house), Customer::SparePerson.of(house)];
            Call::put(DEALS, json!({"id": Customer::Deal.of(house), "personIds": people}))
        }),
        scenario("customers.deal.delete", "with people and companies", |house| {
            Call::delete(DEALS, Customer::Deal.of(house))
        }),
        scenario("customers.deal.delete", "in no pipeline", |house| {
            Call::delete(DEALS, Customer::BareDeal.of(house))
        }),
    ]
}

fn pipelines() -> Vec<Scenario> {
    vec![
        own("customers.pipeline.create", "in an organization", |house| {
            Call::post(PIPELINES, json!({"name": "Made", "organizationId": house.child}))
        }),
        scenario("customers.pipeline.update", "with deals", |house| {
            Call::put(PIPELINES, json!({"id": Customer::Pipeline.of(house), "name": "SALES"}))
        }),
        scenario("customers.pipeline.delete", "with a stage", |house| {
            Call::delete(PIPELINES, Customer::FreePipeline.of(house))
        }),
        scenario("customers.pipeline_stage.create", "behind others", |house| {
            let body = json!({"pipelineId": Customer::Pipeline.of(house), "label": "Made", "color": "#AABBCC"});
            Call::post(STAGES, body)
        }),
        scenario("customers.pipeline_stage.update", "with deals", |house| {
            Call::put(
                STAGES,
                json!({"id": Customer::Stage.of(house), "label": "Renamed", "color": null}),
            )
        }),
        scenario("customers.pipeline_stage.delete", "between others", |house| {
            Call::delete(STAGES, Customer::Second.of(house))
        }),
        scenario("customers.pipeline_stage.reorder", "turned round", |house| {
            let ids = [
                Customer::Third.of(house),
                Customer::Second.of(house),
                Customer::Stage.of(house),
            ];
            let body = json!({"pipelineId": Customer::Pipeline.of(house), "ids": ids});
            Call::post("/customers/pipeline-stages/reorder", body)
        }),
    ]
}
