//! Reads what the alerts of subjects depend on: seven statements, sent in two round trips.
//!
//! An assignment takes at most 366 days and a window at most 1096, so that look-ups of live ones are ranges of an index.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use backoffice_calendar::{Day, Subject, Zone, default_zone};
use backoffice_core::db::Prepared;
use backoffice_core::{Error, Result};
use diesel::pg::Pg;
use diesel::query_builder::{BoxedSqlQuery, SqlQuery};
use diesel::sql_query;
use diesel::sql_types::{Array, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::{try_join, try_join5};
use time::Weekday;
use uuid::Uuid;

use super::Moment;
use super::rows::{
    AlertAssignmentRow, AlertRow, AssignmentRow, CalendarRow, ResourceRow, SiteRow, StoredAlert, WindowRow,
};
use crate::engine::{LiveAssignment, OffDays, OpenAlert, ShownAssignment, SiteDays, SubjectFacts, UnavailableInterval};
use crate::kinds::Kind;

/// Joined with each statement about subjects: their organizations, types and ids, numbered from 1.
macro_rules! subjects {
    ($rest:literal) => {
        concat!(
            "with s as (select * from unnest($2, $3, $4) with ordinality as s (organization_id, type, id, number)) ",
            $rest
        )
    };
}

const RESOURCES: &str = subjects!(
    "select s.number, r.name, (not r.is_active or r.deleted_at is not null) as is_inactive \
     from s join dispatch_resources r on r.tenant_id = $1 and r.id = s.id and $5 is not null"
);

const ASSIGNMENTS: &str = subjects!(
    "select s.number, a.id, a.job_site_id, a.start_at, a.end_at from s cross join lateral ( \
         select * from dispatch_assignments a \
         where a.tenant_id = $1 and a.subject_type = s.type and a.subject_id = s.id and a.organization_id = s.organization_id \
             and a.status in ('planned', 'confirmed') and a.start_at > $5 - interval '367 days' and a.end_at > $5 \
     ) a"
);

const WINDOWS: &str = subjects!(
    "select s.number, w.id, w.start_at, w.end_at from s cross join lateral ( \
         select * from calendar_windows w \
         where w.tenant_id = $1 and w.resource_type = s.type and w.resource_id = s.id and w.organization_id = s.organization_id \
             and w.start_at > $5 - interval '1098 days' and w.end_at > $5 \
             and exists (select from dispatch_assignments a \
                 where a.tenant_id = $1 and a.subject_type = s.type and a.subject_id = s.id \
                     and a.organization_id = s.organization_id and a.status in ('planned', 'confirmed') \
                     and a.start_at < w.end_at and a.start_at > w.start_at - interval '367 days' and a.end_at > w.start_at \
                     and a.end_at > $5) \
     ) w"
);

const ALERTS: &str = subjects!(
    "select s.number, a.id, a.kind, a.identity_key, a.subject_name, a.occurred_at, a.expires_at \
     from s join alerts_alerts a on a.tenant_id = $1 and a.organization_id = s.organization_id and a.subject_type = s.type \
         and a.subject_id = s.id and a.resolved_at is null and $5 is not null"
);

const CALENDARS: &str = "\
select c.id, c.time_zone, c.off_weekdays, \
    array(select h.date from calendar_holidays h where h.tenant_id = c.tenant_id and h.calendar_id = c.id) as holidays \
from calendar_working_calendars c where c.tenant_id = $1 and c.id = any($2)";

const SITES: &str = "\
select id, (status = 'closed' or deleted_at is not null) as is_closed, start_date, end_date_exclusive \
from dispatch_job_sites where tenant_id = $1 and id = any($2)";

const ALERT_ASSIGNMENTS: &str = "\
select alert_id, assignment_id, job_site_id, start_at, end_at from alerts_assignments where tenant_id = $1 and alert_id = any($2)";

/// The facts about subjects, in their order.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) subjects: Vec<SubjectWithFacts>,
}

/// A subject, the facts about it, and its alerts that are not resolved.
#[derive(Debug)]
pub(super) struct SubjectWithFacts {
    pub(super) subject: Subject,
    /// Name of the resource; empty if there is none.
    pub(super) name: String,
    pub(super) facts: SubjectFacts,
    pub(super) alerts: Vec<StoredAlert>,
}

type Statement = Prepared<BoxedSqlQuery<'static, Pg, SqlQuery>>;

/// A statement about subjects.
fn about(text: &'static str, moment: Moment<'_>, subjects: &[Subject]) -> Statement {
    let types: Vec<&'static str> = subjects.iter().map(|one| one.resource_type.as_str()).collect();
    let statement = sql_query(text)
        .into_boxed()
        .bind::<SqlUuid, _>(moment.tenant)
        .bind::<Array<SqlUuid>, _>(subjects.iter().map(|one| one.organization).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(types)
        .bind::<Array<SqlUuid>, _>(subjects.iter().map(|one| one.id).collect::<Vec<_>>())
        .bind::<Timestamptz, _>(moment.now);
    Prepared(statement)
}

/// A statement about rows with these ids.
fn with_ids(text: &'static str, tenant: Uuid, ids: Vec<Uuid>) -> Statement {
    let statement = sql_query(text).into_boxed().bind::<SqlUuid, _>(tenant);
    Prepared(statement.bind::<Array<SqlUuid>, _>(ids))
}

/// The rows of the first round trip.
struct Read {
    resources: Vec<ResourceRow>,
    assignments: Vec<AssignmentRow>,
    windows: Vec<WindowRow>,
    alerts: Vec<AlertRow>,
    calendars: Vec<CalendarRow>,
}

impl Facts {
    pub(super) async fn read(connection: &AsyncPgConnection, moment: Moment<'_>, subjects: &[Subject]) -> Result<Self> {
        let organizations: BTreeSet<Uuid> = subjects.iter().map(|subject| subject.organization).collect();
        let organizations = Vec::from_iter(organizations);
        let (resources, assignments, windows, alerts, calendars) = try_join5(
            about(RESOURCES, moment, subjects).load(&mut &*connection),
            about(ASSIGNMENTS, moment, subjects).load(&mut &*connection),
            about(WINDOWS, moment, subjects).load(&mut &*connection),
            about(ALERTS, moment, subjects).load(&mut &*connection),
            with_ids(CALENDARS, moment.tenant, organizations).load(&mut &*connection),
        )
        .await?;
        let read = Read {
            resources,
            assignments,
            windows,
            alerts,
            calendars,
        };
        let sites: BTreeSet<Uuid> = read.assignments.iter().map(|row| row.job_site_id).collect();
        let alerts: Vec<Uuid> = read.alerts.iter().map(|row| row.id).collect();
        let (sites, shown) = try_join(
            with_ids(SITES, moment.tenant, Vec::from_iter(sites)).load(&mut &*connection),
            with_ids(ALERT_ASSIGNMENTS, moment.tenant, alerts).load(&mut &*connection),
        )
        .await?;
        Self::from_rows(moment, subjects, read, &sites, shown)
    }

    fn from_rows(
        moment: Moment<'_>,
        subjects: &[Subject],
        read: Read,
        sites: &[SiteRow],
        shown: Vec<AlertAssignmentRow>,
    ) -> Result<Self> {
        let days = days_of(moment, &read.calendars, subjects)?;
        let sites: BTreeMap<Uuid, SiteDays> = sites.iter().map(|row| (row.id, row.days())).collect();
        let mut all: Vec<SubjectWithFacts> = subjects
            .iter()
            .map(|subject| SubjectWithFacts {
                subject: *subject,
                name: String::new(),
                facts: SubjectFacts {
                    off_days: days
                        .get(&subject.organization)
                        .map(|(_, off)| off.clone())
                        .unwrap_or_default(),
                    ..SubjectFacts::default()
                },
                alerts: Vec::new(),
            })
            .collect();
        for row in read.resources {
            let one = numbered(&mut all, row.number)?;
            one.facts.is_inactive = row.is_inactive;
            one.name = row.name;
        }
        for row in read.assignments {
            let one = numbered(&mut all, row.number)?;
            if let Some(days) = sites.get(&row.job_site_id) {
                one.facts.sites.insert(row.job_site_id, *days);
            }
            if let Some((zone, _)) = days.get(&one.subject.organization) {
                one.facts.assignments.push(row.live_in(zone));
            }
        }
        for row in read.windows {
            numbered(&mut all, row.number)?.facts.windows.push(UnavailableInterval {
                id: row.id,
                start_at: row.start_at,
                end_at: row.end_at,
            });
        }
        let mut shown_by: HashMap<Uuid, Vec<ShownAssignment>> = HashMap::new();
        for row in shown {
            shown_by.entry(row.alert_id).or_default().push(row.shown());
        }
        for row in read.alerts {
            let assignments = shown_by.remove(&row.id).unwrap_or_default();
            let one = numbered(&mut all, row.number)?;
            one.alerts.push(row.stored(&one.subject, assignments)?);
        }
        Ok(Self { subjects: all })
    }
}

fn numbered(all: &mut [SubjectWithFacts], number: i64) -> Result<&mut SubjectWithFacts> {
    let index = usize::try_from(number - 1).ok();
    index
        .and_then(|index| all.get_mut(index))
        .ok_or_else(|| Error::internal("a row belongs to no requested subject"))
}

/// Returns the zones and off days of the organizations of these subjects.
fn days_of(moment: Moment<'_>, rows: &[CalendarRow], subjects: &[Subject]) -> Result<HashMap<Uuid, (Zone, OffDays)>> {
    let mut days = HashMap::new();
    for row in rows {
        let zone = Zone::parse(&row.time_zone)
            .ok_or_else(|| Error::internal("a stored time zone is not in the bundled database"))?;
        let off = OffDays {
            weekdays: row.off_weekdays.iter().filter_map(|name| weekday(name)).collect(),
            holidays: row.holidays.iter().map(|day| day.get()).collect(),
        };
        days.insert(row.id, (zone, off));
    }
    for subject in subjects {
        days.entry(subject.organization).or_insert_with(|| {
            let off = OffDays {
                weekdays: vec![Weekday::Saturday, Weekday::Sunday],
                holidays: BTreeSet::new(),
            };
            (default_zone(moment.call.platform()), off)
        });
    }
    Ok(days)
}

fn weekday(name: &str) -> Option<Weekday> {
    match name {
        "mon" => Some(Weekday::Monday),
        "tue" => Some(Weekday::Tuesday),
        "wed" => Some(Weekday::Wednesday),
        "thu" => Some(Weekday::Thursday),
        "fri" => Some(Weekday::Friday),
        "sat" => Some(Weekday::Saturday),
        "sun" => Some(Weekday::Sunday),
        _ => None,
    }
}

impl SiteRow {
    fn days(&self) -> SiteDays {
        SiteDays {
            is_closed: self.is_closed,
            start: self.start_date.map(Day::get),
            end_exclusive: self.end_date_exclusive.map(Day::get),
        }
    }
}

impl AssignmentRow {
    fn live_in(self, zone: &Zone) -> LiveAssignment {
        let (first_day, last_day) = zone.local_dates(self.start_at, self.end_at);
        LiveAssignment {
            shown: ShownAssignment {
                start_at: self.start_at,
                id: self.id,
                end_at: self.end_at,
                job_site: self.job_site_id,
            },
            first_day,
            last_day,
        }
    }
}

impl AlertAssignmentRow {
    fn shown(&self) -> ShownAssignment {
        ShownAssignment {
            start_at: self.start_at,
            id: self.assignment_id,
            end_at: self.end_at,
            job_site: self.job_site_id,
        }
    }
}

impl AlertRow {
    fn stored(self, subject: &Subject, assignments: Vec<ShownAssignment>) -> Result<StoredAlert> {
        let kind = Kind::parse(&self.kind).ok_or_else(|| Error::internal("an alert is of an unknown kind"))?;
        Ok(StoredAlert {
            organization: subject.organization,
            subject_type: subject.resource_type.as_str().to_owned(),
            subject_id: subject.id,
            subject_name: self.subject_name,
            open: OpenAlert {
                id: self.id,
                kind,
                identity_key: self.identity_key,
                occurred_at: self.occurred_at,
                expires_at: self.expires_at,
                assignments,
            },
        })
    }
}
