//! Rules for the values of fields. Each returns the value to store, or the violation.

use std::collections::BTreeSet;

use serde_json::Value;
use uuid::Uuid;

use crate::document;
use crate::text::{NO_CONTROL_CHARACTERS, has_control_characters};

/// A violated rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// English message, starting with a verb: `must be at least 1`.
    pub message: String,
    /// Code of section 3 of the conventions.
    pub code: &'static str,
}

impl Violation {
    /// Creates a violation.
    pub fn new(message: impl Into<String>, code: &'static str) -> Self {
        Self {
            message: message.into(),
            code,
        }
    }

    /// Creates a violation with the code `invalid_value`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(message, "invalid_value")
    }
}

/// Accepts any value.
///
/// # Errors
/// None.
pub fn any<T: Clone>(value: &T) -> Result<T, Violation> {
    Ok(value.clone())
}

/// Accepts a JSON document of the size that clients may store.
///
/// # Errors
/// `too_long` for a longer document, `invalid_value` for one that is nested too deeply.
pub fn json(value: &Value) -> Result<Value, Violation> {
    match document::check("", value) {
        Ok(()) => Ok(value.clone()),
        Err(detail) if detail.code == "too_long" => Err(Violation::new(detail.message, "too_long")),
        Err(detail) => Err(Violation::invalid(detail.message)),
    }
}

/// Accepts an integer that is at least `min`.
pub fn at_least(min: i32) -> impl Fn(&i32) -> Result<i32, Violation> {
    move |value| {
        if *value < min {
            return Err(Violation::new(format!("must be at least {min}"), "out_of_range"));
        }
        Ok(*value)
    }
}

/// Accepts a set of at most `max` ids.
pub fn ids(max: usize) -> impl Fn(&Vec<Uuid>) -> Result<BTreeSet<Uuid>, Violation> {
    move |ids| {
        let ids: BTreeSet<Uuid> = ids.iter().copied().collect();
        if ids.len() > max {
            return Err(Violation::new(format!("must have at most {max} ids"), "too_long"));
        }
        Ok(ids)
    }
}

/// Accepts one of these words.
pub fn one_of(words: &'static [&'static str]) -> impl Fn(&str) -> Result<String, Violation> {
    move |text| {
        if !words.contains(&text) {
            return Err(Violation::invalid(format!("must be one of {}", words.join(", "))));
        }
        Ok(text.to_owned())
    }
}

/// Accepts a line of at most `max` characters without control characters.
pub fn line(max: usize) -> impl Fn(&str) -> Result<String, Violation> {
    move |line| {
        if has_control_characters(line) {
            return Err(Violation::invalid(NO_CONTROL_CHARACTERS));
        }
        text(max)(line)
    }
}

/// Accepts a text of at most `max` characters, with line breaks.
pub fn text(max: usize) -> impl Fn(&str) -> Result<String, Violation> {
    move |text| {
        if text.chars().count() > max {
            return Err(Violation::new(format!("must be at most {max} characters"), "too_long"));
        }
        Ok(text.to_owned())
    }
}

/// Accepts a currency of three letters and converts it to upper case.
///
/// # Errors
/// `invalid_value` for anything else.
pub fn currency(text: &str) -> Result<String, Violation> {
    if text.len() != 3 || !text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Err(Violation::invalid("must be a currency code of three letters"));
    }
    Ok(text.to_ascii_uppercase())
}

/// Accepts a color `#rrggbb` and converts it to lower case.
///
/// # Errors
/// `invalid_value` for anything else.
pub fn color(text: &str) -> Result<String, Violation> {
    let digits = text.strip_prefix('#').unwrap_or_default();
    if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Violation::invalid("must be #rrggbb"));
    }
    Ok(text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_no_control_characters_and_texts_may() {
        assert_eq!(line(3)("abc"), Ok("abc".to_owned()));
        assert_eq!(line(3)("abcd").map_err(|one| one.code), Err("too_long"));
        assert_eq!(line(3)("a\nb").map_err(|one| one.code), Err("invalid_value"));
        assert_eq!(text(3)("a\nb"), Ok("a\nb".to_owned()));
    }

    #[test]
    fn currencies_and_colors_are_normalized() {
        assert_eq!(currency("eur"), Ok("EUR".to_owned()));
        assert!(currency("EURO").is_err() && currency("€").is_err());
        assert_eq!(color("#AaBb01"), Ok("#aabb01".to_owned()));
        assert!(color("aabb01").is_err() && color("#aabb0").is_err());
    }
}
