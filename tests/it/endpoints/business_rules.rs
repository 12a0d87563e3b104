//! The entries of `business-rules`. Every rule has the id of its organization, so that the id of another organization is also the id of
//! a rule there.

use actix_web::http::Method;
use serde_json::json;

use super::table::{at, entry};
use super::{Entry, Kind, Target};
use crate::call::{Call, Place};

const RULES: &str = "/business_rules/rules";

const fn inside(place: Place) -> Target {
    at(place, Kind::Organization)
}

/// The id in the path. It is exempt from the check of malformed ids, because a path with an empty id is a different path.
const ONE: Target = Target {
    strict: false,
    ..inside(Place::Path)
};
const IDS: [Target; 2] = [inside(Place::Query("id")), inside(Place::QueryList("ids"))];
const ORGANIZATION: Target = inside(Place::Body("organizationId"));

pub(crate) fn table() -> Vec<Entry> {
    vec![
        entry(Method::GET, RULES, IDS, |_, _| Call::get(RULES)),
        entry(Method::GET, "/business_rules/rules/{id}", [ONE], |tenant, _| {
            Call::get(&format!("{RULES}/{}", tenant.child))
        }),
        entry(Method::POST, RULES, [ORGANIZATION], |tenant, _| {
            Call::post(
                RULES,
                json!({"organizationId": tenant.child, "name": "New", "note": "N"}),
            )
        }),
        entry(
            Method::PUT,
            RULES,
            [inside(Place::Body("id")), ORGANIZATION],
            |tenant, _| {
                let organization = tenant.child;
                Call::put(
                    RULES,
                    json!({"id": tenant.child, "organizationId": organization, "name": "Renamed", "note": "M"}),
                )
            },
        ),
        entry(Method::DELETE, RULES, [inside(Place::Query("id"))], |tenant, _| {
            Call::delete(RULES, tenant.parent)
        }),
    ]
}
