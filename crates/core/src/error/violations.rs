//! Collects the violated rules of an input.

use super::{Detail, Error, Result};

/// Maximum number of details collected for one input.
pub(crate) const MOST_DETAILS: usize = 100;

/// Collects the violated rules of an input, so that one response reports all of them.
#[derive(Debug, Default)]
pub struct Violations(Option<Error>);

impl Violations {
    /// Records a violated rule.
    pub fn add(&mut self, detail: Detail) {
        self.note(detail.into());
    }

    /// Records violated rules.
    pub(crate) fn extend(&mut self, details: impl IntoIterator<Item = Detail>) {
        details.into_iter().for_each(|detail| self.add(detail));
    }

    /// Returns the value; on an error, records it and returns the default.
    pub fn keep<T: Default>(&mut self, outcome: Result<T, impl Into<Error>>) -> T {
        outcome.unwrap_or_else(|error| {
            self.note(error.into());
            T::default()
        })
    }

    /// Records an error. The details of a validation error are added to those of an earlier one; any other rejection is kept only if it is the first. An
    /// error that is not a rejection, such as an outage, replaces rejections: whether the input is valid is unknown then.
    pub fn note(&mut self, error: Error) {
        match (&mut self.0, error) {
            (Some(Error::Rejected(first)), Error::Rejected(next)) if first.is_validation() && next.is_validation() => {
                for detail in next.details {
                    if first.details.len() < MOST_DETAILS && !first.details.contains(&detail) {
                        first.details.push(detail);
                    }
                }
            }
            (Some(first @ Error::Rejected(_)), error) if !matches!(error, Error::Rejected(_)) => *first = error,
            (Some(_), _) => {}
            (none, error) => *none = Some(error),
        }
    }

    /// Records a violated rule, unless one of the same field is recorded: the recorded one is more exact.
    pub(crate) fn add_unless_known(&mut self, detail: Detail) {
        let is_known = match &self.0 {
            Some(Error::Rejected(rejection)) => rejection.details.iter().any(|known| known.path == detail.path),
            _ => false,
        };
        if !is_known {
            self.add(detail);
        }
    }

    /// Returns whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the recorded details.
    #[must_use]
    pub fn into_details(self) -> Vec<Detail> {
        self.0.map_or_else(Vec::new, |error| error.to_rejection().details)
    }

    /// Returns the recorded error, if any.
    ///
    /// # Errors
    /// The recorded error: a 400 with all details for violated rules, or the other error that was kept.
    pub fn check(self) -> Result<()> {
        match self.0 {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rejection;
    use super::*;

    #[test]
    fn details_are_joined_and_other_errors_end_the_collection() {
        let detail = |path: &str| Detail::new(path, "is wrong", "invalid_value");
        let mut violations = Violations::default();

        violations.note(Rejection::bad_request("Invalid role").detail(detail("name")).into());
        violations.add(detail("page"));
        violations.note(Rejection::not_found("Not found").into());
        violations.add_unless_known(Detail::new("name", "must be a text", "invalid_type"));
        violations.add_unless_known(detail("tenantId"));

        let rejection = violations.check().expect_err("three violations").to_rejection();
        assert_eq!(rejection.message, "Invalid role");
        assert_eq!(rejection.details, ["name", "page", "tenantId"].map(detail));
    }

    #[test]
    fn an_outage_wins_over_violated_rules() {
        let detail = || Detail::new("name", "is wrong", "invalid_value");
        let mut violations = Violations::default();

        violations.add(detail());
        violations.note(Error::Unavailable("no connection".into()));
        violations.add(detail());
        violations.note(Error::internal("a later error"));

        let error = violations.check().expect_err("an outage");
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    }
}
