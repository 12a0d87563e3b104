//! Replaces the working calendar of an organization.

use std::collections::{BTreeMap, HashMap};

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Feature, Patch, Placement, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;
use crate::day::Day;
use crate::documented::CalendarWeekday;
use crate::model::{Holiday, WorkingCalendar, read_calendars, write_calendars};
use crate::weekdays;
use crate::zones::Zone;

/// Maximum number of holidays.
const MOST_HOLIDAYS: usize = 1000;
/// Longest name of a holiday, in characters.
const NAME_LENGTH: usize = 120;

/// A holiday of a request.
#[derive(Debug, Clone, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = CalendarHolidayFields)]
pub struct HolidayFields {
    /// The day.
    #[schema(value_type = Day, required = true)]
    pub date: Patch<String>,
    /// At most 120 characters, by default empty.
    #[schema(value_type = Option<String>, max_length = 120)]
    pub name: Patch<String>,
}

/// A whole working calendar.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = CalendarWorkingCalendarFields)]
pub struct WorkingCalendarFields {
    /// IANA name of the time zone, in any case.
    #[schema(value_type = String, required = true, min_length = 1, example = "Europe/Warsaw")]
    pub time_zone: Patch<String>,
    /// The weekdays that are off, each once.
    #[schema(value_type = BTreeSet<CalendarWeekday>, required = true, max_items = 7)]
    pub off_weekdays: Patch<Vec<String>>,
    /// The holidays, each on another day, at most 1000.
    #[schema(value_type = Vec<HolidayFields>, required = true, max_items = 1000)]
    pub holidays: Patch<Vec<HolidayFields>>,
}

/// The values of a valid request.
struct CheckedFields {
    zone: Zone,
    off_weekdays: Vec<String>,
    holidays: BTreeMap<Day, String>,
}

impl WorkingCalendarFields {
    fn checked(&self, validator: &mut Validator) -> Option<CheckedFields> {
        require(validator, "timeZone", &self.time_zone);
        require(validator, "offWeekdays", &self.off_weekdays);
        require(validator, "holidays", &self.holidays);
        let zone = self.zone(validator);
        let off_weekdays = self.off_weekdays(validator);
        let holidays = self.holidays(validator);
        Some(CheckedFields {
            zone: zone?,
            off_weekdays: off_weekdays?,
            holidays: holidays?,
        })
    }

    fn zone(&self, validator: &mut Validator) -> Option<Zone> {
        let name = self.time_zone.as_ref().value()?;
        let zone = Zone::parse(name);
        if zone.is_none() {
            let message = "must be a name of the IANA time zone database (Europe/Warsaw)";
            validator.reject("timeZone", message, "invalid_time_zone");
        }
        zone
    }

    fn off_weekdays(&self, validator: &mut Validator) -> Option<Vec<String>> {
        let ordered = weekdays::in_week_order(self.off_weekdays.as_ref().value()?);
        if ordered.is_none() {
            let message = format!("must be of {}, each once", weekdays::WORDS.join(", "));
            validator.reject("offWeekdays", message, "invalid_off_weekdays");
        }
        ordered
    }

    fn holidays(&self, validator: &mut Validator) -> Option<BTreeMap<Day, String>> {
        let fields = self.holidays.as_ref().value()?;
        if fields.len() > MOST_HOLIDAYS {
            let message = format!("must be at most {MOST_HOLIDAYS}");
            validator.reject("holidays", message, "invalid_holiday");
            return None;
        }
        let (mut days, mut is_valid) = (BTreeMap::new(), true);
        for (index, holiday) in fields.iter().enumerate() {
            let Some((day, name)) = checked_holiday(index, holiday, validator) else {
                is_valid = false;
                continue;
            };
            if days.insert(day, name).is_some() {
                let path = format!("holidays[{index}].date");
                validator.reject(&path, "must be another day than those before", "duplicate_holiday");
                is_valid = false;
            }
        }
        is_valid.then_some(days)
    }
}

fn checked_holiday(index: usize, holiday: &HolidayFields, validator: &mut Validator) -> Option<(Day, String)> {
    let day = holiday.date.as_ref().value().and_then(|text| Day::parse(text));
    if day.is_none() {
        let path = format!("holidays[{index}].date");
        validator.reject(&path, Day::EXPECTED, "invalid_holiday");
    }
    let mut name = None;
    let path = format!("holidays[{index}].name");
    validator.optional_text(&path, &holiday.name, &mut name, |text| {
        rules::line(NAME_LENGTH)(text).map_err(|violation| rules::Violation {
            code: "invalid_holiday",
            ..violation
        })
    });
    let is_rejected = name.is_none()
        && holiday
            .name
            .as_ref()
            .value()
            .is_some_and(|text| !text.trim().is_empty());
    (!is_rejected).then_some((day?, name.unwrap_or_default()))
}

fn require<T>(validator: &mut Validator, path: &str, field: &Patch<T>) {
    if !matches!(field, Patch::Set(_)) {
        validator.reject(path, "is required", "required");
    }
}

impl Input for WorkingCalendarFields {
    fn validate(&self, validator: &mut Validator) {
        self.checked(validator);
    }
}

/// Replaces the working calendar of an organization. Returns the stored one. A holiday on a day that was one keeps its id.
#[derive(Debug, Clone)]
pub struct ReplaceWorkingCalendar {
    organization: Uuid,
    zone: Zone,
    off_weekdays: Vec<String>,
    holidays: BTreeMap<Day, String>,
}

impl ReplaceWorkingCalendar {
    /// Validates the calendar.
    ///
    /// # Errors
    /// 400 for missing or invalid fields.
    pub fn new(organization: Uuid, fields: &WorkingCalendarFields) -> Result<Self> {
        let mut validator = Validator::default();
        let checked = fields.checked(&mut validator);
        validator.check()?;
        let checked = checked.ok_or_else(|| backoffice_core::Error::internal("an invalid field was not reported"))?;
        Ok(Self {
            organization,
            zone: checked.zone,
            off_weekdays: checked.off_weekdays,
            holidays: checked.holidays,
        })
    }
}

impl Command for ReplaceWorkingCalendar {
    const ID: &'static str = "calendar.working_calendar.replace";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Replace working calendar";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    type Entity = WorkingCalendar;
    type Output = WorkingCalendar;

    fn target(&self) -> Target {
        Target::Existing(self.organization)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<WorkingCalendar> {
        Placement::lock(tx, self.organization).await?;
        let stored = read_calendars(tx, &[self.organization]).await?.pop();
        let ids: HashMap<Day, Uuid> = stored
            .iter()
            .flat_map(|calendar| &calendar.holidays)
            .map(|holiday| (holiday.date, holiday.id))
            .collect();
        let holidays = self.holidays.iter().map(|(date, name)| Holiday {
            id: ids.get(date).copied().unwrap_or_else(|| tx.new_id()),
            date: *date,
            name: name.clone(),
        });
        let calendar = WorkingCalendar {
            tenant_id: tx.tenant(),
            id: self.organization,
            organization_id: self.organization,
            time_zone: self.zone.name().to_owned(),
            off_weekdays: self.off_weekdays.clone(),
            holidays: holidays.collect(),
            created_at: stored.as_ref().map_or(tx.now(), |stored| stored.created_at),
            updated_at: stored.as_ref().map_or(tx.now(), |stored| stored.updated_at),
        };
        if stored.as_ref() == Some(&calendar) {
            return Ok(calendar);
        }
        let calendar = WorkingCalendar {
            updated_at: tx.now(),
            ..calendar
        };
        write_calendars(tx, vec![calendar.clone()]).await?;
        Ok(calendar)
    }
}
