//! The values that users give to files: tags, assignments and fields of their own.

use backoffice_core::text::has_control_characters;
use serde_json::{Map, Value};

use crate::model::Assignment;

/// Most tags, assignments or fields of a file.
const MOST: usize = 50;
/// Most characters of a tag.
const MAX_TAG: usize = 64;
/// Most characters of the parts of an assignment, and of ids of records.
pub(crate) const MAX_ID: usize = 255;
/// Most characters of the address of an assigned record.
const MAX_HREF: usize = 2048;
/// Most bytes of all fields of a file, as JSON.
const MAX_FIELDS_BYTES: usize = 16 * 1024;
/// The rule that all fields of a file obey together.
pub(crate) const TOO_LARGE: &str = "must be at most 16 KiB, without the character U+0000";
/// Most characters of the name of a field.
const MAX_FIELD_NAME: usize = 100;

/// The prefix of body fields that each stand for one custom field: `cf_color`.
pub(crate) const FIELD_PREFIX: &str = "cf_";

/// Returns the tags trimmed, each once, in their order.
///
/// # Errors
/// The violated rule.
pub(crate) fn tags(given: &[String]) -> Result<Vec<String>, &'static str> {
    if given.len() > MOST {
        return Err("must be at most 50 tags");
    }
    let mut tags: Vec<String> = Vec::new();
    for tag in given {
        let tag = tag.trim();
        if tag.is_empty() || tag.chars().count() > MAX_TAG || has_control_characters(tag) {
            return Err("must be tags of 1 to 64 characters");
        }
        if !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
    Ok(tags)
}

/// Returns the assignments with each record once, as it was given last. `normal_id` returns the id of a record of a kind as it is stored.
///
/// # Errors
/// The violated rule.
pub(crate) fn assignments(
    given: &[Assignment],
    normal_id: impl Fn(&str, &str) -> String,
) -> Result<Vec<Assignment>, &'static str> {
    if given.len() > MOST {
        return Err("must be at most 50 assignments");
    }
    let mut assignments: Vec<Assignment> = Vec::new();
    for one in given {
        let kind = normal_kind(&one.kind);
        let one = Assignment {
            id: normal_id(&kind, &one.id),
            kind,
            ..one.clone()
        };
        if !is_id(&one.kind) || !is_id(&one.id) {
            return Err("must have a type and an id of 1 to 255 characters");
        }
        if one
            .label
            .as_deref()
            .is_some_and(|label| label.chars().count() > MAX_ID || has_control_characters(label))
        {
            return Err("must have labels of at most 255 characters");
        }
        if one.href.as_deref().is_some_and(|href| !is_href(href)) {
            return Err("must have an href that is a path of this site or an https URL");
        }
        assignments.retain(|known| (&known.kind, &known.id) != (&one.kind, &one.id));
        assignments.push(one);
    }
    Ok(assignments)
}

/// Adds the record to which a file belongs, unless it is among the assignments.
///
/// # Errors
/// The violated rule.
pub(crate) fn assign(assignments: &mut Vec<Assignment>, kind: &str, id: &str) -> Result<(), &'static str> {
    if assignments.iter().any(|one| one.kind == kind && one.id == id) {
        return Ok(());
    }
    if assignments.len() >= MOST {
        return Err("must be at most 50 assignments, with the one to the record of the file");
    }
    assignments.push(Assignment {
        kind: kind.to_owned(),
        id: id.to_owned(),
        label: None,
        href: None,
    });
    Ok(())
}

/// Changes the fields of a file: null removes one. The bounds hold for the fields that the file has then.
///
/// # Errors
/// The violated rule.
pub(crate) fn change_fields(fields: &mut Map<String, Value>, changes: &Map<String, Value>) -> Result<(), &'static str> {
    for (name, value) in changes {
        if !is_field_name(name) {
            return Err("must have names of a-z, 0-9 and _, which begin with a letter");
        }
        let is_scalar = |value: &Value| !value.is_array() && !value.is_object();
        let fits = match value {
            Value::Array(items) => items.iter().all(is_scalar),
            value => is_scalar(value),
        };
        if !fits {
            return Err("must be texts, numbers, booleans, or lists of these");
        }
        if value.is_null() {
            fields.remove(name);
        } else {
            fields.insert(name.clone(), value.clone());
        }
    }
    let length = serde_json::to_string(fields).map_or(usize::MAX, |text| text.len());
    if length > MAX_FIELDS_BYTES || holds_zero(fields) {
        return Err(TOO_LARGE);
    }
    match fields.len() > MOST {
        true => Err("must be at most 50 fields"),
        false => Ok(()),
    }
}

/// Whether a text contains the character that the database can't store.
fn holds_zero(fields: &Map<String, Value>) -> bool {
    let in_text = |value: &Value| value.as_str().is_some_and(|text| text.contains('\0'));
    fields.values().any(|value| match value {
        Value::Array(items) => items.iter().any(in_text),
        value => in_text(value),
    })
}

/// Returns the kind of a record in the form of its entity: `module:entity` and `module.entity` are the same kind.
pub(crate) fn normal_kind(kind: &str) -> String {
    match kind.split_once(':') {
        Some((module, entity)) if !entity.contains(':') => format!("{module}.{entity}"),
        _ => kind.to_owned(),
    }
}

/// Whether a text may be the kind or the id of a record.
pub(crate) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= MAX_ID && !has_control_characters(text)
}

fn is_field_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let begins = bytes.next().is_some_and(|byte| byte.is_ascii_lowercase());
    let goes_on = bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    begins && goes_on && name.len() <= MAX_FIELD_NAME
}

/// Whether a text is a path with one leading `/`, or an https URL. Browsers read `/\` as `//`.
fn is_href(href: &str) -> bool {
    let is_path = href.starts_with('/') && !href.starts_with("//") && !href.starts_with("/\\");
    let is_url = href.len() > "https://".len() && href.starts_with("https://");
    let is_plain = !href.contains(char::is_whitespace) && !has_control_characters(href);
    (is_path || is_url) && is_plain && href.chars().count() <= MAX_HREF
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_trimmed_and_each_there_once_in_order() {
        let given = [" b ", "a", "b"].map(str::to_owned);
        assert_eq!(tags(&given), Ok(vec!["b".to_owned(), "a".to_owned()]));
        let many: Vec<String> = (0..51).map(|number| number.to_string()).collect();
        for rejected in [vec![" ".to_owned()], vec!["x".repeat(65)], vec!["a\0".to_owned()], many] {
            assert!(tags(&rejected).is_err());
        }
    }

    #[test]
    fn the_last_assignment_of_a_record_counts() {
        let assignment = |label: &str, href: Option<&str>| Assignment {
            kind: "customers:deal".to_owned(),
            id: "1".to_owned(),
            label: Some(label.to_owned()),
            href: href.map(str::to_owned),
        };
        let given = [assignment("a", None), assignment("b", Some("/deals/1"))];
        let as_given = |_: &str, id: &str| id.to_owned();
        let kept = assignments(&given, as_given).expect("valid");
        assert_eq!(
            (kept.len(), kept[0].kind.as_str(), kept[0].label.as_deref()),
            (1, "customers.deal", Some("b"))
        );
        for href in [
            "//evil.test",
            "/\\evil.test",
            "http://a.test",
            "javascript:alert(1)",
            "https://",
        ] {
            let rejected = assignments(&[assignment("a", Some(href))], as_given);
            assert!(rejected.is_err(), "{href}");
        }
    }

    #[test]
    fn fields_are_scalars_under_plain_names_and_null_removes() {
        let object = |text: &str| -> Map<String, Value> { serde_json::from_str(text).expect("an object") };
        let mut fields = object(r#"{"a": 1, "b": "x"}"#);

        change_fields(&mut fields, &object(r#"{"a": null, "c_1": [1, "2", true]}"#)).expect("valid");

        assert_eq!(fields, object(r#"{"b": "x", "c_1": [1, "2", true]}"#));
        for changes in [
            r#"{"A": 1}"#,
            r#"{"": 1}"#,
            r#"{"a": {}}"#,
            r#"{"a": [[1]]}"#,
            r#"{"a": "\u0000"}"#,
        ] {
            assert!(
                change_fields(&mut fields.clone(), &object(changes)).is_err(),
                "{changes}"
            );
        }
        let removals: Map<String, Value> = (0..60).map(|number| (format!("x{number}"), Value::Null)).collect();
        assert!(change_fields(&mut fields, &removals).is_ok(), "nothing is added");
        let long = object(&format!(r#"{{"a": "{}"}}"#, "x".repeat(17_000)));
        assert!(change_fields(&mut fields, &long).is_err());
    }
}
