//! What of a run is kept in the log: no secrets, and not more than 64 KiB.

use serde_json::{Map, Value, json};

/// Deepest nesting that is kept.
const DEEPEST: usize = 5;
/// Largest document that is kept, in bytes of JSON.
const LARGEST: usize = 64 * 1024;
/// Keys whose values are secrets or identify persons, in lower case and without separators.
const SECRET_KEYS: [&str; 15] = [
    "password",
    "passwd",
    "pwd",
    "secret",
    "token",
    "apikey",
    "auth",
    "cardnumber",
    "creditcard",
    "cvv",
    "ssn",
    "socialsecurity",
    "taxid",
    "driverlicense",
    "passport",
];

/// Returns the document as the log keeps it.
pub(crate) fn redacted(document: &Value) -> Value {
    let kept = at_depth(document, 0);
    match kept.to_string().len() > LARGEST {
        true => json!({"truncated": true}),
        false => kept,
    }
}

fn at_depth(value: &Value, depth: usize) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if depth >= DEEPEST => json!("[TRUNCATED]"),
        Value::Array(items) => items.iter().map(|item| at_depth(item, depth + 1)).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().map(|(key, value)| {
                let value = match is_secret(key) {
                    true => json!("[REDACTED]"),
                    false => at_depth(value, depth + 1),
                };
                (key.clone(), value)
            });
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Whether the value of a key is a secret or identifies a person.
pub(crate) fn is_secret(key: &str) -> bool {
    let letters = key.chars().filter(|c| c.is_alphanumeric());
    let plain: String = letters.flat_map(char::to_lowercase).collect();
    SECRET_KEYS.iter().any(|secret| plain.contains(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out() {
        let document = json!({
            "userPassword": "x", "API_KEY": "x", "card-number": 1, "Authorization": "x", "a": {"tax id": "x", "b": [{"cvv": 1}]},
            "name": "n",
        });
        let expected = json!({
            "userPassword": "[REDACTED]", "API_KEY": "[REDACTED]", "card-number": "[REDACTED]", "Authorization": "[REDACTED]",
            "a": {"tax id": "[REDACTED]", "b": [{"cvv": "[REDACTED]"}]}, "name": "n",
        });
        assert_eq!(redacted(&document), expected);
    }

    #[test]
    fn large_and_deep_documents_are_cut() {
        assert_eq!(redacted(&json!({"a": "x".repeat(70_000)})), json!({"truncated": true}));
        let deep = json!({"1": {"2": {"3": {"4": {"5": {"6": 1}}, "x": 1}}}});
        let expected = json!({"1": {"2": {"3": {"4": {"5": "[TRUNCATED]"}, "x": 1}}}});
        assert_eq!(redacted(&deep), expected);
    }
}
