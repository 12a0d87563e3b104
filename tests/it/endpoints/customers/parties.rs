//! The entries of companies and people.

use actix_web::http::Method;
use serde_json::json;

use crate::call::{Call, Place};
use crate::customers::Customer;
use crate::endpoints::table::{at, entry};
use crate::endpoints::{Entry, Kind, Target};

const COMPANIES: &str = "/customers/companies";
const PEOPLE: &str = "/customers/people";

const COMPANY: Kind = Kind::Customer(Customer::Company);
const PERSON: Kind = Kind::Customer(Customer::Person);
const OWNER: Target = at(Place::Body("ownerUserId"), Kind::User);
const ORGANIZATION: Target = at(Place::Body("organizationId"), Kind::Organization);

/// The id in the path. It is exempt from the check of malformed ids, because a path with an empty id is a different path.
const fn in_path(kind: Kind) -> Target {
    Target {
        strict: false,
        ..at(Place::Path, kind)
    }
}

pub(super) fn table() -> Vec<Entry> {
    let mut table = companies();
    table.extend(people());
    table
}

fn companies() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            COMPANIES,
            [
                at(Place::QueryList("ids"), COMPANY),
                at(Place::QueryList("ownerUserId"), Kind::Owner),
            ],
            |_, _| {
                Call::get(COMPANIES)
                    .with_query("isActive", "true")
                    .with_query("sortField", "displayName")
            },
        ),
        entry(
            Method::GET,
            "/customers/companies/{id}",
            [in_path(COMPANY)],
            |tenant_fixture, _| Call::get(&format!("{COMPANIES}/{}", Customer::Company.of(tenant_fixture))),
        ),
        entry(Method::POST, COMPANIES, [ORGANIZATION, OWNER], |tenant_fixture, _| {
            Call::post(
                COMPANIES,
                json!({"organizationId": tenant_fixture.child, "displayName": "Made", "legalName": "Made Ltd", "description": "A",
                    "primaryEmail": "info@made.test", "primaryPhone": "+48 1", "websiteUrl": "https://made.test",
                    "industry": "Trade", "ownerUserId": tenant_fixture.tenant_admin.id, "isActive": true}),
            )
        }),
        entry(
            Method::PUT,
            COMPANIES,
            [at(Place::Body("id"), COMPANY), ORGANIZATION, OWNER],
            |tenant_fixture, _| {
                Call::put(
                    COMPANIES,
                    json!({"id": Customer::Company.of(tenant_fixture), "organizationId": tenant_fixture.other, "displayName": "Renamed",
                        "legalName": "R", "websiteUrl": "http://r.test", "ownerUserId": tenant_fixture.admin.id, "isActive": true}),
                )
            },
        ),
        entry(
            Method::DELETE,
            COMPANIES,
            [at(Place::Query("id"), COMPANY)],
            |tenant_fixture, _| Call::delete(COMPANIES, Customer::SpareCompany.of(tenant_fixture)),
        ),
    ]
}

fn people() -> Vec<Entry> {
    let company = at(Place::Body("companyId"), COMPANY);
    vec![
        entry(
            Method::GET,
            PEOPLE,
            [
                at(Place::QueryList("ids"), PERSON),
                at(Place::QueryList("ownerUserId"), Kind::Owner),
                at(Place::QueryList("companyIds"), COMPANY),
            ],
            |_, _| Call::get(PEOPLE).with_query("search", "doe"),
        ),
        entry(
            Method::GET,
            "/customers/people/{id}",
            [in_path(PERSON)],
            |tenant_fixture, _| Call::get(&format!("{PEOPLE}/{}", Customer::Person.of(tenant_fixture))),
        ),
        entry(
            Method::POST,
            PEOPLE,
            [ORGANIZATION, OWNER, company],
            |tenant_fixture, _| {
                Call::post(
                    PEOPLE,
                    json!({"organizationId": tenant_fixture.child, "firstName": "Eve", "lastName": "Doe", "displayName": "E. Doe",
                    "jobTitle": "Buyer", "primaryEmail": "eve@made.test", "primaryPhone": "+48 2",
                    "companyId": Customer::Company.of(tenant_fixture), "ownerUserId": tenant_fixture.tenant_admin.id, "isActive": true}),
                )
            },
        ),
        entry(
            Method::PUT,
            PEOPLE,
            [at(Place::Body("id"), PERSON), ORGANIZATION, OWNER, company],
            |tenant_fixture, _| {
                Call::put(
                    PEOPLE,
                    json!({"id": Customer::Person.of(tenant_fixture), "organizationId": tenant_fixture.other, "firstName": "Adele",
                        "lastName": "Roe", "displayName": "A. Roe", "jobTitle": "Seller",
                        "companyId": Customer::SpareCompany.of(tenant_fixture), "ownerUserId": tenant_fixture.admin.id, "isActive": true}),
                )
            },
        ),
        entry(
            Method::DELETE,
            PEOPLE,
            [at(Place::Query("id"), PERSON)],
            |tenant_fixture, _| Call::delete(PEOPLE, Customer::SparePerson.of(tenant_fixture)),
        ),
    ]
}
