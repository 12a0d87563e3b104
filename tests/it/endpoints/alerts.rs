//! The entries of `alerts`. Every alert has the id of its organization, so that the id of another organization is also the id of
//! an alert there.

use actix_web::http::Method;
use serde_json::json;

use super::table::{at, entry};
use super::{Entry, Kind, Target};
use crate::call::{Call, Place};

const ALERTS: &str = "/alerts/alerts";

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
        entry(Method::GET, ALERTS, IDS, |_, _| Call::get(ALERTS)),
        entry(Method::GET, "/alerts/alerts/{id}", [ONE], |tenant, _| {
            Call::get(&format!("{ALERTS}/{}", tenant.child))
        }),
        entry(Method::POST, ALERTS, [ORGANIZATION], |tenant, _| {
            Call::post(
                ALERTS,
                json!({"organizationId": tenant.child, "name": "New", "note": "N"}),
            )
        }),
        entry(
            Method::PUT,
            ALERTS,
            [inside(Place::Body("id")), ORGANIZATION],
            |tenant, _| {
                let organization = tenant.child;
                Call::put(
                    ALERTS,
                    json!({"id": tenant.child, "organizationId": organization, "name": "Renamed", "note": "M"}),
                )
            },
        ),
        entry(Method::DELETE, ALERTS, [inside(Place::Query("id"))], |tenant, _| {
            Call::delete(ALERTS, tenant.parent)
        }),
    ]
}
