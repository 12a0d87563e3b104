//! The rules for values in requests.

use std::collections::BTreeSet;

use backoffice_core::text::{NO_CONTROL_CHARACTERS, has_control_characters};
use backoffice_core::{Detail, Rejection, Result};
use uuid::Uuid;

/// Maximum number of ids in a set of references.
pub(crate) const MOST_REFERENCES: usize = 200;

/// A field of a body: absent, null or a value.
pub(crate) type Given<T> = Option<Option<T>>;

/// Collects the violations of an input.
#[derive(Debug, Default)]
pub(crate) struct Rules(Vec<Detail>);

impl Rules {
    pub(crate) fn broken(&mut self, path: &str, message: impl Into<String>, code: &'static str) {
        self.0.push(Detail::new(path, message, code));
    }

    /// Reports a required field as missing.
    pub(crate) fn missing(&mut self, path: &str) {
        self.broken(path, "is required", "required");
    }

    /// Checks a field that may be absent but not null.
    pub(crate) fn not_null<T>(&mut self, path: &str, given: Given<T>) -> Option<T> {
        if given.as_ref().is_some_and(Option::is_none) {
            self.missing(path);
        }
        given.flatten()
    }

    /// Returns the organization of a new row; null is treated as absent.
    pub(crate) fn new_place(given: Given<Uuid>) -> Given<Uuid> {
        given.filter(Option::is_some)
    }

    /// Checks a name of 1 to `most` characters without control characters, trimmed, that may be absent but not null.
    pub(crate) fn name(&mut self, path: &str, given: Given<String>, most: usize) -> Option<String> {
        match self.text(path, given, most) {
            Some(None) => {
                self.broken(path, "must not be blank", "required");
                None
            }
            given => {
                let name = given.flatten();
                if name.as_deref().is_some_and(has_control_characters) {
                    self.broken(path, NO_CONTROL_CHARACTERS, "invalid_value");
                }
                name
            }
        }
    }

    /// Checks a text of at most `most` characters, trimmed; a blank text is treated as null.
    pub(crate) fn text(&mut self, path: &str, given: Given<String>, most: usize) -> Given<String> {
        let text = given?
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty());
        if text.as_ref().is_some_and(|text| text.chars().count() > most) {
            self.broken(path, format!("must be at most {most} characters"), "too_long");
        }
        Some(text)
    }

    /// Checks a set of references without repetitions; null is treated as an empty set.
    pub(crate) fn references(&mut self, path: &str, given: Given<Vec<Uuid>>) -> Option<BTreeSet<Uuid>> {
        let ids: BTreeSet<Uuid> = given?.unwrap_or_default().into_iter().collect();
        if ids.len() > MOST_REFERENCES {
            self.broken(path, format!("must be at most {MOST_REFERENCES}"), "too_long");
        }
        Some(ids)
    }

    /// Checks three letters, converted to upper case; a blank text is treated as null.
    pub(crate) fn currency(&mut self, path: &str, given: Given<String>) -> Given<String> {
        let code = self
            .text(path, given, usize::MAX)?
            .map(|code| code.to_ascii_uppercase());
        let is_code = |code: &String| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase());
        if code.as_ref().is_some_and(|code| !is_code(code)) {
            self.broken(path, "must be three letters", "invalid_value");
        }
        Some(code)
    }

    /// Checks `#rrggbb`, converted to lower case; a blank text is treated as null.
    pub(crate) fn color(&mut self, path: &str, given: Given<String>) -> Given<String> {
        let color = self
            .text(path, given, usize::MAX)?
            .map(|color| color.to_ascii_lowercase());
        let is_color = |color: &String| {
            let digits = color.strip_prefix('#').unwrap_or_default();
            digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        if color.as_ref().is_some_and(|color| !is_color(color)) {
            self.broken(path, "must be #rrggbb", "invalid_value");
        }
        Some(color)
    }

    /// Returns 400 `Invalid input` if a rule is broken.
    pub(crate) fn check(self) -> Result<()> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Rejection::invalid(self.0).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Given<String> {
        Some(Some(value.to_owned()))
    }

    #[test]
    fn a_text_is_trimmed_and_a_blank_one_is_null() {
        let mut rules = Rules::default();

        assert_eq!(rules.text("source", text(" web "), 3), text("web"));
        assert_eq!(rules.text("source", text("  "), 3), Some(None));
        assert_eq!(rules.text("source", None, 3), None);
        assert!(rules.check().is_ok());
    }

    #[test]
    fn every_broken_rule_is_reported() {
        let mut rules = Rules::default();

        rules.name("title", text(" "), 200);
        rules.text("source", text("four"), 3);
        rules.not_null::<bool>("isActive", Some(None));

        let rejection = rules.check().expect_err("three broken rules").to_rejection();
        let reported = rejection
            .details
            .iter()
            .map(|one| (one.path.as_str(), one.code.as_ref()));
        assert_eq!(
            reported.collect::<Vec<_>>(),
            [("title", "required"), ("source", "too_long"), ("isActive", "required")]
        );
    }
}
