//! Reads what the alerts of subjects depend on.

mod part;
mod rows;
mod statements;
mod whole;

use std::collections::{BTreeSet, HashMap};

use backoffice_calendar::{Subject, Zone, default_zone};
use backoffice_core::{Error, Result};
use time::Weekday;
use uuid::Uuid;

use super::Moment;
use crate::engine::{OffDays, SubjectFacts};
pub(super) use part::ChangedPart;
pub(crate) use rows::StoredAlert;
use rows::{AlertRow, SubjectRow};

/// A subject, the facts about it, and the unresolved alerts that these facts decide on.
#[derive(Debug)]
pub(super) struct SubjectWithFacts {
    pub(super) subject: Subject,
    /// Name of the resource; empty if there is none.
    pub(super) name: String,
    pub(super) facts: SubjectFacts,
    pub(super) alerts: Vec<StoredAlert>,
}

/// Subjects with the facts about them, in their order, and the working days of their organizations.
struct Subjects {
    all: Vec<SubjectWithFacts>,
    zones: HashMap<Uuid, Zone>,
}

impl Subjects {
    fn new(moment: Moment<'_>, subjects: &[Subject], rows: Vec<SubjectRow>) -> Result<Self> {
        let days = days_of(moment, subjects, &rows)?;
        let with_facts = |subject: &Subject| SubjectWithFacts {
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
        };
        let all = subjects.iter().map(with_facts).collect();
        let zones = days.into_iter().map(|(id, (zone, _))| (id, zone)).collect();
        let mut subjects = Self { all, zones };
        for row in rows {
            let one = subjects.numbered(row.number)?;
            one.facts.is_inactive = row.is_inactive;
            one.name = row.name;
        }
        Ok(subjects)
    }

    fn numbered(&mut self, number: i64) -> Result<&mut SubjectWithFacts> {
        let index = usize::try_from(number - 1).ok();
        index
            .and_then(|index| self.all.get_mut(index))
            .ok_or_else(|| Error::internal("a row belongs to no requested subject"))
    }

    /// Returns a subject and the zone of its organization.
    fn with_zone(&mut self, number: i64) -> Result<(&mut SubjectWithFacts, Zone)> {
        let organization = self.numbered(number)?.subject.organization;
        let zone = self.zones.get(&organization).cloned().unwrap_or(Zone::UTC);
        Ok((self.numbered(number)?, zone))
    }

    fn add_alerts(&mut self, rows: Vec<AlertRow>) -> Result<()> {
        for row in rows {
            let one = self.numbered(row.number)?;
            one.alerts.push(row.stored(&one.subject)?);
        }
        Ok(())
    }
}

/// Returns the zones and off days of the organizations of these subjects.
fn days_of(moment: Moment<'_>, subjects: &[Subject], rows: &[SubjectRow]) -> Result<HashMap<Uuid, (Zone, OffDays)>> {
    let mut days = HashMap::new();
    for row in rows {
        let index = usize::try_from(row.number - 1).ok();
        let subject = index.and_then(|index| subjects.get(index));
        let (Some(subject), Some(zone)) = (subject, &row.time_zone) else {
            continue;
        };
        let zone =
            Zone::parse(zone).ok_or_else(|| Error::internal("a stored time zone is not in the bundled database"))?;
        let off = OffDays {
            weekdays: row
                .off_weekdays
                .iter()
                .flatten()
                .filter_map(|name| weekday(name))
                .collect(),
            holidays: row.holidays.iter().map(|day| day.get()).collect(),
        };
        days.insert(subject.organization, (zone, off));
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
