//! The days on which an organization works.

use std::collections::BTreeMap;

use crate::day::Day;
use crate::weekdays;
use crate::zones::Zone;

/// Why a day is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffDay<'a> {
    /// Its weekday is off.
    Weekday,
    /// It is a holiday with this name.
    Holiday(&'a str),
}

/// The facts of a working calendar.
#[derive(Debug, Clone)]
pub struct WorkingDays {
    /// The time zone.
    pub zone: Zone,
    /// The weekdays that are off: `mon` to `sun`.
    pub off_weekdays: Vec<String>,
    /// Names of the holidays by day.
    pub holidays: BTreeMap<Day, String>,
}

impl WorkingDays {
    /// Returns why a day is off; `None` for a working day. A holiday on a weekday that is off counts as a holiday.
    #[must_use]
    pub fn off(&self, day: Day) -> Option<OffDay<'_>> {
        if let Some(name) = self.holidays.get(&day) {
            return Some(OffDay::Holiday(name));
        }
        let weekday = weekdays::name(day.get().weekday());
        self.off_weekdays
            .iter()
            .any(|off| off == weekday)
            .then_some(OffDay::Weekday)
    }
}
