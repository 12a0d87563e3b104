//! The entries of `alerts`. Every alert has the id of its organization, so that the id of another organization is also the id of an alert there.

use actix_web::http::Method;
use serde_json::json;

use super::table::{at, entry};
use super::{Entry, Kind, Target};
use crate::call::{Call, Place};
use crate::fixture::TenantFixture;

const ALERTS: &str = "/alerts/alerts";
const ONE_ALERT: &str = "/alerts/alerts/{id}";
const READ: &str = "/alerts/alerts/{id}/read";
const ACKNOWLEDGE: &str = "/alerts/alerts/{id}/acknowledge";

/// The id in the path. A malformed one is like an unknown one.
const ONE: Target = Target {
    strict: false,
    ..at(Place::Path, Kind::Organization)
};

fn about(tenant: &TenantFixture, action: &str) -> String {
    format!("{ALERTS}/{}/{action}", tenant.child)
}

pub(crate) fn table() -> Vec<Entry> {
    let listed = |name, kind| at(Place::QueryList(name), kind);
    vec![
        entry(
            Method::GET,
            ALERTS,
            [
                at(Place::Query("id"), Kind::Organization),
                listed("ids", Kind::Organization),
                listed("jobSiteIds", Kind::Alerted),
                listed("subjectIds", Kind::Alerted),
            ],
            |_, _| {
                Call::get(ALERTS)
                    .with_query("subjectType", "vehicle")
                    .with_query("kinds", "subject_overlap_same_site")
                    .with_query("urgencies", "critical")
                    .with_query("unreadOnly", "false")
                    .with_query("resolved", "false")
            },
        ),
        entry(Method::GET, ONE_ALERT, [ONE], |tenant, _| {
            Call::get(&format!("{ALERTS}/{}", tenant.child))
        }),
        entry(Method::GET, "/alerts/summary", [], |_, _| Call::get("/alerts/summary")),
        entry(Method::POST, READ, [ONE], |tenant, _| {
            Call::new(Method::POST, &about(tenant, "read"))
        }),
        entry(Method::DELETE, READ, [ONE], |tenant, _| {
            Call::new(Method::DELETE, &about(tenant, "read"))
        }),
        entry(Method::POST, "/alerts/alerts/read-all", [], |_, _| {
            Call::new(Method::POST, "/alerts/alerts/read-all")
        }),
        entry(Method::POST, ACKNOWLEDGE, [ONE], |tenant, _| {
            Call::post(&about(tenant, "acknowledge"), json!({"note": "Known"}))
        }),
        entry(Method::DELETE, ACKNOWLEDGE, [ONE], |tenant, _| {
            Call::new(Method::DELETE, &about(tenant, "acknowledge"))
        }),
    ]
}
