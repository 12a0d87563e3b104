//! Texts with the character U+0000, which PostgreSQL can't store.

use serde_json::Value;
use url::form_urlencoded;

use crate::error::{Detail, MOST_DETAILS};

/// Returns the violation of a field whose text has the character.
pub(super) fn detail(path: impl Into<String>) -> Detail {
    Detail::new(path, "must not contain the character U+0000", "invalid_value")
}

/// Returns the violations of a form or query, except for the `accepted` fields.
pub(super) fn in_form(text: &[u8], accepted: &[&str]) -> Vec<Detail> {
    if !text.contains(&0) && !text.windows(3).any(|three| three == b"%00") {
        return Vec::new();
    }
    let mut paths = Paths::default();
    for (name, value) in form_urlencoded::parse(text) {
        if name.contains('\0') {
            paths.add("");
        } else if value.contains('\0') && !accepted.contains(&name.as_ref()) {
            paths.add(&name);
        }
    }
    paths.into_details()
}

/// Returns the violations of a JSON object, except for texts in the `accepted` fields of the object itself.
pub(super) fn in_json(body: &str, accepted: &[&str]) -> Vec<Detail> {
    if !has_escape(body.as_bytes()) {
        return Vec::new();
    }
    let Ok(mut value) = serde_json::from_str::<Value>(body) else {
        return vec![detail("")];
    };
    let mut has_accepted = false;
    if let Value::Object(fields) = &mut value {
        fields.retain(|name, value| {
            let is_accepted = accepted.contains(&name.as_str()) && value.as_str().is_some_and(has_nul);
            has_accepted |= is_accepted;
            !is_accepted
        });
    }
    let mut paths = Paths::default();
    paths.collect("", &value);
    if paths.0.is_empty() && !has_accepted {
        // Of a field that occurs twice, only the last value is in the tree.
        paths.add("");
    }
    paths.into_details()
}

/// Returns these violations, then those of other fields.
pub(super) fn and_others(mut nuls: Vec<Detail>, mut others: Vec<Detail>) -> Vec<Detail> {
    others.retain(|other| nuls.iter().all(|nul| nul.path != other.path));
    nuls.extend(others);
    nuls.truncate(MOST_DETAILS);
    nuls
}

fn has_nul(text: &str) -> bool {
    text.contains('\0')
}

/// Whether a JSON text has an escape for U+0000. The character itself is not valid JSON.
fn has_escape(body: &[u8]) -> bool {
    let mut rest = body;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        if rest[at + 1..].starts_with(b"u0000") {
            return true;
        }
        // Skips the escaped character, so that `\\u0000` (a backslash, then text) is not treated as an escape.
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    false
}

/// The paths of fields, each once.
#[derive(Default)]
struct Paths(Vec<String>);

impl Paths {
    fn add(&mut self, path: &str) {
        if !self.0.iter().any(|known| known == path) {
            self.0.push(path.to_owned());
        }
    }

    /// Adds the texts of a value. A name with the character is a fault of its object: a path can't show it.
    fn collect(&mut self, path: &str, value: &Value) {
        if self.0.len() >= MOST_DETAILS {
            return;
        }
        match value {
            Value::String(text) if has_nul(text) => self.add(path),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.collect(&format!("{path}[{index}]"), item);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    match path {
                        _ if has_nul(name) => self.add(path),
                        "" => self.collect(name, value),
                        _ => self.collect(&format!("{path}.{name}"), value),
                    }
                }
            }
            _ => {}
        }
    }

    fn into_details(self) -> Vec<Detail> {
        self.0.into_iter().map(detail).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(details: &[Detail]) -> Vec<&str> {
        details.iter().map(|one| one.path.as_str()).collect()
    }

    #[test]
    fn only_a_real_escape_of_nul_is_found() {
        assert!(has_escape(br#"{"a":"x\u0000"}"#));
        assert!(!has_escape(br#"{"a":"x\\u0000"}"#));
        assert!(has_escape(br#"{"a":"x\\\u0000"}"#));
    }

    #[test]
    fn every_text_of_a_body_is_named() {
        let body = r#"{"a":"\u0000","b":[{"c":"x"},{"c":"\u0000"}],"d":{"\u0000":1},"e":"f"}"#;

        assert_eq!(paths(&in_json(body, &[])), ["a", "b[1].c", "d"]);
        assert_eq!(paths(&in_json(body, &["a"])), ["b[1].c", "d"]);
        assert_eq!(paths(&in_json(r#"{"a":"\u0000"}"#, &["a"])), Vec::<&str>::new());
        // Only texts are accepted, and only in fields of the body itself.
        let inside = r#"{"a":["\u0000"],"b":{"a":"\u0000"}}"#;
        assert_eq!(paths(&in_json(inside, &["a"])), ["a[0]", "b.a"]);
        assert_eq!(paths(&in_json(r#"{"a":"\u0000","a":"b"}"#, &[])), [""]);
        assert_eq!(paths(&in_json(r#"{"a":"\u0000""#, &[])), [""]);
    }

    #[test]
    fn every_value_of_a_form_is_named() {
        let form = b"token=a%00b&x=%2500&y=\0&y=%00&%00=z&w=1";

        assert_eq!(paths(&in_form(form, &[])), ["token", "y", ""]);
        assert_eq!(paths(&in_form(form, &["token"])), ["y", ""]);
        assert_eq!(paths(&in_form(b"token=%2500", &[])), Vec::<&str>::new());
    }

    #[test]
    fn a_field_is_reported_once() {
        let other = |path: &str| Detail::new(path, "is too long", "too_long");

        let all = and_others(vec![detail("name")], vec![other("name"), other("title")]);

        assert_eq!(all, [detail("name"), other("title")]);
    }
}
