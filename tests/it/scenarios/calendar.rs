//! Scenarios of the commands of `calendar`. New records belong to the caller's organization, `root`; a caller without a tenant has none.

use actix_web::http::Method;
use serde_json::json;

use super::{Scenario, scenario};
use crate::call::Call;
use crate::fixture::TenantFixture;

const WINDOWS: &str = "/calendar/availability-windows";
const SERIES: &str = "/calendar/availability-series";

fn by_member(command: &'static str, state: &'static str, call: fn(&TenantFixture) -> Call) -> Scenario {
    Scenario {
        by_anybody: false,
        ..scenario(command, state, call)
    }
}

pub(crate) fn scenarios() -> Vec<Scenario> {
    let mut all = windows();
    all.extend(series());
    all.push(by_member("calendar.working_calendar.replace", "another zone", |_| {
        Call::put(
            "/calendar/working-calendar",
            json!({"timeZone": "Asia/Tokyo", "offWeekdays": ["sun"],
                "holidays": [{"date": "2026-12-24"}, {"date": "2026-12-25", "name": "N"}]}),
        )
    }));
    all
}

fn windows() -> Vec<Scenario> {
    vec![
        by_member("calendar.window.create", "all fields", |tenant| {
            Call::post(
                WINDOWS,
                json!({"resourceType": "worker", "resourceId": tenant.root, "startDate": "2026-11-23",
                    "endDateExclusive": "2026-11-25", "reasonCode": "vacation", "note": "N"}),
            )
        }),
        scenario("calendar.window.update", "all fields", |tenant| {
            Call::put(
                &format!("{WINDOWS}/{}", tenant.child),
                json!({"resourceType": "vehicle", "resourceId": tenant.root, "startDate": "2026-11-24",
                    "endDateExclusive": "2026-11-27", "reasonCode": "accident", "note": null}),
            )
        }),
        scenario("calendar.window.delete", "alone", |tenant| {
            Call::new(Method::DELETE, &format!("{WINDOWS}/{}", tenant.other))
        }),
    ]
}

fn series() -> Vec<Scenario> {
    vec![
        by_member("calendar.series.create", "all fields", |tenant| {
            Call::post(
                SERIES,
                json!({"resourceType": "worker", "resourceId": tenant.root, "startDate": "2026-11-23",
                    "endDateExclusive": "2026-11-25", "reasonCode": "vacation", "note": "N", "rrule": "FREQ=WEEKLY;COUNT=3"}),
            )
        }),
        scenario("calendar.series.update", "all fields", |tenant| {
            Call::put(
                &format!("{SERIES}/{}", tenant.child),
                json!({"resourceType": "vehicle", "resourceId": tenant.root, "startDate": "2026-12-03",
                    "endDateExclusive": "2026-12-05", "reasonCode": "accident", "note": null, "rrule": "FREQ=DAILY;COUNT=2",
                    "from": "2026-12-02"}),
            )
        }),
        scenario("calendar.series.update", "ending", |tenant| {
            Call::new(Method::DELETE, &format!("{SERIES}/{}", tenant.parent)).with_query("from", "2026-12-08")
        }),
        scenario("calendar.series.delete", "with a moved window", |tenant| {
            Call::new(Method::DELETE, &format!("{SERIES}/{}", tenant.other))
        }),
    ]
}
