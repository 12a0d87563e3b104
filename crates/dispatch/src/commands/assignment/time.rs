//! The time of an assignment in requests: two instants, or two dates.

use backoffice_core::input::Validator;
use backoffice_core::{Patch, Timestamp};
use time::Duration;

use super::AssignmentFields;
use crate::model::StatedAssignment;
use backoffice_calendar::Day;

/// Longest assignment.
const LONGEST_DAYS: i64 = 366;
const INVALID: &str = "invalid_interval";
const TOO_LONG: &str = "span_too_long";
const FIRST_YEAR: i32 = 1970;
const LAST_YEAR: i32 = 2199;

/// Whether one of two fields has a value.
pub(super) fn is_given<T>(one: &Patch<T>, other: &Patch<T>) -> bool {
    matches!(one, Patch::Set(_)) || matches!(other, Patch::Set(_))
}

/// Rejects a new assignment without a complete time.
pub(super) fn require(fields: &AssignmentFields, validator: &mut Validator) {
    let missing = |field: &Patch<String>| !matches!(field, Patch::Set(_));
    let by_dates = fields.has_dates();
    let ends = match by_dates {
        true => [
            ("startDate", &fields.start_date),
            ("endDateExclusive", &fields.end_date_exclusive),
        ],
        false => [("startAt", &fields.start_at), ("endAt", &fields.end_at)],
    };
    for (path, field) in ends {
        if missing(field) {
            validator.reject(path, "is required", INVALID);
        }
    }
}

/// Gives a blank assignment a time that every given field can complete: which one the stored assignment has is not known yet.
pub(super) fn assume(fields: &AssignmentFields, row: &mut StatedAssignment) {
    if fields.has_dates() {
        let other = |field: &Patch<String>, days: i64| {
            let day = field.as_ref().value().and_then(|text| Day::parse(text))?;
            day.plus_days(days).or(Some(day))
        };
        row.start_date = other(&fields.end_date_exclusive, -1);
        row.end_date_exclusive = other(&fields.start_date, 1);
    } else {
        let other = |field: &Patch<String>, hours: i64| {
            let at = field.as_ref().value().and_then(|text| Timestamp::parse(text).ok())?;
            Some(at.after(Duration::hours(hours)))
        };
        row.start_at = other(&fields.end_at, -1).or(Some(Timestamp::UNIX_EPOCH));
        row.end_at = other(&fields.start_at, 1).or(Some(Timestamp::UNIX_EPOCH.after(Duration::HOUR)));
    }
}

/// Validates the given fields and writes them into the assignment.
pub(super) fn fill(fields: &AssignmentFields, row: &mut StatedAssignment, validator: &mut Validator) {
    for (path, field) in [("startAt", &fields.start_at), ("endAt", &fields.end_at)] {
        if field.is_clear() {
            validator.reject(path, "must not be null", INVALID);
        }
    }
    let by_instants = is_given(&fields.start_at, &fields.end_at);
    let by_dates = fields.has_dates();
    match (by_instants, by_dates) {
        (true, true) => {
            let message = "must not be given together with startDate and endDateExclusive";
            validator.reject("startAt", message, INVALID);
        }
        (_, true) => fill_dates(fields, row, validator),
        (true, false) => fill_instants(fields, row, validator),
        (false, false) => keep(fields, row, validator),
    }
}

fn fill_dates(fields: &AssignmentFields, row: &mut StatedAssignment, validator: &mut Validator) {
    let mut end = |path: &str, field: &Patch<String>, stored: Option<Day>| match field {
        Patch::Set(text) => {
            let day = Day::parse(text);
            if day.is_none() {
                validator.reject(path, Day::EXPECTED, INVALID);
            }
            day
        }
        Patch::Keep if stored.is_some() => stored,
        Patch::Keep | Patch::Clear => {
            validator.reject(path, "is required together with the other date", INVALID);
            None
        }
    };
    let start_date = end("startDate", &fields.start_date, row.start_date);
    let end_date = end("endDateExclusive", &fields.end_date_exclusive, row.end_date_exclusive);
    let (Some(first), Some(behind)) = (start_date, end_date) else {
        return;
    };
    match behind.days_since(first) {
        ..=0 => validator.reject("endDateExclusive", "must be later than startDate", INVALID),
        1..=LONGEST_DAYS => {
            (row.start_date, row.end_date_exclusive) = (start_date, end_date);
            (row.start_at, row.end_at) = (None, None);
        }
        _ => validator.reject("endDateExclusive", "must be at most 366 days after startDate", TOO_LONG),
    }
}

fn fill_instants(fields: &AssignmentFields, row: &mut StatedAssignment, validator: &mut Validator) {
    let mut end = |path: &str, field: &Patch<String>, stored: Option<Timestamp>| match field {
        Patch::Set(text) => {
            let instant = Timestamp::parse(text).ok();
            let instant = instant.filter(|at| (FIRST_YEAR..=LAST_YEAR).contains(&at.get().year()));
            if instant.is_none() {
                validator.reject(path, "must be an RFC 3339 instant of the years 1970 to 2199", INVALID);
            }
            instant
        }
        Patch::Keep if stored.is_some() => stored,
        Patch::Clear => None,
        Patch::Keep => {
            validator.reject(path, "is required together with the other instant", INVALID);
            None
        }
    };
    let start = end("startAt", &fields.start_at, row.start_at);
    let end = end("endAt", &fields.end_at, row.end_at);
    let (Some(first), Some(behind)) = (start, end) else {
        return;
    };
    if behind <= first {
        validator.reject("endAt", "must be later than startAt", INVALID);
    } else if behind > first.after(Duration::days(LONGEST_DAYS)) {
        validator.reject("endAt", "must be at most 366 days after startAt", TOO_LONG);
    } else {
        (row.start_at, row.end_at) = (start, end);
        (row.start_date, row.end_date_exclusive) = (None, None);
    }
}

/// Keeps the time. Null is accepted for dates that the assignment does not have.
fn keep(fields: &AssignmentFields, row: &StatedAssignment, validator: &mut Validator) {
    for (path, field) in [
        ("startDate", &fields.start_date),
        ("endDateExclusive", &fields.end_date_exclusive),
    ] {
        if field.is_clear() && row.dates().is_some() {
            validator.reject(path, "must not be null, unless startAt and endAt are given", INVALID);
        }
    }
}

/// Moves an assignment by minutes. One that was given by dates stays so if it is moved by whole days, and has instants otherwise, which
/// `interval` are its present ones. Returns false if it would leave the supported years.
pub(crate) fn shift(row: &mut StatedAssignment, interval: (Timestamp, Timestamp), minutes: i32) -> bool {
    let minutes = i64::from(minutes);
    if let Some((first, behind)) = row.dates()
        && minutes % (24 * 60) == 0
    {
        let days = minutes / (24 * 60);
        (row.start_date, row.end_date_exclusive) = (first.plus_days(days), behind.plus_days(days));
        return row.dates().is_some();
    }
    let moved = |at: Timestamp| at.after(Duration::minutes(minutes));
    let (start, end) = (moved(interval.0), moved(interval.1));
    (row.start_at, row.end_at) = (Some(start), Some(end));
    (row.start_date, row.end_date_exclusive) = (None, None);
    start.get().year() >= FIRST_YEAR && end.get().year() <= LAST_YEAR
}
