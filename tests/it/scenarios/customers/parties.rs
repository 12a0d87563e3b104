//! Commands on companies and people.

use serde_json::json;

use crate::call::Call;
use crate::customers::Customer;
use crate::scenarios::{Scenario, scenario};
use crate::world::House;

const COMPANIES: &str = "/customers/companies";
const PEOPLE: &str = "/customers/people";

/// Where a new one belongs is clear only to those who belong to the tenant.
fn made(command: &'static str, state: &'static str, call: fn(&House) -> Call) -> Scenario {
    Scenario {
        by_anybody: false,
        ..scenario(command, state, call)
    }
}

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut all = companies();
    all.extend(people());
    all
}

fn companies() -> Vec<Scenario> {
    vec![
        made("customers.company.create", "all members", |house| {
            let body = json!({"organizationId": house.child, "displayName": "Made", "legalName": "Made Ltd",
                "description": "Notes", "primaryEmail": "info@made.test", "primaryPhone": "+48 1",
                "websiteUrl": "https://made.test", "industry": "Trade", "ownerUserId": house.keeper.id, "isActive": false});
            Call::post(COMPANIES, body)
        }),
        made("customers.company.create", "bare", |_| {
            Call::post(COMPANIES, json!({"displayName": "Bare"}))
        }),
        scenario("customers.company.update", "with people and deals", |house| {
            let body = json!({"id": Customer::Company.of(house), "displayName": "Renamed", "legalName": "R",
                "description": "D", "primaryEmail": "r@r.test", "primaryPhone": "1", "industry": "I",
                "ownerUserId": house.admin.id, "isActive": false});
            Call::put(COMPANIES, body)
        }),
        scenario("customers.company.update", "cleared", |house| {
            let body = json!({"id": Customer::SpareCompany.of(house), "websiteUrl": null, "ownerUserId": null});
            Call::put(COMPANIES, body)
        }),
        scenario("customers.company.delete", "with people and deals", |house| {
            Call::delete(COMPANIES, Customer::Company.of(house))
        }),
        scenario("customers.company.delete", "alone", |house| {
            Call::delete(COMPANIES, Customer::SpareCompany.of(house))
        }),
    ]
}

fn people() -> Vec<Scenario> {
    vec![
        made("customers.person.create", "all members", |house| {
            let body = json!({"organizationId": house.leaf, "firstName": "Eve", "lastName": "Doe", "displayName": "E.",
                "jobTitle": "Buyer", "primaryEmail": "eve@made.test", "primaryPhone": "+48 2",
                "companyId": Customer::Company.of(house), "ownerUserId": house.keeper.id, "isActive": false});
            Call::post(PEOPLE, body)
        }),
        made("customers.person.create", "bare", |_| {
            Call::post(PEOPLE, json!({"firstName": "Eve", "lastName": "Doe"}))
        }),
        scenario("customers.person.update", "into another company", |house| {
            let body = json!({"id": Customer::Person.of(house), "firstName": "Adele", "lastName": "Roe",
                "displayName": null, "jobTitle": "T", "primaryEmail": "a@r.test", "primaryPhone": "1",
                "companyId": Customer::SpareCompany.of(house), "ownerUserId": house.admin.id, "isActive": false});
            Call::put(PEOPLE, body)
        }),
        scenario("customers.person.update", "out of its company", |house| {
            Call::put(PEOPLE, json!({"id": Customer::Person.of(house), "companyId": null}))
        }),
        scenario("customers.person.delete", "with company and deals", |house| {
            Call::delete(PEOPLE, Customer::Person.of(house))
        }),
        scenario("customers.person.delete", "alone", |house| {
            Call::delete(PEOPLE, Customer::SparePerson.of(house))
        }),
    ]
}
