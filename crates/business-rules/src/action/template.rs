//! Texts with references: `Deal {{data.title}} was closed by {{user.id}}`.

use std::borrow::Cow;

use serde_json::Value;

use crate::condition::{Facts, Reference};

/// A text with references. Inserted text is not searched for references again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template(pub(super) Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Reference(Reference),
}

impl Template {
    pub(crate) fn parse(text: &str) -> Self {
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((inner, behind)) = after.split_once("}}") else {
                break;
            };
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(Part::Reference(Reference::parse(inner.trim())));
            rest = behind;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Self(parts)
    }

    /// Returns the text with percent-encoded values in place of references.
    pub(super) fn encoded(&self, facts: &Facts<'_>) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(own) => text.push_str(own),
                Part::Reference(reference) => {
                    let value = reference.resolve(facts);
                    let encoded: String = url::form_urlencoded::byte_serialize(shown(&value).as_bytes()).collect();
                    text.push_str(&encoded.replace('+', "%20"));
                }
            }
        }
        text
    }

    /// Returns the text with values in place of references, at most `longest` characters.
    pub(crate) fn text(&self, facts: &Facts<'_>, longest: usize) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(own) => text.push_str(own),
                Part::Reference(reference) => text.push_str(&shown(&reference.resolve(facts))),
            }
        }
        match text.char_indices().nth(longest) {
            Some((at, _)) => text[..at].to_owned(),
            None => text,
        }
    }
}

/// Returns the text of a value: null is empty, lists and objects are written as JSON.
fn shown(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// Returns a JSON value in which texts are filled. A text that is one reference becomes the value itself.
pub(crate) fn fill(value: &Value, facts: &Facts<'_>) -> Value {
    match value {
        Value::String(text) => match Reference::whole(text) {
            Some(reference) => reference.resolve(facts).into_owned(),
            None => Value::String(Template::parse(text).text(facts, usize::MAX)),
        },
        Value::Array(items) => items.iter().map(|item| fill(item, facts)).collect(),
        Value::Object(fields) => {
            let filled = fields.iter().map(|(name, value)| (name.clone(), fill(value, facts)));
            Value::Object(filled.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_replaced_once() {
        let data = json!({"a": "{{b}}", "b": 7, "list": [1, "x"]});
        let facts = Facts::for_test(&data);
        for (text, expected) in [
            ("{{a}} and {{ b }}", "{{b}} and 7"),
            ("{{missing}}|{{list}}", "|[1,\"x\"]"),
            ("{{entityType}} {{not a path}}{{", "sample.thing {{"),
            ("no references", "no references"),
        ] {
            assert_eq!(Template::parse(text).text(&facts, 100), expected, "{text}");
        }
        assert_eq!(Template::parse("äöü{{b}}").text(&facts, 2), "äö");
    }

    #[test]
    fn a_whole_reference_keeps_its_type() {
        let data = json!({"number": 7});
        let filled = fill(
            &json!({"a": "{{number}}", "b": ["n: {{number}}", true]}),
            &Facts::for_test(&data),
        );
        assert_eq!(filled, json!({"a": 7, "b": ["n: 7", true]}));
    }
}
