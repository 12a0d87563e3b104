//! The entries of `calendar`. Every window has the id of its organization, so that the id of another organization is also the id of
//! a window there.

use actix_web::http::Method;
use serde_json::json;

use super::table::{at, entry};
use super::{Entry, Kind, Target};
use crate::call::{Call, Place};

const WINDOWS: &str = "/calendar/windows";

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
        entry(Method::GET, WINDOWS, IDS, |_, _| Call::get(WINDOWS)),
        entry(Method::GET, "/calendar/windows/{id}", [ONE], |tenant, _| {
            Call::get(&format!("{WINDOWS}/{}", tenant.child))
        }),
        entry(Method::POST, WINDOWS, [ORGANIZATION], |tenant, _| {
            Call::post(
                WINDOWS,
                json!({"organizationId": tenant.child, "name": "New", "note": "N"}),
            )
        }),
        entry(
            Method::PUT,
            WINDOWS,
            [inside(Place::Body("id")), ORGANIZATION],
            |tenant, _| {
                let organization = tenant.child;
                Call::put(
                    WINDOWS,
                    json!({"id": tenant.child, "organizationId": organization, "name": "Renamed", "note": "M"}),
                )
            },
        ),
        entry(Method::DELETE, WINDOWS, [inside(Place::Query("id"))], |tenant, _| {
            Call::delete(WINDOWS, tenant.parent)
        }),
    ]
}
