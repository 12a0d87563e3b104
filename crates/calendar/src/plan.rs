//! What a window and a series have in common: a resource, days and a reason. The rules are checked in the order of the specification, because the
//! first violated one gives the response its code.

use backoffice_core::Patch;
use backoffice_core::input::{Validator, rules};
use uuid::Uuid;

use crate::day::Day;
use crate::reasons;
use crate::subject::ResourceType;

/// Longest window, in days.
pub(crate) const LONGEST: i64 = 1096;
/// Longest note, in characters.
pub(crate) const NOTE_LENGTH: usize = 500;

/// The days on which a resource is unavailable, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) resource_type: ResourceType,
    pub(crate) resource_id: Uuid,
    pub(crate) start_date: Day,
    pub(crate) end_date_exclusive: Day,
    pub(crate) reason_code: String,
    pub(crate) note: Option<String>,
}

/// The fields of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanFields<'a> {
    pub(crate) resource_type: &'a Patch<String>,
    pub(crate) resource_id: &'a Patch<String>,
    pub(crate) start_date: &'a Patch<String>,
    pub(crate) end_date_exclusive: &'a Patch<String>,
    pub(crate) reason_code: &'a Patch<String>,
    pub(crate) note: &'a Patch<String>,
}

/// What the absent fields of a request stand for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Absent<'a> {
    /// A violated rule: the request creates a record.
    Missing,
    /// A value that is not known yet: the request updates a record that was not read.
    Unknown,
    /// The stored value.
    Stored(&'a Plan),
}

impl PlanFields<'_> {
    /// Validates the fields with what absent ones stand for. Returns the plan if every value is known and valid.
    pub(crate) fn merged(&self, absent: Absent<'_>, validator: &mut Validator) -> Option<Plan> {
        let stored = match absent {
            Absent::Stored(plan) => Some(plan),
            Absent::Missing | Absent::Unknown => None,
        };
        let mut fields = Fields {
            is_new: matches!(absent, Absent::Missing),
            validator,
        };
        let resource_type = fields.value(
            self.resource_type,
            stored.map(|plan| plan.resource_type),
            ("resourceType", "invalid_resource_type", EXPECTED_TYPE),
            ResourceType::parse,
        );
        let resource_id = fields.value(
            self.resource_id,
            stored.map(|plan| plan.resource_id),
            (
                "resourceId",
                "invalid_resource_id",
                "must be a UUID other than the nil UUID",
            ),
            |text| text.parse().ok().filter(|id: &Uuid| !id.is_nil()),
        );
        let start = fields.day("startDate", self.start_date, stored.map(|plan| plan.start_date));
        let end = fields.day(
            "endDateExclusive",
            self.end_date_exclusive,
            stored.map(|plan| plan.end_date_exclusive),
        );
        if let (Some(start), Some(end)) = (start, end) {
            check_days(start, end, fields.validator);
        }
        let reason_code = fields.value(
            self.reason_code,
            stored.map(|plan| plan.reason_code.clone()),
            ("reasonCode", "invalid_reason_code", EXPECTED_REASON),
            |text| {
                let is_known = resource_type.is_none_or(|resource_type| reasons::is_known(resource_type, text));
                (is_known && text.len() <= reasons::CODE_LENGTH).then(|| text.to_owned())
            },
        );
        if let (Patch::Keep, Some(resource_type), Some(code)) = (self.reason_code, resource_type, &reason_code)
            && !reasons::is_known(resource_type, code)
        {
            validator.reject("reasonCode", EXPECTED_REASON, "invalid_reason_code");
        }
        let mut note = stored.and_then(|plan| plan.note.clone());
        validator.optional_text("note", self.note, &mut note, |text| {
            rules::text(NOTE_LENGTH)(text).map_err(|violation| rules::Violation {
                code: "invalid_note",
                ..violation
            })
        });
        Some(Plan {
            resource_type: resource_type?,
            resource_id: resource_id?,
            start_date: start?,
            end_date_exclusive: end?,
            reason_code: reason_code?,
            note,
        })
    }
}

const EXPECTED_TYPE: &str = "must be one of worker, equipment, vehicle";
const EXPECTED_REASON: &str =
    "must be a reason of the type of the resource; GET /calendar/unavailability-reasons lists them";

fn check_days(start: Day, end: Day, validator: &mut Validator) {
    let days = end.days_since(start);
    if days <= 0 {
        validator.reject("endDateExclusive", "must be later than startDate", "invalid_date_range");
    } else if days > LONGEST {
        let message = format!("must be at most {LONGEST} days after startDate");
        validator.reject("endDateExclusive", message, "range_too_long");
    }
}

struct Fields<'v> {
    is_new: bool,
    validator: &'v mut Validator,
}

impl Fields<'_> {
    /// Returns the value of a field that can't be null.
    fn value<T>(
        &mut self,
        field: &Patch<String>,
        stored: Option<T>,
        (path, code, expected): (&str, &'static str, &'static str),
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        match field {
            Patch::Keep if self.is_new => {
                self.validator.reject(path, format!("is required and {expected}"), code);
                None
            }
            Patch::Keep => stored,
            Patch::Clear => {
                self.validator.reject(path, "must not be null", code);
                None
            }
            Patch::Set(text) => {
                let value = parse(text);
                if value.is_none() {
                    self.validator.reject(path, expected, code);
                }
                value
            }
        }
    }

    fn day(&mut self, path: &str, field: &Patch<String>, stored: Option<Day>) -> Option<Day> {
        self.value(field, stored, (path, "invalid_date", Day::EXPECTED), Day::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Patch<String> {
        Patch::Set(text.to_owned())
    }

    /// Returns the codes of the violated rules for a type, an id, two dates, a reason and a note.
    fn codes(fields: [Patch<String>; 6], absent: Absent<'_>) -> Vec<String> {
        let [
            resource_type,
            resource_id,
            start_date,
            end_date_exclusive,
            reason_code,
            note,
        ] = &fields;
        let fields = PlanFields {
            resource_type,
            resource_id,
            start_date,
            end_date_exclusive,
            reason_code,
            note,
        };
        let mut validator = Validator::default();
        let plan = fields.merged(absent, &mut validator);
        let codes: Vec<String> = validator
            .into_details()
            .into_iter()
            .map(|one| one.code.into_owned())
            .collect();
        assert!(!(codes.is_empty() && plan.is_none()) || matches!(absent, Absent::Unknown));
        codes
    }

    const ID: &str = "019aba00-0000-7000-8000-000000000001";

    #[test]
    fn rules_are_reported_in_the_order_of_the_specification() {
        let wrong = [
            set("crane"),
            set("x"),
            set("2026-02-29"),
            set("2026-1-5"),
            set(&"x".repeat(51)),
            set(&"x".repeat(501)),
        ];

        let expected = [
            "invalid_resource_type",
            "invalid_resource_id",
            "invalid_date",
            "invalid_date",
            "invalid_reason_code",
            "invalid_note",
        ];
        assert_eq!(codes(wrong, Absent::Missing), expected);
    }

    #[test]
    fn days_have_an_order_and_a_longest_span() {
        let with = |start: &str, end: &str| {
            let fields = [set("worker"), set(ID), set(start), set(end), set("other"), Patch::Keep];
            codes(fields, Absent::Missing)
        };

        assert_eq!(with("2026-01-01", "2026-01-01"), ["invalid_date_range"]);
        assert_eq!(with("2026-01-02", "2026-01-01"), ["invalid_date_range"]);
        assert_eq!(with("2026-01-01", "2029-01-02"), ["range_too_long"]);
        assert!(with("2026-01-01", "2029-01-01").is_empty());
    }

    #[test]
    fn a_kept_reason_must_fit_another_type() {
        let stored = Plan {
            resource_type: ResourceType::Worker,
            resource_id: Uuid::from_u128(1),
            start_date: Day::parse("2026-01-01").expect("a day"),
            end_date_exclusive: Day::parse("2026-01-02").expect("a day"),
            reason_code: "vacation".to_owned(),
            note: None,
        };
        let only_type = || {
            [
                set("vehicle"),
                Patch::Keep,
                Patch::Keep,
                Patch::Keep,
                Patch::Keep,
                Patch::Keep,
            ]
        };

        assert_eq!(codes(only_type(), Absent::Stored(&stored)), ["invalid_reason_code"]);
        assert!(codes(only_type(), Absent::Unknown).is_empty());
    }
}
