//! Rules for the values of fields. A violated rule has the code of its field, which the response then has as well.

use backoffice_calendar::ResourceType;
use backoffice_core::Patch;
use backoffice_core::input::{Validator, Violation, rules};

/// The states of a job site.
pub(crate) const SITE_STATUSES: &[&str] = &["planned", "active", "closed"];
/// The states of an assignment.
pub(crate) const ASSIGNMENT_STATUSES: &[&str] = &["planned", "confirmed", "cancelled", "completed"];
/// The states of an assignment that takes its subject's time.
pub(crate) const LIVE_STATUSES: &[&str] = &["planned", "confirmed"];
/// The types of resources.
pub(crate) const RESOURCE_TYPES: &[&str] = &ResourceType::WORDS;

/// Longest name, in characters.
pub(crate) const NAME_LENGTH: usize = 200;
/// Longest code, in characters.
pub(crate) const CODE_LENGTH: usize = 40;
/// Longest address, in characters.
pub(crate) const ADDRESS_LENGTH: usize = 500;
/// Longest notes of a job site or resource, in characters.
pub(crate) const NOTES_LENGTH: usize = 2000;
/// Longest note of an assignment, in characters.
pub(crate) const NOTE_LENGTH: usize = 1000;

/// Gives the violations of a rule this code.
fn coded<T: ?Sized, O>(
    rule: impl Fn(&T) -> Result<O, Violation>,
    code: &'static str,
) -> impl Fn(&T) -> Result<O, Violation> {
    move |value| rule(value).map_err(|violation| Violation { code, ..violation })
}

/// Writes a required line; null and a blank text are rejected.
pub(crate) fn line(
    validator: &mut Validator,
    path: &str,
    field: &Patch<String>,
    slot: &mut String,
    code: &'static str,
) {
    match field.as_ref().map(|text| text.trim()) {
        Patch::Clear => validator.reject(path, "must not be null", code),
        Patch::Set("") => validator.reject(path, "must not be blank", code),
        _ => validator.text(path, field, slot, coded(rules::line(NAME_LENGTH), code)),
    }
}

/// Writes an optional line of at most `max` characters; null and a blank text clear.
pub(crate) fn optional_line(
    validator: &mut Validator,
    path: &str,
    field: &Patch<String>,
    slot: &mut Option<String>,
    (max, code): (usize, &'static str),
) {
    validator.optional_text(path, field, slot, coded(rules::line(max), code));
}

/// Writes an optional text of at most `max` characters with line breaks; null and a blank text clear.
pub(crate) fn optional_text(
    validator: &mut Validator,
    path: &str,
    field: &Patch<String>,
    slot: &mut Option<String>,
    (max, code): (usize, &'static str),
) {
    validator.optional_text(path, field, slot, coded(rules::text(max), code));
}

/// Writes one of these words; null is rejected.
pub(crate) fn word(
    validator: &mut Validator,
    path: &str,
    field: &Patch<String>,
    slot: &mut String,
    (words, code): (&'static [&'static str], &'static str),
) {
    match field {
        Patch::Clear => validator.reject(path, "must not be null", code),
        Patch::Keep => {}
        Patch::Set(text) => {
            if let Some(word) = validator.accept(path, coded(rules::one_of(words), code)(text.as_str())) {
                *slot = word;
            }
        }
    }
}

/// Writes an optional number between two bounds; null clears.
pub(crate) fn coordinate(validator: &mut Validator, path: &str, field: &Patch<f64>, slot: &mut Option<f64>, most: f64) {
    validator.optional(path, field, slot, |number| {
        if number.abs() > most {
            let message = format!("must be between -{most} and {most}");
            return Err(Violation::new(message, "out_of_range"));
        }
        Ok(*number)
    });
}

/// Accepts a number of minutes up to this many, forward or back.
pub(crate) fn minutes(most: i32) -> impl Fn(&i32) -> Result<i32, Violation> {
    move |minutes| {
        if !(-most..=most).contains(minutes) {
            return Err(Violation::new(
                format!("must be between -{most} and {most}"),
                "out_of_range",
            ));
        }
        Ok(*minutes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(validator: Validator) -> Vec<String> {
        let details = validator.into_details().into_iter();
        details.map(|detail| detail.code.into_owned()).collect()
    }

    #[test]
    fn a_violated_rule_has_the_code_of_its_field() {
        let (mut validator, mut slot, mut note) = (Validator::default(), "old".to_owned(), None);

        line(&mut validator, "name", &Patch::Clear, &mut slot, "invalid_name");
        line(
            &mut validator,
            "name",
            &Patch::Set(" ".to_owned()),
            &mut slot,
            "invalid_name",
        );
        line(
            &mut validator,
            "name",
            &Patch::Set("x".repeat(201)),
            &mut slot,
            "invalid_name",
        );
        optional_text(
            &mut validator,
            "note",
            &Patch::Set("long".to_owned()),
            &mut note,
            (3, "invalid_note"),
        );
        word(
            &mut validator,
            "status",
            &Patch::Set("open".to_owned()),
            &mut slot,
            (SITE_STATUSES, "invalid_status"),
        );

        // Equal details count once.
        assert_eq!(
            codes(validator),
            [
                "invalid_name",
                "invalid_name",
                "invalid_name",
                "invalid_note",
                "invalid_status"
            ]
        );
        assert_eq!((slot.as_str(), note), ("old", None));
    }

    #[test]
    fn coordinates_are_bounded() {
        let (mut validator, mut slot) = (Validator::default(), None);

        coordinate(&mut validator, "latitude", &Patch::Set(-90.0), &mut slot, 90.0);
        coordinate(&mut validator, "latitude", &Patch::Set(90.5), &mut slot, 90.0);

        assert_eq!((slot, codes(validator)), (Some(-90.0), vec!["out_of_range".to_owned()]));
    }
}
