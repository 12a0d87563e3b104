//! The entries of `notifications`. Every notification has the id of an organization of the tenant.

use actix_web::http::Method;
use serde_json::json;

use super::table::{at, entry};
use super::{Entry, Kind, Target};
use crate::call::{Call, Place};
use crate::fixture::TenantFixture;

const LIST: &str = "/notifications";
const PREFERENCES: &str = "/notifications/preferences";

/// The id in the path. It is exempt from the check of malformed ids, because a path with an empty id is a different path.
const ONE: Target = Target {
    strict: false,
    ..at(Place::Path, Kind::Organization)
};

fn mark(tenant_fixture: &TenantFixture, mark: &str) -> Call {
    Call::new(Method::POST, &format!("{LIST}/{}/{mark}", tenant_fixture.parent))
}

pub(crate) fn table() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            LIST,
            [at(Place::QueryList("ids"), Kind::Organization)],
            |_, _| {
                Call::get(LIST)
                    .with_query("status", "unread")
                    .with_query("type", "samples.sample.done")
                    .with_query("severity", "info")
                    .with_query("since", "2026-11-01")
            },
        ),
        entry(Method::GET, "/notifications/unread-count", [], |_, _| {
            Call::get("/notifications/unread-count")
        }),
        entry(Method::POST, "/notifications/{id}/read", [ONE], |tenant_fixture, _| {
            mark(tenant_fixture, "read")
        }),
        entry(
            Method::POST,
            "/notifications/{id}/unread",
            [ONE],
            |tenant_fixture, _| mark(tenant_fixture, "unread"),
        ),
        entry(
            Method::POST,
            "/notifications/{id}/dismiss",
            [ONE],
            |tenant_fixture, _| mark(tenant_fixture, "dismiss"),
        ),
        entry(Method::POST, "/notifications/read-all", [], |_, _| {
            Call::new(Method::POST, "/notifications/read-all")
        }),
        entry(Method::GET, PREFERENCES, [], |_, _| Call::get(PREFERENCES)),
        entry(Method::PUT, PREFERENCES, [], |_, _| {
            Call::put(
                PREFERENCES,
                json!({"items": [{"type": "samples.sample.done", "inApp": true, "push": false, "email": true}]}),
            )
        }),
    ]
}
