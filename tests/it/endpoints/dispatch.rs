//! The entries of `dispatch`. Every job site has the id of its organization, so that the id of another organization is also the id of
//! a job site there.

use actix_web::http::Method;
use serde_json::json;

use super::table::{at, entry};
use super::{Entry, Kind, Target};
use crate::call::{Call, Place};

const JOB_SITES: &str = "/dispatch/job-sites";

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
        entry(Method::GET, JOB_SITES, IDS, |_, _| Call::get(JOB_SITES)),
        entry(Method::GET, "/dispatch/job-sites/{id}", [ONE], |tenant, _| {
            Call::get(&format!("{JOB_SITES}/{}", tenant.child))
        }),
        entry(Method::POST, JOB_SITES, [ORGANIZATION], |tenant, _| {
            Call::post(
                JOB_SITES,
                json!({"organizationId": tenant.child, "name": "New", "note": "N"}),
            )
        }),
        entry(
            Method::PUT,
            JOB_SITES,
            [inside(Place::Body("id")), ORGANIZATION],
            |tenant, _| {
                let organization = tenant.child;
                Call::put(
                    JOB_SITES,
                    json!({"id": tenant.child, "organizationId": organization, "name": "Renamed", "note": "M"}),
                )
            },
        ),
        entry(Method::DELETE, JOB_SITES, [inside(Place::Query("id"))], |tenant, _| {
            Call::delete(JOB_SITES, tenant.parent)
        }),
    ]
}
