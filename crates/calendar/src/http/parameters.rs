//! Parameters of queries.

use backoffice_core::list::CommaList;
use backoffice_core::{Detail, Timestamp, Violations};
use uuid::Uuid;

use crate::day::Day;
use crate::reasons;
use crate::subject::ResourceType;

/// Parses a type of resources.
pub(super) fn resource_type(text: Option<&str>, violations: &mut Violations) -> Option<ResourceType> {
    let resource_type = ResourceType::parse(text?);
    if resource_type.is_none() {
        let message = format!("must be one of {}", ResourceType::WORDS.join(", "));
        violations.add(Detail::new("resourceType", message, "invalid_value"));
    }
    resource_type
}

/// Parses ids joined by commas; without any, no row matches.
pub(super) fn ids(path: &str, text: Option<&str>, violations: &mut Violations) -> Option<Vec<Uuid>> {
    text.map(|text| violations.keep(CommaList::new(path).ids([text])))
}

/// Parses codes of reasons joined by commas; without any, no row matches.
pub(super) fn reason_codes(path: &str, text: Option<&str>, violations: &mut Violations) -> Option<Vec<&'static str>> {
    text.map(|text| violations.keep(CommaList::new(path).one_of([text], &reasons::codes())))
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

/// Rejects an absent parameter.
pub(super) fn required<T>(path: &str, text: Option<&T>, violations: &mut Violations)
where
    T: ?Sized,
{
    if text.is_none() {
        violations.add(Detail::new(path, "is required", "required"));
    }
}
