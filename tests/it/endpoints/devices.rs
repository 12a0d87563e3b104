//! The entries of `devices`. Every device has the id of its organization.

use actix_web::http::Method;
use serde_json::json;

use super::table::{at, entry};
use super::{Entry, Kind, Target};
use crate::call::{Call, Place};

const DEVICES: &str = "/devices";
const OF_USERS: &str = "/devices/admin/devices";

const fn inside(place: Place) -> Target {
    at(place, Kind::Organization)
}

/// The id in the path. It is exempt from the check of malformed ids, because a path with an empty id is a different path.
const ONE: Target = Target {
    strict: false,
    ..inside(Place::Path)
};

/// The user whose devices are listed.
const OF_USER: Target = at(Place::Query("userId"), Kind::User);
/// The caller, whose devices are those of the fixture: this list shows no others.
const OF_CALLER: Target = at(Place::Query("userId"), Kind::Owner);

pub(crate) fn table() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            DEVICES,
            [inside(Place::QueryList("ids")), OF_CALLER],
            |_, _| Call::get(DEVICES).with_query("platform", "ios"),
        ),
        entry(
            Method::POST,
            DEVICES,
            [at(Place::Body("userId"), Kind::User)],
            |_, _| {
                Call::post(
                    DEVICES,
                    json!({"deviceId": "d1", "platform": "web", "clientAppVersion": "2.0", "osVersion": "18", "locale": "pl",
                    "pushToken": "t1", "pushProvider": "log"}),
                )
            },
        ),
        entry(Method::PUT, "/devices/{id}", [ONE], |tenant_fixture, _| {
            Call::put(
                &format!("{DEVICES}/{}", tenant_fixture.parent),
                json!({"clientAppVersion": "2.0", "osVersion": null, "locale": "de", "pushToken": "t2", "pushProvider": "log",
                    "lastSeenAt": "2026-11-20T07:30:00Z"}),
            )
        }),
        entry(Method::DELETE, "/devices/{id}", [ONE], |tenant_fixture, _| {
            Call::new(Method::DELETE, &format!("{DEVICES}/{}", tenant_fixture.parent))
        }),
        entry(Method::GET, "/devices/push-options", [], |_, _| {
            Call::get("/devices/push-options")
        }),
        entry(Method::POST, "/devices/{id}/test-push", [ONE], |tenant_fixture, _| {
            Call::new(Method::POST, &format!("{DEVICES}/{}/test-push", tenant_fixture.parent))
        }),
        entry(
            Method::GET,
            OF_USERS,
            [inside(Place::QueryList("ids")), OF_USER],
            |_, _| Call::get(OF_USERS),
        ),
        entry(
            Method::POST,
            OF_USERS,
            [at(Place::Body("userId"), Kind::User)],
            |tenant_fixture, _| {
                Call::post(
                    OF_USERS,
                    json!({"userId": tenant_fixture.colleague.id, "deviceId": "d2", "platform": "android"}),
                )
            },
        ),
    ]
}
