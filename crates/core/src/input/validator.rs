//! Writes the fields of a request into a row and collects the violated rules.

use std::borrow::Cow;

use super::Patch;
use super::rules::Violation;
use crate::error::{Detail, Error, Rejection, Result, Violations};

/// Collects every violated rule of an input, so that the client receives all of them at once.
///
/// A rule is a function from a value to the value to store, or to a [`Violation`]; [`rules`](super::rules) holds the common ones. Texts are
/// trimmed before their rule sees them.
#[derive(Debug, Default)]
pub struct Validator {
    prefix: String,
    violations: Violations,
}

impl Validator {
    /// Sets the prefix of the following paths (`variants[2].`); empty for the request itself.
    pub fn set_prefix(&mut self, prefix: impl Into<String>) {
        self.prefix = prefix.into();
    }

    /// Records a violated rule.
    pub fn reject(&mut self, path: &str, message: impl Into<String>, code: impl Into<Cow<'static, str>>) {
        let path = format!("{}{path}", self.prefix).trim_end_matches('.').to_owned();
        self.violations.add(Detail::new(path, message, code));
    }

    /// Records an error. The details of a validation error are added to those of an earlier one; any other error is kept only if it is the first.
    pub fn note(&mut self, error: Error) {
        self.violations.note(error);
    }

    /// Returns the value; on a violated rule, records it and returns the default.
    pub fn keep<T: Default>(&mut self, outcome: Result<T, Detail>) -> T {
        outcome.unwrap_or_else(|Detail { path, message, code }| {
            self.reject(&path, message, code);
            T::default()
        })
    }

    /// Rejects an absent field.
    pub fn require<T>(&mut self, path: &str, field: &Patch<T>) {
        if field.is_keep() {
            self.reject(path, "is required", "required");
        }
    }

    /// Writes a value; null is rejected.
    pub fn value<T: Clone>(
        &mut self,
        path: &str,
        field: &Patch<T>,
        slot: &mut T,
        rule: impl FnOnce(&T) -> Result<T, Violation>,
    ) {
        match field {
            Patch::Keep => {}
            Patch::Clear => self.reject(path, "must not be null", "required"),
            Patch::Set(value) => {
                if let Some(value) = self.accept(path, rule(value)) {
                    *slot = value;
                }
            }
        }
    }

    /// Writes an optional value; null clears.
    pub fn optional<T: Clone>(
        &mut self,
        path: &str,
        field: &Patch<T>,
        slot: &mut Option<T>,
        rule: impl FnOnce(&T) -> Result<T, Violation>,
    ) {
        match field {
            Patch::Keep => {}
            Patch::Clear => *slot = None,
            Patch::Set(value) => {
                if let Some(value) = self.accept(path, rule(value)) {
                    *slot = Some(value);
                }
            }
        }
    }

    /// Writes a trimmed text; null and a blank text are rejected.
    pub fn text(
        &mut self,
        path: &str,
        field: &Patch<String>,
        slot: &mut String,
        rule: impl FnOnce(&str) -> Result<String, Violation>,
    ) {
        match field.as_ref().map(|text| text.trim()) {
            Patch::Keep => {}
            Patch::Clear => self.reject(path, "must not be null", "required"),
            Patch::Set("") => self.reject(path, "must not be blank", "required"),
            Patch::Set(text) => {
                if let Some(text) = self.accept(path, rule(text)) {
                    *slot = text;
                }
            }
        }
    }

    /// Writes an optional trimmed text; null and a blank text clear.
    pub fn optional_text(
        &mut self,
        path: &str,
        field: &Patch<String>,
        slot: &mut Option<String>,
        rule: impl FnOnce(&str) -> Result<String, Violation>,
    ) {
        match field.as_ref().map(|text| text.trim()) {
            Patch::Keep => {}
            Patch::Clear | Patch::Set("") => *slot = None,
            Patch::Set(text) => {
                if let Some(text) = self.accept(path, rule(text)) {
                    *slot = Some(text);
                }
            }
        }
    }

    /// Returns the value of a rule; records its violation otherwise.
    pub fn accept<T>(&mut self, path: &str, outcome: Result<T, Violation>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(Violation { message, code }) => {
                self.reject(path, message, code);
                None
            }
        }
    }

    /// Rejects another value for a field that cannot be changed.
    pub fn unchanged<T: PartialEq>(&mut self, path: &str, requested: Option<&T>, stored: &T) {
        if requested.is_some_and(|requested| requested != stored) {
            self.reject(path, "can't be changed", "immutable");
        }
    }

    /// Returns the violated rules.
    #[must_use]
    pub fn into_details(self) -> Vec<Detail> {
        self.violations.into_details()
    }

    /// Returns 400 `Invalid input` if a rule is violated.
    ///
    /// # Errors
    /// The recorded error.
    pub fn check(self) -> Result<()> {
        self.violations.check()
    }
}

impl From<Violation> for Detail {
    fn from(violation: Violation) -> Self {
        Self::new("", violation.message, violation.code)
    }
}

impl Rejection {
    /// Creates a 400 `Invalid input` with one detail.
    #[must_use]
    pub fn invalid_field(path: impl Into<String>, message: impl Into<String>, code: &'static str) -> Self {
        Self::invalid(vec![Detail::new(path, message, code)])
    }

    /// Creates the 400 for a reference to a record that does not exist or that the caller may not see.
    #[must_use]
    pub fn unknown_reference(path: impl Into<String>) -> Self {
        Self::invalid_field(path, "does not exist", "unknown_reference")
    }

    /// Creates the 400 for a value that another record has.
    #[must_use]
    pub fn not_unique(path: impl Into<String>) -> Self {
        Self::invalid_field(path, "is taken already", "not_unique")
    }

    /// Creates the 400 for another value of a field that cannot be changed.
    #[must_use]
    pub fn immutable(path: impl Into<String>) -> Self {
        Self::invalid_field(path, "can't be changed", "immutable")
    }

    /// Creates the 409 for a record that other records need.
    #[must_use]
    pub fn in_use() -> Self {
        Self::conflict("In use").code("in_use")
    }

    /// Creates the 409 for the deletion of an organization that still has records (section 6 of the accounts specification).
    #[must_use]
    pub fn organization_in_use() -> Self {
        Self::conflict("Organization is in use").code("organization_in_use")
    }
}

#[cfg(test)]
mod tests {
    use super::super::rules;
    use super::*;

    fn text(text: &str) -> Patch<String> {
        Patch::Set(text.to_owned())
    }

    #[test]
    fn an_absent_field_stays_and_null_clears() {
        let (mut validator, mut slot) = (Validator::default(), Some("old".to_owned()));

        validator.optional_text("subtitle", &Patch::Keep, &mut slot, rules::line(5));
        assert_eq!(slot.as_deref(), Some("old"));
        validator.optional_text("subtitle", &text(" new "), &mut slot, rules::line(5));
        assert_eq!(slot.as_deref(), Some("new"));
        validator.optional_text("subtitle", &text("  "), &mut slot, rules::line(5));
        assert_eq!(slot, None);
        assert!(validator.check().is_ok());
    }

    #[test]
    fn every_violated_rule_is_reported_with_its_path() {
        let (mut validator, mut slot, mut flag) = (Validator::default(), "old".to_owned(), true);

        validator.require("title", &Patch::<String>::Keep);
        validator.text("name", &text(" "), &mut slot, rules::line(5));
        validator.value("isActive", &Patch::Clear, &mut flag, rules::any);
        validator.set_prefix("variants[1].");
        validator.text("name", &text("too long"), &mut slot, rules::line(5));

        let details = validator.check().expect_err("four violations").to_rejection().details;
        let reported: Vec<_> = details.iter().map(|one| (one.path.as_str(), &*one.code)).collect();
        assert_eq!(
            reported,
            [
                ("title", "required"),
                ("name", "required"),
                ("isActive", "required"),
                ("variants[1].name", "too_long")
            ]
        );
        assert_eq!((slot.as_str(), flag), ("old", true));
    }
}
