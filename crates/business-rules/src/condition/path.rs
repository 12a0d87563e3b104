//! Paths into JSON: `customer.addresses[0].city`.

use serde_json::Value;

/// Longest path, in characters.
pub(crate) const LONGEST: usize = 200;

/// A parsed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldPath(Vec<Segment>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Key(String),
    Index(usize),
    /// A part that is neither a name nor an index: it leads nowhere.
    Nothing,
}

impl FieldPath {
    /// Parses names joined by dots, with indexes in brackets. `None` for a text with other characters.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_path_character = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']');
        let begins_with_name = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if text.len() > LONGEST || !begins_with_name || !text.chars().all(is_path_character) {
            return None;
        }
        Some(Self(segments(text).unwrap_or_else(|| vec![Segment::Nothing])))
    }

    /// Returns the value at the path.
    pub(crate) fn find<'a>(&self, root: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(root, |value, segment| match segment {
            Segment::Key(key) => value.as_object()?.get(key),
            Segment::Index(index) => value.as_array()?.get(*index),
            Segment::Nothing => None,
        })
    }
}

fn segments(text: &str) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    for part in text.split('.') {
        let (name, indexes) = match part.find('[') {
            Some(at) => part.split_at(at),
            None => (part, ""),
        };
        if name.is_empty() || name.contains(']') {
            return None;
        }
        segments.push(Segment::Key(name.to_owned()));
        let mut rest = indexes;
        while !rest.is_empty() {
            let (index, behind) = rest.strip_prefix('[')?.split_once(']')?;
            if index.is_empty() || !index.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            segments.push(Segment::Index(index.parse().ok()?));
            rest = behind;
        }
    }
    Some(segments)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_leads_through_objects_and_lists() {
        let root = json!({"a": {"b": [[1, 2], {"c": 3}]}});
        for (text, expected) in [
            ("a.b[0][1]", Some(json!(2))),
            ("a.b[1].c", Some(json!(3))),
            ("a.b[2]", None),
            ("a.b.c", None),
            ("b", None),
        ] {
            let path = FieldPath::parse(text).expect("a path");
            assert_eq!(path.find(&root), expected.as_ref(), "{text}");
        }
    }

    #[test]
    fn a_path_without_a_name_or_an_index_finds_nothing() {
        let root = json!({"a": {"": 1, "b": 2}, "items": [1, {"": 2}], "": 3});
        for text in [
            "a..b",
            "a.",
            "items[",
            "items[x]",
            "items[]",
            "items]",
            "a[1]b",
            "items[0",
            "items[99999999999999999999]",
            "items[1].",
        ] {
            let path = FieldPath::parse(text).expect("a path");
            assert_eq!(path.find(&root), None, "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_paths() {
        for text in ["", "1a", "a b", "a-b", "ä", "[0]", ".a", &"a".repeat(201)] {
            assert_eq!(FieldPath::parse(text), None, "{text}");
        }
    }
}
