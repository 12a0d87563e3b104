//! Parameters of queries.

use backoffice_core::list::CommaList;
use backoffice_core::{Detail, Timestamp, Violations};
use uuid::Uuid;

use backoffice_calendar::Day;

/// Parses `true`, `false`, `1` or `0`.
pub(super) fn flag(path: &str, text: Option<&str>, violations: &mut Violations) -> Option<bool> {
    match text? {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => {
            violations.add(Detail::new(path, "must be one of true, false, 1, 0", "invalid_value"));
            None
        }
    }
}

/// Parses one of these words.
pub(super) fn word(
    path: &str,
    text: Option<&str>,
    words: &'static [&'static str],
    violations: &mut Violations,
) -> Option<&'static str> {
    let text = text?;
    let known = words.iter().copied().find(|word| *word == text);
    if known.is_none() {
        let message = format!("must be one of {}", words.join(", "));
        violations.add(Detail::new(path, message, "invalid_value"));
    }
    known
}

/// Parses words joined by commas; without any, no row matches.
pub(super) fn words(
    path: &str,
    text: Option<&str>,
    words: &'static [&'static str],
    violations: &mut Violations,
) -> Option<Vec<&'static str>> {
    text.map(|text| violations.keep(CommaList::new(path).one_of([text], words)))
}

/// Parses ids joined by commas; without any, no row matches.
pub(super) fn ids(path: &str, text: Option<&str>, violations: &mut Violations) -> Option<Vec<Uuid>> {
    text.map(|text| violations.keep(CommaList::new(path).ids([text])))
}

/// Parses a date.
pub(super) fn day(path: &str, text: Option<&str>, violations: &mut Violations) -> Option<Day> {
    let day = Day::parse(text?);
    if day.is_none() {
        violations.add(Detail::new(path, Day::EXPECTED, "invalid_value"));
    }
    day
}

/// Parses an instant.
pub(super) fn instant(path: &str, text: Option<&str>, violations: &mut Violations) -> Option<Timestamp> {
    let instant = Timestamp::parse(text?).ok();
    if instant.is_none() {
        let message = "must be an RFC 3339 instant (2026-11-20T08:15:30Z)";
        violations.add(Detail::new(path, message, "invalid_value"));
    }
    instant
}

/// Parses the two ends of an interval, which are given together; the second one is later.
pub(super) fn interval(
    (from_path, from): (&str, Option<&str>),
    (to_path, to): (&str, Option<&str>),
    violations: &mut Violations,
) -> Option<(Timestamp, Timestamp)> {
    for (path, given, other) in [(from_path, from, to), (to_path, to, from)] {
        if given.is_none() && other.is_some() {
            violations.add(Detail::new(path, "is required together with the other end", "required"));
        }
    }
    let (from, to) = (instant(from_path, from, violations), instant(to_path, to, violations));
    let (from, to) = from.zip(to)?;
    if to <= from {
        violations.add(Detail::new(
            to_path,
            format!("must be later than {from_path}"),
            "invalid_value",
        ));
    }
    Some((from, to))
}
