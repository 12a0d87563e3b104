//! The facts about all subjects, as the database has them. PostgreSQL derives the local days, with its own time zones.

use std::collections::BTreeMap;

use backoffice_alerts::engine::{
    LiveAssignment, OffDays, ShownAssignment, SiteDays, SubjectFacts, UnavailableInterval,
};
use backoffice_core::Timestamp;
use serde_json::Value;
use time::macros::format_description;
use time::{Date, Weekday};
use uuid::Uuid;

use crate::fixture::Fixture;

fn id(value: &Value) -> Uuid {
    value.as_str().expect("an id").parse().expect("a UUID")
}

fn at(value: &Value) -> Timestamp {
    let millis = value.as_i64().expect("milliseconds");
    Timestamp::UNIX_EPOCH.after(time::Duration::milliseconds(millis))
}

fn day(value: &Value) -> Option<Date> {
    let text = value.as_str()?;
    Some(Date::parse(text, format_description!("[year]-[month]-[day]")).expect("a date"))
}

fn weekday(name: &Value) -> Weekday {
    let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let number = names.iter().position(|known| name == known).expect("a weekday");
    Weekday::Monday.nth_next(u8::try_from(number).expect("a small number"))
}

/// Reads the facts by subject.
pub(super) async fn read(fixture: &Fixture) -> BTreeMap<Uuid, SubjectFacts> {
    let rows = async |sql: &str| fixture.app.rows(sql).await;
    let calendar = rows(
        "select array_to_json(off_weekdays) as off, (select coalesce(json_agg(date), '[]') from calendar_holidays h where h.calendar_id = c.id) \
         as holidays from calendar_working_calendars c",
    )
    .await;
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let off_days = OffDays {
        weekdays: list(&calendar[0]["off"]).iter().map(weekday).collect(),
        holidays: list(&calendar[0]["holidays"]).iter().filter_map(day).collect(),
    };
    let sites: BTreeMap<Uuid, SiteDays> =
        rows("select id, status = 'closed' or deleted_at is not null as closed, start_date, end_date_exclusive from dispatch_job_sites")
            .await
            .iter()
            .map(|row| {
                let days = SiteDays {
                    is_closed: row["closed"] == true,
                    start: day(&row["start_date"]),
                    end_exclusive: day(&row["end_date_exclusive"]),
                };
                (id(&row["id"]), days)
            })
            .collect();
    let mut all: BTreeMap<Uuid, SubjectFacts> = BTreeMap::new();
    for row in rows("select id, not is_active or deleted_at is not null as inactive from dispatch_resources").await {
        let facts = SubjectFacts {
            is_inactive: row["inactive"] == true,
            sites: sites.clone(),
            off_days: off_days.clone(),
            ..SubjectFacts::default()
        };
        all.insert(id(&row["id"]), facts);
    }
    let millis = |column: &str| format!("(extract(epoch from {column}) * 1000)::bigint");
    let assignments = format!(
        "select a.id, subject_id, job_site_id, {} as start_at, {} as end_at, (start_at at time zone time_zone)::date as first_day, \
             ((end_at - interval '1 millisecond') at time zone time_zone)::date as last_day \
         from dispatch_assignments a, calendar_working_calendars where status in ('planned', 'confirmed')",
        millis("start_at"),
        millis("end_at")
    );
    for row in rows(&assignments).await {
        let shown = ShownAssignment {
            start_at: at(&row["start_at"]),
            id: id(&row["id"]),
            end_at: at(&row["end_at"]),
            job_site: id(&row["job_site_id"]),
        };
        let facts = all.get_mut(&id(&row["subject_id"])).expect("a subject");
        facts.assignments.push(LiveAssignment {
            shown,
            first_day: day(&row["first_day"]).expect("a day"),
            last_day: day(&row["last_day"]).expect("a day"),
        });
    }
    let windows = format!(
        "select id, resource_id, {} as start_at, {} as end_at from calendar_windows",
        millis("start_at"),
        millis("end_at")
    );
    for row in rows(&windows).await {
        if let Some(facts) = all.get_mut(&id(&row["resource_id"])) {
            facts.windows.push(UnavailableInterval {
                id: id(&row["id"]),
                start_at: at(&row["start_at"]),
                end_at: at(&row["end_at"]),
            });
        }
    }
    all
}
