//! Query parameters that an endpoint reads as texts. Each function returns `None` for an absent parameter, and for an invalid one, which it reports with
//! the code `invalid_value`.

use uuid::Uuid;

use super::CommaList;
use crate::error::{Detail, Violations};
use crate::time::Timestamp;

/// Parses `true`, `false`, `1` or `0`.
pub fn flag(path: &str, text: Option<&str>, violations: &mut Violations) -> Option<bool> {
    match text? {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => reject(path, "must be one of true, false, 1, 0", violations),
    }
}

/// Parses one of these words.
pub fn word(
    path: &str,
    text: Option<&str>,
    words: &[&'static str],
    violations: &mut Violations,
) -> Option<&'static str> {
    let text = text?;
    match words.iter().find(|word| **word == text) {
        Some(word) => Some(word),
        None => reject(path, format!("must be one of {}", words.join(", ")), violations),
    }
}

/// Parses words joined by commas. An empty list matches no row.
pub fn words(
    path: &str,
    text: Option<&str>,
    words: &[&'static str],
    violations: &mut Violations,
) -> Option<Vec<&'static str>> {
    text.map(|text| violations.keep(CommaList::new(path).one_of([text], words)))
}

/// Parses ids joined by commas. An empty list matches no row.
pub fn ids(path: &str, text: Option<&str>, violations: &mut Violations) -> Option<Vec<Uuid>> {
    text.map(|text| violations.keep(CommaList::new(path).ids([text])))
}

/// Parses an instant. [`instant`](super::instant) also accepts dates.
pub fn exact_instant(path: &str, text: Option<&str>, violations: &mut Violations) -> Option<Timestamp> {
    let message = "must be an RFC 3339 instant (2026-11-20T08:15:30Z)";
    Timestamp::parse(text?)
        .ok()
        .or_else(|| reject(path, message, violations))
}

/// Reports an absent parameter with the code `required`.
pub fn required<T: ?Sized>(path: &str, value: Option<&T>, violations: &mut Violations) {
    if value.is_none() {
        violations.add(Detail::new(path, "is required", "required"));
    }
}

fn reject<T>(path: &str, message: impl Into<String>, violations: &mut Violations) -> Option<T> {
    violations.add(Detail::new(path, message, "invalid_value"));
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_parameter_is_reported_and_an_absent_one_is_not() {
        let mut violations = Violations::default();
        let found = &mut violations;

        assert_eq!(
            [Some("1"), Some("true"), Some("0"), None, Some("yes")].map(|text| flag("a", text, found)),
            [Some(true), Some(true), Some(false), None, None]
        );
        assert_eq!(word("b", Some("up"), &["up", "down"], found), Some("up"));
        assert_eq!(word("b", Some("left"), &["up", "down"], found), None);
        assert_eq!(words("c", Some("down"), &["up", "down"], found), Some(vec!["down"]));
        assert_eq!(ids("d", None, found), None);
        assert_eq!(exact_instant("e", Some("2026-11-20"), found), None);
        required::<str>("f", None, found);
        required("g", Some("text"), found);

        let details = violations.into_details();
        let paths: Vec<&str> = details.iter().map(|detail| detail.path.as_str()).collect();
        assert_eq!(paths, ["a", "b", "e", "f"]);
        assert_eq!(details[1].message, "must be one of up, down");
    }
}
