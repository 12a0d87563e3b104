//! Recurrence rules (RFC 5545) over local days. Rules repeat dates, without time zones; instants are derived as for any other window.

use backoffice_core::input::rules::Violation;
use rrule::RRuleSet;

use crate::day::Day;

/// Longest rule, in characters.
pub(crate) const RULE_LENGTH: usize = 500;
/// Maximum number of occurrences that a series creates at once.
pub(crate) const MOST_OCCURRENCES: usize = 1000;

const EXPECTED: &str = "must be a recurrence rule (RFC 5545) with FREQ DAILY, WEEKLY, MONTHLY or YEARLY, and INTERVAL, BYDAY, BYMONTHDAY, BYMONTH, \
    BYSETPOS, WKST, COUNT or UNTIL (a date)";

const FREQUENCIES: [&str; 4] = ["DAILY", "WEEKLY", "MONTHLY", "YEARLY"];
const WEEKDAYS: [&str; 7] = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"];

/// A valid rule in its canonical form: upper case, without the name of the property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    text: String,
    until: Option<Day>,
}

/// The occurrences of a rule up to a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Occurrences {
    /// The first days, in ascending order.
    pub(crate) days: Vec<Day>,
    /// Whether the rule has no further occurrences.
    pub(crate) is_complete: bool,
}

fn invalid() -> Violation {
    Violation::new(EXPECTED, "invalid_recurrence")
}

impl Rule {
    /// Parses a rule, with or without `RRULE:` before it, and checks it with the first day of its series.
    pub(crate) fn parse(text: &str, first: Day) -> Result<Self, Violation> {
        let text = text.trim().to_ascii_uppercase();
        let text = text.strip_prefix("RRULE:").unwrap_or(&text).to_owned();
        if text.len() > RULE_LENGTH {
            return Err(invalid());
        }
        let until = check_parts(&text).ok_or_else(invalid)?;
        let rule = Self { text, until };
        match rule.set(first) {
            Some(_) => Ok(rule),
            None => Err(invalid()),
        }
    }

    /// Restores a stored rule.
    pub(crate) fn from_stored(text: &str) -> Self {
        Self {
            until: part(text, "UNTIL").and_then(compact_day),
            text: text.to_owned(),
        }
    }

    /// Returns the rule as it is stored.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the last day of the rule, if it names one.
    pub(crate) const fn until(&self) -> Option<Day> {
        self.until
    }

    fn set(&self, first: Day) -> Option<RRuleSet> {
        let text = match self.until {
            // The library compares instants; all of ours are midnights in UTC.
            Some(until) => {
                let date = format!("UNTIL={}", compact(until));
                self.text.replace(&date, &format!("{date}T000000Z"))
            }
            None => self.text.clone(),
        };
        let text = format!("DTSTART:{}T000000Z\nRRULE:{text}", compact(first));
        let set: RRuleSet = text.parse().ok()?;
        Some(set.limit())
    }

    /// Returns the occurrences from `first`, the first day of the series, to `last`, both included, at most `most + 1`.
    pub(crate) fn occurrences(&self, first: Day, last: Day, most: usize) -> Occurrences {
        let Some(set) = self.set(first) else {
            return Occurrences {
                days: Vec::new(),
                is_complete: true,
            };
        };
        let mut days = Vec::new();
        for instant in &set {
            let day = Day::EPOCH.plus_days(instant.timestamp().div_euclid(86_400));
            match day {
                Some(day) if day <= last && days.len() <= most => days.push(day),
                _ => {
                    return Occurrences {
                        days,
                        is_complete: day.is_none(),
                    };
                }
            }
        }
        Occurrences {
            days,
            is_complete: true,
        }
    }
}

/// Checks the parts of a rule and returns its last day, if it names one; `None` if a part is not allowed.
fn check_parts(text: &str) -> Option<Option<Day>> {
    let mut names: Vec<&str> = Vec::new();
    for part in text.split(';') {
        let (name, value) = part.split_once('=')?;
        if names.contains(&name) || !is_valid(name, value) {
            return None;
        }
        names.push(name);
    }
    let has = |name: &str| names.contains(&name);
    let frequency = part(text, "FREQ")?;
    let has_ordinals = part(text, "BYDAY").is_some_and(|days| days.bytes().any(|byte| byte.is_ascii_digit()));
    let contradictions = [
        has("COUNT") && has("UNTIL"),
        has_ordinals && frequency != "MONTHLY" && frequency != "YEARLY",
        has("BYMONTHDAY") && frequency == "WEEKLY",
        has("BYSETPOS") && !["BYDAY", "BYMONTHDAY", "BYMONTH"].iter().any(|name| has(name)),
    ];
    let is_consistent = !contradictions.contains(&true);
    is_consistent.then(|| part(text, "UNTIL").and_then(compact_day))
}

fn part<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut parts = text.split(';').filter_map(|part| part.split_once('='));
    parts.find(|(found, _)| *found == name).map(|(_, value)| value)
}

fn is_valid(name: &str, value: &str) -> bool {
    match name {
        "FREQ" => FREQUENCIES.contains(&value),
        "INTERVAL" => number(value).is_some_and(|number| (1..=1000).contains(&number)),
        // No upper bound here: a large COUNT is rejected later as too many occurrences.
        "COUNT" => number(value).is_some_and(|number| number >= 1),
        "UNTIL" => compact_day(value).is_some(),
        "WKST" => WEEKDAYS.contains(&value),
        "BYDAY" => all(value, is_weekday),
        "BYMONTHDAY" => all(value, |one| is_ordinal(one, 31)),
        "BYMONTH" => all(value, |one| {
            number(one).is_some_and(|number| (1..=12).contains(&number))
        }),
        "BYSETPOS" => all(value, |one| is_ordinal(one, 366)),
        _ => false,
    }
}

fn all(value: &str, is_valid: impl Fn(&str) -> bool) -> bool {
    value.split(',').all(is_valid)
}

/// Parses a number without a sign of at most nine digits.
fn number(text: &str) -> Option<u32> {
    let is_number = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn is_ordinal(text: &str, most: u32) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    number(digits).is_some_and(|number| (1..=most).contains(&number))
}

fn is_weekday(text: &str) -> bool {
    let Some((ordinal, weekday)) = text.len().checked_sub(2).and_then(|at| text.split_at_checked(at)) else {
        return false;
    };
    WEEKDAYS.contains(&weekday) && (ordinal.is_empty() || is_ordinal(ordinal, 53))
}

fn compact(day: Day) -> String {
    day.to_string().replace('-', "")
}

/// Parses `YYYYMMDD`.
fn compact_day(text: &str) -> Option<Day> {
    let (year, rest) = text.split_at_checked(4)?;
    let (month, day) = rest.split_at_checked(2)?;
    Day::parse(&format!("{year}-{month}-{day}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        Day::parse(text).expect("a day")
    }

    fn days(rule: &str, first: &str, last: &str) -> Vec<String> {
        let rule = Rule::parse(rule, day(first)).expect("a rule");
        let occurrences = rule.occurrences(day(first), day(last), MOST_OCCURRENCES);
        occurrences.days.iter().map(Day::to_string).collect()
    }

    #[test]
    fn rules_repeat_dates() {
        let weekly = days("RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=3", "2026-01-09", "2027-01-01");
        assert_eq!(weekly, ["2026-01-09", "2026-01-23", "2026-02-06"]);
        let last_friday = days("FREQ=MONTHLY;BYDAY=-1FR", "2026-01-30", "2026-03-31");
        assert_eq!(last_friday, ["2026-01-30", "2026-02-27", "2026-03-27"]);
        let workday = days(
            "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1",
            "2026-01-01",
            "2026-03-31",
        );
        assert_eq!(workday, ["2026-01-01", "2026-02-02", "2026-03-02"]);
        let until = days("freq=daily;until=20260103", "2026-01-01", "2026-12-31");
        assert_eq!(until, ["2026-01-01", "2026-01-02", "2026-01-03"]);
    }

    #[test]
    fn months_without_a_31st_are_left_out() {
        let found = days("FREQ=MONTHLY;BYMONTHDAY=31", "2026-01-31", "2026-06-30");
        assert_eq!(found, ["2026-01-31", "2026-03-31", "2026-05-31"]);
        let found = days("FREQ=MONTHLY", "2026-01-31", "2026-06-30");
        assert_eq!(found, ["2026-01-31", "2026-03-31", "2026-05-31"]);
        let leap = days("FREQ=YEARLY", "2024-02-29", "2034-01-01");
        assert_eq!(leap, ["2024-02-29", "2028-02-29", "2032-02-29"]);
    }

    #[test]
    fn the_start_of_the_week_counts_in_intervals() {
        let monday = days(
            "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO",
            "1997-08-05",
            "1998-01-01",
        );
        assert_eq!(monday, ["1997-08-05", "1997-08-10", "1997-08-19", "1997-08-24"]);
        let sunday = days(
            "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU",
            "1997-08-05",
            "1998-01-01",
        );
        assert_eq!(sunday, ["1997-08-05", "1997-08-17", "1997-08-19", "1997-08-31"]);
    }

    #[test]
    fn a_rule_is_complete_when_it_ends_before_the_last_day() {
        let first = day("2026-01-01");
        let complete = |rule: &str, last: &str| {
            let rule = Rule::parse(rule, first).expect("a rule");
            let found = rule.occurrences(first, day(last), 10);
            (found.days.len(), found.is_complete)
        };

        assert_eq!(complete("FREQ=DAILY;COUNT=3", "2026-02-01"), (3, true));
        assert_eq!(complete("FREQ=DAILY;COUNT=3", "2026-01-02"), (2, false));
        assert_eq!(complete("FREQ=DAILY", "2026-01-02"), (2, false));
        assert_eq!(complete("FREQ=DAILY", "2027-01-02"), (11, false));
        assert_eq!(complete("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "2027-01-02"), (0, true));
        assert_eq!(complete("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "2027-01-02"), (0, true));
    }

    #[test]
    fn other_rules_are_rejected() {
        for rule in [
            "",
            "garbage",
            "RRULE:",
            "FREQ=HOURLY",
            "FREQ=SECONDLY;COUNT=1",
            "INTERVAL=2",
            "FREQ=DAILY;FREQ=DAILY",
            "FREQ=DAILY;COUNT=1;UNTIL=20270101",
            "FREQ=DAILY;COUNT=0",
            "FREQ=DAILY;COUNT=-1",
            "FREQ=DAILY;INTERVAL=0",
            "FREQ=DAILY;UNTIL=20270101T000000Z",
            "FREQ=DAILY;UNTIL=20270230",
            "FREQ=DAILY;UNTIL=20250101",
            "FREQ=DAILY;BYHOUR=1",
            "FREQ=DAILY;BYDAY=1MO",
            "FREQ=WEEKLY;BYDAY=XX",
            "FREQ=WEEKLY;BYDAY=é",
            "FREQ=WEEKLY;BYMONTHDAY=1",
            "FREQ=MONTHLY;BYMONTHDAY=32",
            "FREQ=MONTHLY;BYMONTHDAY=0",
            "FREQ=MONTHLY;BYSETPOS=1",
            "FREQ=YEARLY;BYMONTH=13",
            "FREQ=DAILY;X=1",
            "FREQ=DAILY\nEXDATE:20260101T000000Z",
        ] {
            let code = Rule::parse(rule, day("2026-01-01")).map_err(|one| one.code);
            assert_eq!(code, Err("invalid_recurrence"), "{rule}");
        }
    }

    #[test]
    fn a_stored_rule_keeps_its_last_day() {
        let rule = Rule::parse("freq=daily;until=20260103", day("2026-01-01")).expect("a rule");

        assert_eq!(rule.as_str(), "FREQ=DAILY;UNTIL=20260103");
        assert_eq!(Rule::from_stored(rule.as_str()), rule);
        assert_eq!(rule.until(), Some(day("2026-01-03")));
    }
}
