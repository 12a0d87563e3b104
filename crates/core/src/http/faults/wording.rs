//! Translates the errors of deserializers into human-readable messages and machine-readable codes. Their own texts are never returned.

use crate::error::Detail;
use crate::input::bounded::{TOO_LONG, TOO_SHORT};

/// Names of types in `expected …`, and the messages for clients.
const EXPECTED: &[(&str, &str)] = &[
    ("a string", "must be a text"),
    ("string", "must be a text"),
    ("a formatted UUID string", "must be a UUID"),
    ("UUID", "must be a UUID"),
    ("a boolean", "must be true or false"),
    ("a sequence", "must be a list"),
    ("a tuple", "must be a list"),
    ("a map", "must be an object"),
    ("struct ", "must be an object"),
    ("a number", "must be a number"),
    ("a decimal", "must be a number"),
    ("f64", "must be a number"),
    ("f32", "must be a number"),
];

/// Returns the detail for an error of a deserializer at a path.
pub(in super::super) fn plain(path: String, said: &str) -> Detail {
    let said = said.rsplit_once(" at line ").map_or(said, |(said, _)| said);
    let (message, code) = worded(said);
    Detail::new(path, message, code)
}

fn worded(said: &str) -> (String, &'static str) {
    let fixed = |message: &str, code| (message.to_owned(), code);
    if said.starts_with("missing field") {
        return fixed("is required", "required");
    }
    if said.starts_with("unknown field") {
        return fixed("is not a field of this request", "invalid_value");
    }
    if said.starts_with("duplicate field") {
        return fixed("must not be given twice", "invalid_value");
    }
    if said.starts_with("unknown variant") {
        let allowed = variants(said);
        return (format!("must be one of {}", allowed.join(", ")), "invalid_value");
    }
    if said.starts_with("invalid type: null") {
        return fixed("must not be null", "required");
    }
    if let Some(rest) = said.strip_prefix("invalid type: ") {
        return (expected(rest), "invalid_type");
    }
    if let Some(rest) = said.strip_prefix("invalid value: ") {
        let is_number = rest.starts_with("integer") || rest.starts_with("floating point");
        return match expected(rest) {
            _ if is_number && !is_name_of_type(rest) => fixed("is out of range", "out_of_range"),
            message if is_number => (message, "out_of_range"),
            message => (message, "invalid_value"),
        };
    }
    if said.starts_with("UUID parsing failed") {
        return fixed("must be a UUID", "invalid_value");
    }
    if said.starts_with("data did not match any variant") {
        return fixed("has the wrong type", "invalid_type");
    }
    if said.contains("number too") || said.contains("out of range") {
        return fixed("is out of range", "out_of_range");
    }
    if said.contains("invalid digit") || said.contains("cannot parse integer") {
        return fixed("must be a whole number", "invalid_type");
    }
    if said.contains("invalid float") || said.contains("cannot parse float") {
        return fixed("must be a number", "invalid_type");
    }
    if said.contains("`true` or `false`") {
        return fixed("must be true or false", "invalid_type");
    }
    if said.starts_with(TOO_SHORT) {
        return fixed(said, "too_short");
    }
    if said.starts_with(TOO_LONG) {
        return fixed(said, "too_long");
    }
    // Messages of the platform's own types are returned unchanged.
    if said.starts_with("must ") {
        return fixed(said, "invalid_value");
    }
    fixed("is not valid", "invalid_value")
}

fn expectation(said: &str) -> &str {
    said.rsplit_once("expected ").map_or("", |(_, expected)| expected)
}

fn is_name_of_type(said: &str) -> bool {
    EXPECTED.iter().any(|(name, _)| expectation(said).starts_with(name))
}

fn expected(said: &str) -> String {
    let expected = expectation(said);
    let is_integer = |name: &str| {
        let digits = name.strip_prefix(['i', 'u']).unwrap_or_default();
        matches!(digits, "8" | "16" | "32" | "64" | "128" | "size")
    };
    if is_integer(expected) {
        return "must be a whole number".to_owned();
    }
    let known = EXPECTED.iter().find(|(name, _)| expected.starts_with(name));
    known.map_or("has the wrong type", |(_, message)| message).to_owned()
}

/// Returns the values between backticks after `expected`.
pub(super) fn variants(said: &str) -> Vec<&str> {
    let expected = said.split_once(", expected ").map_or("", |(_, expected)| expected);
    expected.split('`').skip(1).step_by(2).collect()
}

/// Returns the name between the first backticks.
pub(super) fn quoted(said: &str) -> Option<&str> {
    said.split('`').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_passes_as_a_parser_says_it() {
        for (said, message, code) in [
            ("missing field `email` at line 1 column 2", "is required", "required"),
            (
                "invalid type: null, expected a string at line 1 column 9",
                "must not be null",
                "required",
            ),
            (
                "invalid type: integer `7`, expected a string",
                "must be a text",
                "invalid_type",
            ),
            (
                "invalid type: string \"x\", expected u32",
                "must be a whole number",
                "invalid_type",
            ),
            (
                "invalid type: map, expected a sequence",
                "must be a list",
                "invalid_type",
            ),
            (
                "invalid type: sequence, expected struct Options",
                "must be an object",
                "invalid_type",
            ),
            (
                "invalid type: map, expected anything else",
                "has the wrong type",
                "invalid_type",
            ),
            (
                "invalid value: integer `-1`, expected u32",
                "is out of range",
                "out_of_range",
            ),
            (
                "unknown variant `x`, expected one of `a`, `b`",
                "must be one of a, b",
                "invalid_value",
            ),
            (
                "unknown variant `x`, expected `a` or `b`",
                "must be one of a, b",
                "invalid_value",
            ),
            (
                "unknown field `x`, expected `a`",
                "is not a field of this request",
                "invalid_value",
            ),
            (
                "UUID parsing failed: invalid length: found 1",
                "must be a UUID",
                "invalid_value",
            ),
            (
                "invalid digit found in string",
                "must be a whole number",
                "invalid_type",
            ),
            (
                "number too large to fit in target type",
                "is out of range",
                "out_of_range",
            ),
            (
                "provided string was not `true` or `false`",
                "must be true or false",
                "invalid_type",
            ),
            (
                "must be a day: YYYY-MM-DD at line 3 column 1",
                "must be a day: YYYY-MM-DD",
                "invalid_value",
            ),
            ("EOF while parsing", "is not valid", "invalid_value"),
        ] {
            assert_eq!(plain("p".to_owned(), said), Detail::new("p", message, code), "{said}");
        }
    }
}
