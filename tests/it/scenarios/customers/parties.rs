//! Commands on companies and people.

use serde_json::json;

use crate::call::Call;
use crate::customers::Customer;
use crate::fixture::TenantFixture;
use crate::scenarios::{Scenario, scenario};

const COMPANIES: &str = "/customers/companies";
const PEOPLE: &str = "/customers/people";

/// The tenant of a new record is known only for callers who belong to one.
fn created(command: &'static str, state: &'static str, call: fn(&TenantFixture) -> Call) -> Scenario {
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
        created("customers.company.create", "all members", |tenant_fixture| {
            let body = json!({"organizationId": tenant_fixture.child, "displayName": "Made", "legalName": "Made Ltd",
                "description": "Notes", "primaryEmail": "info@made.test", "primaryPhone": "+48 1",
                "websiteUrl": "https://made.test", "industry": "Trade", "ownerUserId": tenant_fixture.tenant_admin.id, "isActive": false});
            Call::post(COMPANIES, body)
        }),
        created("customers.company.create", "bare", |_| {
            Call::post(COMPANIES, json!({"displayName": "Bare"}))
        }),
        scenario("customers.company.update", "with people and deals", |tenant_fixture| {
            let body = json!({"id": Customer::Company.of(tenant_fixture), "displayName": "Renamed", "legalName": "R",
                "description": "D", "primaryEmail": "r@r.test", "primaryPhone": "1", "industry": "I",
                "ownerUserId": tenant_fixture.admin.id, "isActive": false});
            Call::put(COMPANIES, body)
        }),
        scenario("customers.company.update", "cleared", |tenant_fixture| {
            let body =
                json!({"id": Customer::SpareCompany.of(tenant_fixture), "websiteUrl": null, "ownerUserId": null});
            Call::put(COMPANIES, body)
        }),
        scenario("customers.company.delete", "with people and deals", |tenant_fixture| {
            Call::delete(COMPANIES, Customer::Company.of(tenant_fixture))
        }),
        scenario("customers.company.delete", "alone", |tenant_fixture| {
            Call::delete(COMPANIES, Customer::SpareCompany.of(tenant_fixture))
        }),
    ]
}

fn people() -> Vec<Scenario> {
    vec![
        created("customers.person.create", "all members", |tenant_fixture| {
            let body = json!({"organizationId": tenant_fixture.leaf, "firstName": "Eve", "lastName": "Doe", "displayName": "E.",
                "jobTitle": "Buyer", "primaryEmail": "eve@made.test", "primaryPhone": "+48 2",
                "companyId": Customer::Company.of(tenant_fixture), "ownerUserId": tenant_fixture.tenant_admin.id, "isActive": false});
            Call::post(PEOPLE, body)
        }),
        created("customers.person.create", "bare", |_| {
            Call::post(PEOPLE, json!({"firstName": "Eve", "lastName": "Doe"}))
        }),
        scenario("customers.person.update", "into another company", |tenant_fixture| {
            let body = json!({"id": Customer::Person.of(tenant_fixture), "firstName": "Adele", "lastName": "Roe",
                "displayName": null, "jobTitle": "T", "primaryEmail": "a@r.test", "primaryPhone": "1",
                "companyId": Customer::SpareCompany.of(tenant_fixture), "ownerUserId": tenant_fixture.admin.id, "isActive": false});
            Call::put(PEOPLE, body)
        }),
        scenario("customers.person.update", "out of its company", |tenant_fixture| {
            Call::put(
                PEOPLE,
                json!({"id": Customer::Person.of(tenant_fixture), "companyId": null}),
            )
        }),
        scenario("customers.person.delete", "with company and deals", |tenant_fixture| {
            Call::delete(PEOPLE, Customer::Person.of(tenant_fixture))
        }),
        scenario("customers.person.delete", "alone", |tenant_fixture| {
            Call::delete(PEOPLE, Customer::SparePerson.of(tenant_fixture))
        }),
    ]
}
