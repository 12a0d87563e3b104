//! Query parameters: each is a single value or a list, regardless of how often the client repeats it.

use std::hash::Hash;

use backoffice_core::list::CommaList;
use backoffice_core::{Detail, Timestamp};
use uuid::Uuid;

/// Spellings of true.
pub(crate) const TRUE: [&str; 4] = ["true", "1", "yes", "on"];
/// Spellings of false.
pub(crate) const FALSE: [&str; 4] = ["false", "0", "no", "off"];

/// The pairs of a query string, and their violations.
pub(crate) struct Parameters<'a> {
    pairs: &'a [(String, String)],
    details: Vec<Detail>,
}

impl<'a> Parameters<'a> {
    pub(crate) fn new(pairs: &'a [(String, String)]) -> Self {
        Self {
            pairs,
            details: Vec::new(),
        }
    }

    /// Returns the violations.
    pub(crate) fn into_details(self) -> Vec<Detail> {
        self.details
    }

    /// Records a violation of a parameter.
    pub(crate) fn reject(&mut self, name: &str, message: impl Into<String>) {
        self.details.push(Detail::new(name, message, "invalid_value"));
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let name = name.to_owned();
        self.pairs
            .iter()
            .filter(move |(own, _)| *own == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns a single value; empty values and different repetitions are rejected.
    pub(crate) fn single(&mut self, name: &str) -> Option<&'a str> {
        let mut values = self.values(name);
        let first = values.next()?.trim();
        if first.is_empty() {
            self.reject(name, "must not be empty");
            return None;
        }
        if values.any(|other| other.trim() != first) {
            self.reject(name, "must not be given twice");
            return None;
        }
        Some(first)
    }

    /// Returns a single value, parsed by `read`.
    pub(crate) fn parsed<T>(&mut self, name: &str, expected: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let value = self.single(name)?;
        let parsed = read(value);
        if parsed.is_none() {
            self.reject(name, expected);
        }
        parsed
    }

    pub(crate) fn uuid(&mut self, name: &str) -> Option<Uuid> {
        self.parsed(name, "must be a UUID", |value| value.parse().ok())
    }

    pub(crate) fn text(&mut self, name: &str, longest: usize) -> Option<String> {
        let value = self.single(name)?;
        if value.chars().count() <= longest {
            return Some(value.to_owned());
        }
        let message = format!("must be at most {longest} characters");
        self.details.push(Detail::new(name, message, "too_long"));
        None
    }

    pub(crate) fn boolean(&mut self, name: &str) -> Option<bool> {
        self.parsed(name, "must be true or false", |value| match value {
            _ if TRUE.contains(&value) => Some(true),
            _ if FALSE.contains(&value) => Some(false),
            _ => None,
        })
    }

    pub(crate) fn integer(&mut self, name: &str, least: i64, most: i64) -> Option<i64> {
        let number = self.parsed(name, "must be a whole number", |value| value.parse::<i64>().ok())?;
        if (least..=most).contains(&number) {
            return Some(number);
        }
        let message = format!("must be between {least} and {most}");
        self.details.push(Detail::new(name, message, "out_of_range"));
        None
    }

    /// Returns an integer without an upper bound.
    pub(crate) fn at_least(&mut self, name: &str, least: i64) -> Option<i64> {
        let expected = format!("must be an integer of at least {least}");
        self.parsed(name, &expected, |value| {
            let digits = value.strip_prefix('+').unwrap_or(value);
            let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            // A number that is too long for the type is above the bound.
            let number = value.parse().ok().or_else(|| is_number.then_some(i64::MAX));
            number.filter(|number| *number >= least)
        })
    }

    /// Returns a timestamp; a date is its first instant in UTC.
    pub(crate) fn instant(&mut self, name: &str) -> Option<Timestamp> {
        self.parsed(name, "must be an ISO-8601 timestamp or date", |value| {
            Timestamp::parse(value)
                .or_else(|_| Timestamp::parse(&format!("{value}T00:00:00Z")))
                .ok()
        })
    }

    /// Returns a list of values parsed by `read`: joined by commas or repeated. A parameter without a value is an empty list.
    pub(crate) fn parsed_list<T: Clone + Eq + Hash>(
        &mut self,
        name: &str,
        most: usize,
        expected: &str,
        read: impl FnMut(&'a str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let mut values = self.values(name).peekable();
        values.peek()?;
        let list = CommaList::new(name).at_most(most).parsed(values, expected, read);
        list.map_err(|detail| self.details.push(detail)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(requested: &[(&str, &str)]) -> Vec<(String, String)> {
        requested
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn a_single_value_may_be_repeated_only_as_it_is() {
        for (requested, expected, rejected) in [
            (pairs(&[("a", "1")]), Some("1"), false),
            (pairs(&[("a", "1"), ("a", "1")]), Some("1"), false),
            (pairs(&[("a", "1"), ("a", "2")]), None, true),
            (pairs(&[("a", "")]), None, true),
            (pairs(&[("b", "1")]), None, false),
        ] {
            let mut parameters = Parameters::new(&requested);

            assert_eq!(parameters.single("a"), expected, "{requested:?}");
            assert_eq!(!parameters.into_details().is_empty(), rejected, "{requested:?}");
        }
    }

    #[test]
    fn a_list_joins_commas_and_repeats() {
        let requested = pairs(&[("a", "x, y"), ("a", "y,z,")]);
        let list = |name: &str, most: usize| Parameters::new(&requested).parsed_list(name, most, "", Some);

        assert_eq!(list("a", 3), Some(vec!["x", "y", "z"]));
        assert_eq!(list("a", 2), None);
        assert_eq!(list("b", 2), None);
        let empty = pairs(&[("a", "")]);
        assert_eq!(Parameters::new(&empty).parsed_list("a", 2, "", Some), Some(Vec::new()));
    }

    #[test]
    fn booleans_have_eight_words() {
        for (value, expected) in [
            ("yes", Some(true)),
            ("0", Some(false)),
            ("off", Some(false)),
            ("TRUE", None),
            ("2", None),
        ] {
            assert_eq!(
                Parameters::new(&pairs(&[("a", value)])).boolean("a"),
                expected,
                "{value}"
            );
        }
    }

    #[test]
    fn a_date_is_its_first_instant() {
        let requested = pairs(&[
            ("a", "2026-11-20"),
            ("b", "2026-11-20T10:00:00.1239+02:00"),
            ("c", "2026-13-01"),
        ]);
        let mut parameters = Parameters::new(&requested);

        let text = |instant: Option<Timestamp>| instant.map(|instant| instant.to_string());
        assert_eq!(
            text(parameters.instant("a")).as_deref(),
            Some("2026-11-20T00:00:00.000Z")
        );
        assert_eq!(
            text(parameters.instant("b")).as_deref(),
            Some("2026-11-20T08:00:00.123Z")
        );
        assert_eq!(parameters.instant("c"), None);
    }
}
