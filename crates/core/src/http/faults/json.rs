//! Faults of JSON texts.

use std::collections::VecDeque;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::{Path, Segment};

use super::wording::{plain, quoted, variants};
use super::{Attempts, Found};
use crate::error::Detail;
use crate::input::Validator;

/// A step from a value to a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// A fault at which a deserializer stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fault {
    steps: Vec<Step>,
    said: String,
}

/// The message of `serde_json` about a text that continues after its value.
const TRAILING: &str = "trailing characters";

impl Fault {
    fn new(path: &Path, said: String) -> Self {
        let mut steps = Vec::new();
        for segment in path {
            steps.push(match segment {
                Segment::Seq { index } => Step::Index(*index),
                Segment::Map { key } | Segment::Enum { variant: key } => Step::Key(key.clone()),
                Segment::Unknown => break,
            });
        }
        // A missing or unknown field is reported at the start or end of its object, so its name is added to the path.
        if said.starts_with("missing field") || said.starts_with("unknown field") {
            let named = quoted(&said).map(|name| Step::Key(name.to_owned()));
            if named.is_some() && steps.last() != named.as_ref() {
                steps.extend(named);
            }
        }
        Self { steps, said }
    }

    fn is_missing(&self) -> bool {
        self.said.starts_with("missing field")
    }

    /// Returns the path in the form for clients: `variants[0].sku`.
    fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.steps {
            match step {
                Step::Index(index) => path.push_str(&format!("[{index}]")),
                Step::Key(key) if path.is_empty() => path.push_str(key),
                Step::Key(key) => {
                    path.push('.');
                    path.push_str(key);
                }
            }
        }
        path
    }
}

/// Deserializes a text that begins with an object. If values have wrong types, `rules` validates the rest, so that everything that is wrong is
/// reported at once.
pub(in super::super) fn from_json<T: DeserializeOwned>(
    text: &str,
    rules: impl Fn(&T, &mut Validator),
) -> Result<T, Vec<Detail>> {
    let validate = |text: &str, validator: &mut Validator| {
        if let Ok(rest) = read(text) {
            rules(&rest, validator);
        }
    };
    read(text).map_err(|fault| all_faults(text, fault, &|text| read::<T>(text).map(drop), &validate))
}

/// Deserializes a text that is one JSON value.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    let mut source = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut source).map_err(|error: serde_path_to_error::Error<_>| {
        Fault::new(&error.path().clone(), without_position(&error.into_inner()))
    })?;
    match source.end() {
        Ok(()) => Ok(value),
        Err(error) => Err(Fault {
            steps: Vec::new(),
            said: without_position(&error),
        }),
    }
}

/// Returns the text of an error without its line and column, which change with the values before it.
fn without_position(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    said.strip_suffix(&position).unwrap_or(&said).to_owned()
}

/// Reads a text and forgets its value. The search depends on the type of the input only through this function, so it is compiled once.
type Reader<'r> = dyn Fn(&str) -> Result<(), Fault> + 'r;

/// Returns everything that is wrong with a text that has this fault. `validate` checks a text that can be deserialized.
fn all_faults(text: &str, first: Fault, read: &Reader<'_>, validate: &dyn Fn(&str, &mut Validator)) -> Vec<Detail> {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        let message = match &*first.said {
            TRAILING => "must be one JSON object",
            _ => "must be valid JSON",
        };
        return vec![Detail::new("", message, "invalid_value")];
    };
    let mut search = Search {
        value,
        attempts: Attempts::new(text.len()),
        found: Found::default(),
        read,
    };
    if search.run().is_some() {
        let mut validator = Validator::default();
        validate(&search.value.to_string(), &mut validator);
        for detail in validator.into_details() {
            search.found.note(detail);
        }
    }
    // A duplicate field is only one field in the tree.
    if search.found.0.is_empty() {
        search.found.note(plain(first.path(), &first.said));
    }
    search.found.0
}

struct Search<'r> {
    value: Value,
    attempts: Attempts,
    found: Found,
    read: &'r Reader<'r>,
}

impl Search<'_> {
    /// Records faults until the rest can be deserialized; `None` when the search ends before.
    fn run(&mut self) -> Option<()> {
        loop {
            let fault = match self.read()? {
                Ok(()) => return Some(()),
                Err(fault) => self.with_full_path(fault)?,
            };
            let path = fault.path();
            let is_known = self.found.covers(&path);
            self.found.note(plain(path, &fault.said));
            if self.found.is_full() {
                return None;
            }
            // An optional field is removed; a required one gets a placeholder.
            let is_out = !fault.is_missing() && !is_known && self.take_out(&fault.steps);
            if !is_out && !self.stand_in(&fault) {
                return None;
            }
        }
    }

    /// Deserializes the value as it is now; `None` when the limit of attempts is reached.
    fn read(&mut self) -> Option<Result<(), Fault>> {
        self.attempts.next().then(|| (self.read)(&self.value.to_string()))
    }

    /// Returns the fault with its full path. If an object combines fields of several types, the path ends at the object: the fault is in the
    /// field whose removal changes the fault.
    fn with_full_path(&mut self, fault: Fault) -> Option<Fault> {
        let names: Vec<String> = match at(&mut self.value, &fault.steps) {
            Some(Value::Object(fields)) if !fault.is_missing() => fields.keys().cloned().collect(),
            _ => return Some(fault),
        };
        let (mut taken, mut cause) = (Vec::new(), None);
        for name in names {
            let fields = at(&mut self.value, &fault.steps).and_then(Value::as_object_mut)?;
            let Some(value) = fields.remove(&name) else { continue };
            let mut steps = fault.steps.clone();
            steps.push(Step::Key(name.clone()));
            match self.read()? {
                // Another field of the object has the same fault: it stays out too, until the fault changes.
                Err(other) if other == fault => taken.push((name, value)),
                // The field is required.
                Err(other) if other.steps == steps => {
                    at(&mut self.value, &fault.steps)
                        .and_then(Value::as_object_mut)?
                        .insert(name, value);
                }
                _ => {
                    taken.push((name, value));
                    cause = Some(steps);
                    break;
                }
            }
        }
        let fields = at(&mut self.value, &fault.steps).and_then(Value::as_object_mut)?;
        fields.extend(taken);
        Some(match cause {
            Some(steps) => Fault { steps, ..fault },
            None => fault,
        })
    }

    /// Removes a field from its object.
    fn take_out(&mut self, steps: &[Step]) -> bool {
        let Some((Step::Key(key), object)) = steps.split_last() else {
            return false;
        };
        let object = at(&mut self.value, object).and_then(Value::as_object_mut);
        object.is_some_and(|fields| fields.remove(key).is_some())
    }

    /// Puts a placeholder at the path with which the deserializer can continue.
    fn stand_in(&mut self, fault: &Fault) -> bool {
        let mut candidates: VecDeque<Value> = words(fault).into_iter().chain(stand_ins()).collect();
        let mut has_words = candidates.len() > stand_ins().count();
        while let Some(value) = candidates.pop_front() {
            if !put(&mut self.value, &fault.steps, value) {
                return false;
            }
            match self.read() {
                None => return false,
                Some(Ok(())) => return true,
                Some(Err(next)) if next.steps != fault.steps => return true,
                // An enumeration lists its words only when it gets a text.
                Some(Err(next)) if !has_words => {
                    let words = words(&next);
                    has_words = !words.is_empty();
                    words.into_iter().rev().for_each(|word| candidates.push_front(word));
                }
                Some(Err(_)) => {}
            }
        }
        false
    }
}

/// Returns the values that the deserializer would accept at the place of the fault, if it lists them.
fn words(fault: &Fault) -> Vec<Value> {
    variants(&fault.said).into_iter().map(|word| json!(word)).collect()
}

fn stand_ins() -> impl Iterator<Item = Value> {
    [
        json!("00000000-0000-0000-0000-000000000000"),
        json!(1),
        json!(false),
        json!([]),
        json!({}),
        json!("2000-01-01T00:00:00Z"),
        json!("2000-01-01"),
        json!(null),
    ]
    .into_iter()
}

fn at<'a>(value: &'a mut Value, steps: &[Step]) -> Option<&'a mut Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    })
}

/// Sets the value at a path, if its parent exists.
fn put(value: &mut Value, steps: &[Step], new: Value) -> bool {
    let Some((last, whole)) = steps.split_last() else {
        return false;
    };
    match (at(value, whole), last) {
        (Some(Value::Object(fields)), Step::Key(key)) => {
            fields.insert(key.clone(), new);
            true
        }
        (Some(Value::Array(items)), Step::Index(index)) => match items.get_mut(*index) {
            Some(item) => {
                *item = new;
                true
            }
            None => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use uuid::Uuid;

    use super::*;
    use crate::Timestamp;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only deserialization is tested")]
    struct Body {
        user_id: Uuid,
        title: String,
        #[serde(default, deserialize_with = "crate::http::given")]
        is_active: Option<bool>,
        kind: Option<Kind>,
        lines: Option<Vec<FormLine>>,
        at: Option<Timestamp>,
        #[serde(flatten)]
        more: More,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum Kind {
        Big,
        Small,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[expect(dead_code, reason = "only deserialization is tested")]
    struct FormLine {
        sku_code: String,
        count: u8,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only deserialization is tested")]
    struct More {
        group_order: Option<Vec<String>>,
        hidden_items: Option<Vec<String>>,
    }

    fn title_is_short(body: &Body, validator: &mut Validator) {
        if body.title.len() > 5 {
            validator.reject("title", "must be at most 5 characters", "too_long");
        }
    }

    fn faults(body: &Value) -> Vec<(String, String)> {
        let unread = from_json::<Body>(&body.to_string(), title_is_short).map(|_| ()).err();
        let details = unread.unwrap_or_default();
        let mut reported: Vec<_> = details
            .into_iter()
            .map(|one| (one.path, one.code.into_owned()))
            .collect();
        reported.sort();
        reported
    }

    fn expected(list: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut list: Vec<_> = list
            .iter()
            .map(|(path, code)| ((*path).to_owned(), (*code).to_owned()))
            .collect();
        list.sort();
        list
    }

    #[test]
    fn every_fault_is_found_with_its_path() {
        let reported = faults(&json!({
            "userId": 7, "isActive": null, "kind": "odd", "at": "yesterday", "groupOrder": 5, "hiddenItems": 5,
            "lines": [{"skuCode": "a", "count": 1}, {"skuCode": 1, "count": 300, "odd": 1}, 4, {"count": "x"}],
        }));

        let all = [
            ("userId", "invalid_type"),
            ("title", "required"),
            ("isActive", "required"),
            ("kind", "invalid_value"),
            ("at", "invalid_value"),
            ("groupOrder", "invalid_type"),
            ("hiddenItems", "invalid_type"),
            ("lines[1].skuCode", "invalid_type"),
            ("lines[1].count", "out_of_range"),
            ("lines[1].odd", "invalid_value"),
            ("lines[2]", "invalid_type"),
            ("lines[3].skuCode", "required"),
            ("lines[3].count", "invalid_type"),
        ];
        assert_eq!(reported, expected(&all));
    }

    #[test]
    fn valid_fields_are_not_reported() {
        assert_eq!(faults(&json!({"userId": Uuid::nil(), "title": "a"})), []);
        assert_eq!(
            faults(&json!({"userId": Uuid::nil(), "title": 1})),
            expected(&[("title", "invalid_type")])
        );
    }

    #[test]
    fn rules_are_reported_with_wrong_types_but_not_for_the_same_field() {
        let title = "a long title";

        assert_eq!(
            faults(&json!({"userId": 7, "title": title})),
            expected(&[("userId", "invalid_type"), ("title", "too_long")])
        );
        // The placeholder of a required field violates the rule, not the request.
        assert_eq!(
            faults(&json!({"userId": Uuid::nil(), "title": 7})),
            expected(&[("title", "invalid_type")])
        );
    }

    #[test]
    fn a_required_enumeration_of_another_type_gets_one_of_its_words() {
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "only deserialization is tested")]
        struct Required {
            kind: Kind,
            title: String,
        }
        let text = json!({"kind": [[7]], "title": "a long title"}).to_string();

        let unread = from_json::<Required>(&text, |body, validator| {
            if body.title.len() > 5 {
                validator.reject("title", "must be at most 5 characters", "too_long");
            }
        });

        let details = unread.expect_err("faults");
        let paths: Vec<_> = details.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, ["kind", "title"]);
    }

    #[test]
    fn a_field_that_stands_twice_is_a_fault() {
        let text = format!(r#"{{"userId": "{}", "title": "a", "title": "b"}}"#, Uuid::nil());

        let unread = from_json::<Body>(&text, title_is_short).expect_err("a fault");
        assert_eq!(unread[0].message, "must not be given twice");
    }

    #[test]
    fn a_broken_text_has_one_fault() {
        for text in ["{", "{\"a\": {\"b", "{} {}", "{]"] {
            let unread = from_json::<BTreeMap<String, Value>>(text, |_, _| {}).expect_err("a fault");
            assert_eq!((unread.len(), unread[0].path.as_str()), (1, ""), "{text}");
        }
    }

    #[test]
    fn the_work_for_a_long_text_is_bounded() {
        let lines: Vec<Value> = (0..20_000).map(|_| json!({"skuCode": 1, "count": "x"})).collect();
        let text = json!({"userId": Uuid::nil(), "title": "a", "lines": lines}).to_string();

        let unread = from_json::<Body>(&text, title_is_short).expect_err("faults");

        assert!(!unread.is_empty() && unread.len() <= super::super::MOST_ATTEMPTS);
    }
}
