//! Texts with references: `Deal {{data.title}} was closed by {{user.id}}`.
//!
//! Every byte that is built comes from the budget of the run and stops at the length that its action allows, so that references to large values cost
//! neither memory nor time beyond both.

use std::fmt::{self, Write};

use serde_json::{Map, Value};

use crate::condition::{self, Facts, Reference, TextBudget};

/// Bytes that a value in a document takes beside its text.
const VALUE_BYTES: usize = size_of::<Value>();
/// Deepest nesting of a document that is built. The value of a rule has at most 16 levels, and a record with its state before the change has few more. A job
/// or an event with a document of more than 127 levels could not be read.
const DEEPEST: usize = 64;

/// A text with references. Inserted text is not searched for references again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template(pub(super) Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Reference(Reference),
}

/// Why a text or a value was not built to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exceeded {
    /// It is longer than its action allows.
    Length,
    /// It is nested deeper than 64 levels.
    Depth,
    /// The budget of the run is used up.
    Budget,
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
    ///
    /// # Errors
    /// If it has more than `longest` characters, or the budget of the run is used up.
    pub(super) fn encoded(&self, facts: &Facts<'_>, longest: usize) -> Result<String, Exceeded> {
        let mut text = BoundedText::new(&facts.budget, longest);
        for part in &self.0 {
            match part {
                Part::Text(own) => text.push(own)?,
                Part::Reference(reference) => match &*reference.resolve(facts) {
                    Value::String(value) => text.push_encoded(value)?,
                    // Percent-encoded, a text is at least as long as before.
                    value => {
                        let mut shown = BoundedText::new(&facts.budget, longest);
                        shown.push_shown(value)?;
                        text.push_encoded(&shown.text)?;
                    }
                },
            }
        }
        Ok(text.text)
    }

    /// Returns the text with values in place of references, cut to `longest` characters.
    ///
    /// # Errors
    /// If the budget of the run is used up.
    pub(crate) fn text(&self, facts: &Facts<'_>, longest: usize) -> Result<String, Exceeded> {
        let mut text = BoundedText::new(&facts.budget, longest);
        match self.write(facts, &mut text) {
            Ok(()) | Err(Exceeded::Length) => Ok(text.text),
            Err(exceeded @ (Exceeded::Depth | Exceeded::Budget)) => Err(exceeded),
        }
    }

    fn write(&self, facts: &Facts<'_>, text: &mut BoundedText<'_>) -> Result<(), Exceeded> {
        for part in &self.0 {
            match part {
                Part::Text(own) => text.push(own)?,
                Part::Reference(reference) => text.push_shown(&reference.resolve(facts))?,
            }
        }
        Ok(())
    }
}

/// A text of a bounded number of characters. All of it is taken from the budget of its run.
struct BoundedText<'a> {
    text: String,
    /// Characters that may still be added.
    left: usize,
    budget: &'a TextBudget,
    /// Why writing has ended.
    exceeded: Option<Exceeded>,
}

impl<'a> BoundedText<'a> {
    const fn new(budget: &'a TextBudget, longest: usize) -> Self {
        Self {
            text: String::new(),
            left: longest,
            budget,
            exceeded: None,
        }
    }

    /// Adds a text, as much of it as fits.
    fn push(&mut self, text: &str) -> Result<(), Exceeded> {
        let end = text.char_indices().nth(self.left).map(|(at, _)| at);
        let fitting = end.and_then(|end| text.get(..end)).unwrap_or(text);
        if !self.budget.take(fitting.len()) {
            return Err(Exceeded::Budget);
        }
        self.text.push_str(fitting);
        self.left -= fitting.chars().count();
        match end {
            Some(_) => Err(Exceeded::Length),
            None => Ok(()),
        }
    }

    fn push_encoded(&mut self, text: &str) -> Result<(), Exceeded> {
        for piece in url::form_urlencoded::byte_serialize(text.as_bytes()) {
            self.push(if piece == "+" { "%20" } else { piece })?;
        }
        Ok(())
    }

    /// Adds the text of a value, which is that of conditions: null is empty, lists and objects are written as JSON.
    fn push_shown(&mut self, value: &Value) -> Result<(), Exceeded> {
        match (condition::text(value), value) {
            (Some(text), _) => self.push(&text),
            (None, Value::Null) => Ok(()),
            (None, other) => self.push_json(other),
        }
    }

    fn push_json(&mut self, value: &Value) -> Result<(), Exceeded> {
        write!(self, "{value}").map_err(|fmt::Error| self.exceeded.unwrap_or(Exceeded::Length))
    }
}

impl Write for BoundedText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text).map_err(|exceeded| {
            self.exceeded = Some(exceeded);
            fmt::Error
        })
    }
}

/// Returns a value as JSON.
///
/// # Errors
/// If it has more than `longest` bytes, or the budget of the run is used up.
pub(crate) fn json(value: &Value, facts: &Facts<'_>, longest: usize) -> Result<String, Exceeded> {
    let mut text = BoundedText::new(&facts.budget, longest);
    text.push_json(value)?;
    within(text.text, longest)
}

/// Returns an object as JSON, without a copy of the values. The names must not need escapes.
///
/// # Errors
/// If it has more than `longest` bytes, or the budget of the run is used up.
pub(crate) fn json_object(fields: &[(&str, &Value)], facts: &Facts<'_>, longest: usize) -> Result<String, Exceeded> {
    let mut text = BoundedText::new(&facts.budget, longest);
    text.push("{")?;
    for (number, (name, value)) in fields.iter().enumerate() {
        text.push(if number == 0 { "" } else { "," })?;
        text.push("\"")?;
        text.push(name)?;
        text.push("\":")?;
        text.push_json(value)?;
    }
    text.push("}")?;
    within(text.text, longest)
}

fn within(text: String, longest: usize) -> Result<String, Exceeded> {
    if text.len() > longest {
        return Err(Exceeded::Length);
    }
    Ok(text)
}

/// Returns a JSON value in which texts are filled. A text that is one reference becomes the value itself.
///
/// # Errors
/// If its JSON has more than `longest` bytes even without escapes, it is nested too deeply, or the budget of the run is used up.
pub(crate) fn fill(value: &Value, facts: &Facts<'_>, longest: usize) -> Result<Value, Exceeded> {
    let mut filler = Filler {
        facts,
        left: longest,
        levels: DEEPEST,
    };
    filler.fill(value)
}

/// Fills a document.
struct Filler<'a, 'f> {
    facts: &'a Facts<'f>,
    /// Bytes of JSON that may still be added.
    left: usize,
    /// Levels of lists and objects that may still be added inside of the present ones.
    levels: usize,
}

impl Filler<'_, '_> {
    fn fill(&mut self, value: &Value) -> Result<Value, Exceeded> {
        let Value::String(text) = value else {
            return self.copy_with(value, Self::fill);
        };
        if let Some(reference) = Reference::whole(text) {
            let facts = self.facts;
            return self.copy(&reference.resolve(facts));
        }
        self.take(2, VALUE_BYTES)?;
        let mut filled = BoundedText::new(&self.facts.budget, self.left);
        Template::parse(text).write(self.facts, &mut filled)?;
        let filled = filled.text;
        self.take(filled.len(), 0)?;
        Ok(Value::String(filled))
    }

    fn copy(&mut self, value: &Value) -> Result<Value, Exceeded> {
        match value {
            Value::String(text) => {
                self.take(2 + text.len(), VALUE_BYTES + text.len())?;
                Ok(value.clone())
            }
            other => self.copy_with(other, Self::copy),
        }
    }

    /// Copies a value other than a text; `part` copies its parts.
    fn copy_with(
        &mut self,
        value: &Value,
        part: fn(&mut Self, &Value) -> Result<Value, Exceeded>,
    ) -> Result<Value, Exceeded> {
        self.take(1, VALUE_BYTES)?;
        match value {
            Value::Array(items) => {
                self.descend()?;
                let items: Result<_, _> = items.iter().map(|item| part(self, item)).collect();
                self.levels += 1;
                items.map(Value::Array)
            }
            Value::Object(fields) => {
                self.descend()?;
                let mut copied = Map::new();
                for (name, value) in fields {
                    self.take(3 + name.len(), VALUE_BYTES + name.len())?;
                    copied.insert(name.clone(), part(self, value)?);
                }
                self.levels += 1;
                Ok(Value::Object(copied))
            }
            scalar => Ok(scalar.clone()),
        }
    }

    /// Enters a list or an object.
    fn descend(&mut self) -> Result<(), Exceeded> {
        self.levels = self.levels.checked_sub(1).ok_or(Exceeded::Depth)?;
        Ok(())
    }

    /// Takes bytes of the document's JSON, and bytes of the run's budget.
    fn take(&mut self, of_json: usize, of_budget: usize) -> Result<(), Exceeded> {
        self.left = self.left.checked_sub(of_json).ok_or(Exceeded::Length)?;
        match self.facts.budget.take(of_budget) {
            true => Ok(()),
            false => Err(Exceeded::Budget),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(text: &str, facts: &Facts<'_>, longest: usize) -> String {
        Template::parse(text).text(facts, longest).expect("within the budget")
    }

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
            assert_eq!(filled(text, &facts, 100), expected, "{text}");
        }
        assert_eq!(filled("äöü{{b}}", &facts, 2), "äö");
        assert_eq!(filled("ab{{list}}", &facts, 5), "ab[1,");
    }

    #[test]
    fn a_whole_reference_keeps_its_type() {
        let data = json!({"number": 7, "list": [null, true, {"a": "b"}]});
        let facts = Facts::for_test(&data);
        let body = json!({"a": "{{number}}", "b": ["n: {{number}}", true], "c": "{{list}}"});

        let filled = fill(&body, &facts, 100);

        let expected = json!({"a": 7, "b": ["n: 7", true], "c": [null, true, {"a": "b"}]});
        assert_eq!(filled, Ok(expected));
    }

    #[test]
    fn numbers_have_the_text_that_conditions_compare() {
        let data = json!({"whole": 1.0, "half": 0.5, "large": 1e21, "negative": -7, "flag": true, "list": [1.0]});
        let facts = Facts::for_test(&data);

        let text = filled(
            "{{whole}} {{half}} {{large}} {{negative}} {{flag}} {{list}}",
            &facts,
            100,
        );

        assert_eq!(text, "1 0.5 1000000000000000000000 -7 true [1.0]");
        let value = fill(&json!(["{{whole}}", "n: {{whole}}"]), &facts, 100);
        assert_eq!(value, Ok(json!([1.0, "n: 1"])));
    }

    #[test]
    fn a_document_that_is_built_is_nested_at_most_64_deep() {
        let nested = |levels: usize| (0..levels).fold(json!("{{a}}"), |inner, _| json!([{"b": inner}]));
        let (shallow, deep) = (json!({"a": nested(15)}), json!({"a": nested(16)}));
        let body = |levels: usize| json!([nested(levels), nested(1)]);
        let filled = |levels: usize, data: &Value| fill(&body(levels), &Facts::for_test(data), 10_000).map(drop);

        assert_eq!(filled(16, &shallow), Ok(()));
        assert_eq!(filled(16, &deep), Err(Exceeded::Depth));
        assert_eq!(filled(32, &json!({"a": 1})), Err(Exceeded::Depth));
        assert_eq!(filled(31, &json!({"a": 1})), Ok(()));
    }

    #[test]
    fn a_document_is_at_most_as_long_as_its_action_allows() {
        let data = json!({"a": "x\"ü", "list": [1, [], {}, {"k": -2.5}], "empty": {}});
        let facts = Facts::for_test(&data);
        let body = json!({"a": "{{a}}", "b": ["{{list}}", "{{a}}-{{a}}", {"{{a}}": null}], "c": "{{empty}}"});
        let whole = fill(&body, &facts, usize::MAX).expect("filled").to_string();

        assert!(fill(&body, &facts, whole.len()).is_ok());
        assert_eq!(fill(&body, &facts, whole.len() / 2), Err(Exceeded::Length));
        let value = fill(&body, &facts, whole.len()).expect("filled");
        assert_eq!(json(&value, &facts, whole.len()), Ok(whole.clone()));
        assert_eq!(json(&value, &facts, whole.len() - 1), Err(Exceeded::Length));
        let object = json_object(&[("a", &data), ("b", &json!(1))], &facts, 200).expect("short");
        assert_eq!(
            serde_json::from_str::<Value>(&object).ok(),
            Some(json!({"a": data, "b": 1}))
        );
        assert_eq!(
            json_object(&[("a", &data)], &facts, data.to_string().len() + 5),
            Err(Exceeded::Length)
        );
    }

    #[test]
    fn the_bytes_that_are_built_are_bounded_by_the_budget() {
        let data = json!({"a": "x".repeat(100_000), "list": vec![json!({"k": "y"}); 10_000]});
        let many = |text: &str| json!(vec![text; 5000]);
        let long = |text: &str| json!(text.repeat(5000));
        let facts = Facts::for_test(&data);
        for body in [
            many("{{a}}"),
            many("-{{a}}"),
            many("{{list}}"),
            long("{{a}}"),
            long("{{list}}"),
            json!({"a": many("{{data}}")}),
        ] {
            let facts = Facts::for_test(&data);
            assert_eq!(fill(&body, &facts, usize::MAX), Err(Exceeded::Budget));
            assert!(facts.budget.left() < MOST_LEFT, "{}", facts.budget.left());
        }
        let before = facts.budget.left();

        assert_eq!(fill(&long("{{a}}"), &facts, 1000), Err(Exceeded::Length));
        assert_eq!(
            Template::parse(&"{{list}}".repeat(5000)).encoded(&facts, 1000),
            Err(Exceeded::Length)
        );
        assert_eq!(filled(&"{{list}}".repeat(5000), &facts, 1000).len(), 1000);
        assert!(json(&data, &facts, 1000).is_err());

        assert!(
            before - facts.budget.left() < 10_000,
            "the length of the action bounds them first"
        );
        assert_eq!(
            Template::parse("{{a}}").text(&without_budget(&data), 10),
            Err(Exceeded::Budget)
        );
    }

    /// More bytes than the largest piece that did not fit.
    const MOST_LEFT: usize = 200_000;

    fn without_budget(data: &Value) -> Facts<'_> {
        Facts {
            budget: TextBudget::new(5),
            ..Facts::for_test(data)
        }
    }
}
