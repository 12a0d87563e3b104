//! The entries of `calendar`. Every record has the id of its organization, so that the id of another organization is also the id of a window, a series
//! and a feed there. New records belong to the caller's organization, which is `root`. Resources need not exist: any id names one.

use actix_web::http::Method;
use serde_json::json;

use super::table::{at, entry};
use super::{Entry, Kind, Target};
use crate::calendar::feed_token;
use crate::call::{Call, Place};

const WINDOWS: &str = "/calendar/availability-windows";
const SERIES: &str = "/calendar/availability-series";
const CALENDAR: &str = "/calendar/working-calendar";
const FEEDS: &str = "/calendar/feeds";
const ONE_WINDOW: &str = "/calendar/availability-windows/{id}";
const ONE_SERIES: &str = "/calendar/availability-series/{id}";
const ONE_FEED: &str = "/calendar/feeds/{id}";

const fn inside(place: Place) -> Target {
    at(place, Kind::Organization)
}

/// The id in the path. A malformed one is like an unknown one.
const ONE: Target = Target {
    strict: false,
    ..inside(Place::Path)
};
const RESOURCES: Target = inside(Place::QueryList("resourceIds"));
/// Without a resource the request is rejected.
const BUSY: Target = Target {
    strict: false,
    ..RESOURCES
};

pub(crate) fn table() -> Vec<Entry> {
    let mut table = windows();
    table.extend(series());
    table.extend(calendars());
    table.extend(feeds());
    table
}

fn windows() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            WINDOWS,
            [
                inside(Place::Query("id")),
                inside(Place::QueryList("ids")),
                RESOURCES,
                inside(Place::Query("seriesId")),
            ],
            |_, _| {
                Call::get(WINDOWS)
                    .with_query("from", "2026-11-20")
                    .with_query("to", "2026-12-20")
                    .with_query("resourceType", "equipment")
                    .with_query("reasonCodes", "maintenance")
            },
        ),
        entry(Method::GET, ONE_WINDOW, [ONE], |tenant, _| {
            Call::get(&format!("{WINDOWS}/{}", tenant.child))
        }),
        entry(Method::POST, WINDOWS, [], |tenant, _| {
            Call::post(
                WINDOWS,
                json!({"resourceType": "worker", "resourceId": tenant.root, "startDate": "2026-11-23",
                    "endDateExclusive": "2026-11-25", "reasonCode": "vacation", "note": "N"}),
            )
        }),
        entry(
            Method::PUT,
            ONE_WINDOW,
            [ONE, inside(Place::Body("id"))],
            |tenant, _| {
                Call::put(
                    &format!("{WINDOWS}/{}", tenant.child),
                    json!({"id": tenant.child, "resourceType": "vehicle", "resourceId": tenant.child, "startDate": "2026-11-24",
                        "endDateExclusive": "2026-11-27", "reasonCode": "accident", "note": null}),
                )
            },
        ),
        entry(Method::DELETE, ONE_WINDOW, [ONE], |tenant, _| {
            Call::new(Method::DELETE, &format!("{WINDOWS}/{}", tenant.parent))
        }),
        entry(Method::GET, "/calendar/availability", [BUSY], |tenant, _| {
            Call::get("/calendar/availability")
                .with_query("resourceType", "equipment")
                .with_query("resourceIds", &tenant.child.to_string())
                .with_query("from", "2026-11-20T00:00:00Z")
                .with_query("to", "2026-12-20T00:00:00Z")
        }),
        entry(Method::GET, "/calendar/unavailability-reasons", [], |_, _| {
            Call::get("/calendar/unavailability-reasons")
        }),
    ]
}

fn series() -> Vec<Entry> {
    vec![
        entry(Method::GET, ONE_SERIES, [ONE], |tenant, _| {
            Call::get(&format!("{SERIES}/{}", tenant.child))
        }),
        entry(Method::POST, SERIES, [], |tenant, _| {
            Call::post(
                SERIES,
                json!({"resourceType": "worker", "resourceId": tenant.root, "startDate": "2026-11-23",
                    "endDateExclusive": "2026-11-25", "reasonCode": "vacation", "note": "N", "rrule": "FREQ=WEEKLY;COUNT=3"}),
            )
        }),
        entry(
            Method::PUT,
            ONE_SERIES,
            [ONE, inside(Place::Body("id"))],
            |tenant, _| {
                Call::put(
                    &format!("{SERIES}/{}", tenant.child),
                    json!({"id": tenant.child, "resourceType": "vehicle", "resourceId": tenant.child, "startDate": "2026-12-03",
                        "endDateExclusive": "2026-12-05", "reasonCode": "accident", "note": null, "rrule": "FREQ=DAILY;COUNT=2",
                        "from": "2026-12-02"}),
                )
            },
        ),
        entry(Method::DELETE, ONE_SERIES, [ONE], |tenant, _| {
            Call::new(Method::DELETE, &format!("{SERIES}/{}", tenant.parent)).with_query("from", "2026-12-08")
        }),
    ]
}

fn calendars() -> Vec<Entry> {
    vec![
        entry(Method::GET, CALENDAR, [], |_, _| Call::get(CALENDAR)),
        entry(Method::PUT, CALENDAR, [], |_, _| {
            Call::put(
                CALENDAR,
                json!({"timeZone": "Asia/Tokyo", "offWeekdays": ["sun"], "holidays": [{"date": "2026-12-25", "name": "N"}]}),
            )
        }),
        entry(Method::GET, "/calendar/working-days", [], |_, _| {
            Call::get("/calendar/working-days")
                .with_query("from", "2026-11-20")
                .with_query("to", "2026-12-20")
        }),
    ]
}

fn feeds() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            FEEDS,
            [inside(Place::Query("id")), inside(Place::QueryList("ids"))],
            |_, _| Call::get(FEEDS),
        ),
        entry(Method::POST, FEEDS, [], |tenant, _| {
            Call::post(
                FEEDS,
                json!({"name": "New", "include": ["windows", "assignments"], "resourceType": "equipment",
                        "resourceIds": [tenant.child], "jobSiteIds": [tenant.child]}),
            )
        }),
        entry(Method::DELETE, ONE_FEED, [ONE], |tenant, _| {
            Call::new(Method::DELETE, &format!("{FEEDS}/{}", tenant.parent))
        }),
        entry(Method::GET, "/calendar/feed/{token}", [], |tenant, _| {
            Call::get(&format!("/calendar/feed/{}", feed_token(tenant.child)))
        }),
    ]
}
