//! Compiles conditions, and reports everything that is wrong with them.

use backoffice_core::{Detail, document};
use serde_json::{Map, Value};

use super::operator::{self, Operator};
use super::path::FieldPath;
use super::pattern::Pattern;
use super::reference::Reference;
use super::{Comparison, Condition, Operand};

/// Deepest nesting of groups.
const DEEPEST: usize = 5;
/// Most conditions of a group.
const MOST_IN_GROUP: usize = 50;
/// Most comparisons with patterns of a new condition.
const MOST_PATTERNS: usize = 50;

/// Compiles a stored condition, except its patterns; null is always true.
///
/// # Errors
/// The violated rules, with paths from the condition: `rules[1].operator`.
pub(crate) fn compile(condition: &Value) -> Result<Condition, Vec<Detail>> {
    Compiler::default().whole(condition)
}

/// Checks a new condition: what [`compile`] requires, the number of its patterns, each of them, and the nesting of its values. Stored conditions may have
/// more patterns and deeper values, which earlier releases have accepted.
///
/// # Errors
/// The violated rules, as those of [`compile`].
pub(crate) fn check(condition: &Value) -> Result<(), Vec<Detail>> {
    let compiler = Compiler {
        is_new: true,
        ..Compiler::default()
    };
    compiler.whole(condition).map(drop)
}

#[derive(Default)]
struct Compiler {
    details: Vec<Detail>,
    /// Whether the rules for new conditions count.
    is_new: bool,
    /// Number of comparisons with patterns.
    patterns: usize,
}

impl Compiler {
    fn whole(mut self, condition: &Value) -> Result<Condition, Vec<Detail>> {
        if condition.is_null() {
            return Ok(Condition::Always);
        }
        let compiled = self.condition(condition, "", 1);
        if self.is_new && self.patterns > MOST_PATTERNS {
            let message = format!("must have at most {MOST_PATTERNS} comparisons with MATCHES");
            self.reject::<()>("", message, "out_of_range");
        }
        match compiled {
            Some(compiled) if self.details.is_empty() => Ok(compiled),
            _ => Err(self.details),
        }
    }

    /// Records a violated rule. Returns nothing, in place of a compiled part.
    fn reject<T>(&mut self, at: &str, message: impl Into<String>, code: &'static str) -> Option<T> {
        self.details.push(Detail::new(at, message, code));
        None
    }

    fn condition(&mut self, value: &Value, at: &str, depth: usize) -> Option<Condition> {
        let Some(fields) = value.as_object() else {
            return self.reject(at, "must be a condition: an object", "invalid_type");
        };
        if self.is_new {
            let documents = fields.iter().filter(|(name, _)| *name != "rules");
            let checked = documents.filter_map(|(name, value)| document::check_depth(&join(at, name), value).err());
            self.details.extend(checked);
        }
        match fields.get("rules") {
            Some(rules) => self.group(fields, rules, at, depth),
            None => self.comparison(fields, at).map(Condition::Compare),
        }
    }

    fn group(&mut self, fields: &Map<String, Value>, rules: &Value, at: &str, depth: usize) -> Option<Condition> {
        if depth > DEEPEST {
            return self.reject(
                at,
                format!("must not be nested deeper than {DEEPEST} groups"),
                "out_of_range",
            );
        }
        let combine: Option<fn(Vec<Condition>) -> Condition> = match fields.get("operator").and_then(Value::as_str) {
            Some("AND") => Some(Condition::All),
            Some("OR") => Some(Condition::Any),
            Some("NOT") => Some(Condition::NotAll),
            _ => self.reject(&join(at, "operator"), "must be one of AND, OR, NOT", "invalid_value"),
        };
        let list_at = join(at, "rules");
        let Some(rules) = rules.as_array() else {
            return self.reject(&list_at, "must be a list of conditions", "invalid_type");
        };
        if rules.is_empty() || rules.len() > MOST_IN_GROUP {
            let message = format!("must have 1 to {MOST_IN_GROUP} conditions");
            return self.reject(&list_at, message, "out_of_range");
        }
        let inner = rules.iter().enumerate();
        let inner: Vec<Option<Condition>> = inner
            .map(|(index, rule)| self.condition(rule, &format!("{list_at}[{index}]"), depth + 1))
            .collect();
        let inner: Option<Vec<Condition>> = inner.into_iter().collect();
        Some(combine?(inner?))
    }

    fn comparison(&mut self, fields: &Map<String, Value>, at: &str) -> Option<Comparison> {
        let field = self.path(fields.get("field"), &join(at, "field"));
        let named = fields.get("operator").and_then(Value::as_str);
        let Some(operator) = named.and_then(Operator::parse) else {
            let names: Vec<&str> = operator::NAMES.iter().map(|(name, _)| *name).collect();
            let message = format!("must be one of {}", names.join(", "));
            return self.reject(&join(at, "operator"), message, "invalid_value");
        };
        let operand = self.operand(fields, operator, at);
        Some(Comparison {
            field: field?,
            operator,
            operand: operand?,
        })
    }

    fn operand(&mut self, fields: &Map<String, Value>, operator: Operator, at: &str) -> Option<Operand> {
        if !operator.has_operand() {
            return Some(Operand::None);
        }
        if operator == Operator::Matches {
            self.patterns += 1;
        }
        match (fields.get("value"), fields.get("valueField")) {
            (Some(_), Some(_)) => {
                let message = "must not be given together with value";
                self.reject(&join(at, "valueField"), message, "invalid_value")
            }
            (None, None) => self.reject(&join(at, "value"), "is required, or valueField", "required"),
            (None, field) => self.path(field, &join(at, "valueField")).map(Operand::Field),
            (Some(Value::String(text)), None) if Reference::whole(text).is_some() => {
                Reference::whole(text).map(Operand::Reference)
            }
            (Some(value), None) if operator == Operator::Matches => {
                let pattern = value.as_str().ok_or("must be a pattern");
                match pattern.and_then(|pattern| self.pattern(pattern)) {
                    Ok(pattern) => Some(Operand::Pattern(pattern)),
                    Err(message) => self.reject(&join(at, "value"), message, "invalid_value"),
                }
            }
            (Some(value), None) => Some(Operand::Literal(value.clone())),
        }
    }

    /// Returns a pattern. Compiles it to check it, unless there are too many of them anyway.
    fn pattern(&self, text: &str) -> Result<String, &'static str> {
        if self.is_new && self.patterns <= MOST_PATTERNS {
            Pattern::compile(text)?;
        }
        Ok(text.to_owned())
    }

    fn path(&mut self, value: Option<&Value>, at: &str) -> Option<FieldPath> {
        let Some(value) = value else {
            return self.reject(at, "is required", "required");
        };
        let path = value.as_str().and_then(FieldPath::parse);
        if path.is_none() {
            let message = "must be names joined by dots, with indexes as [0], of at most 200 characters";
            return self.reject(at, message, "invalid_value");
        }
        path
    }
}

fn join(at: &str, name: &str) -> String {
    match at {
        "" => name.to_owned(),
        _ => format!("{at}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(condition: &Value) -> Vec<(String, String)> {
        let details = check(condition).expect_err("an invalid condition");
        details
            .into_iter()
            .map(|one| (one.path, one.code.into_owned()))
            .collect()
    }

    fn nested(levels: usize) -> Value {
        let leaf = json!({"field": "a", "operator": "IS_EMPTY"});
        (0..levels).fold(leaf, |inner, _| json!({"operator": "AND", "rules": [inner]}))
    }

    #[test]
    fn everything_that_is_wrong_is_reported() {
        let condition = json!({"operator": "XOR", "rules": [
            {"field": "a b", "operator": "~"},
            {"field": "a", "operator": "="},
            {"field": "a", "operator": "=", "value": 1, "valueField": "b"},
            {"field": "a", "operator": "MATCHES", "value": "("},
            {"operator": "IS_EMPTY"},
            7,
        ]});
        let expected = [
            ("operator", "invalid_value"),
            ("rules[0].field", "invalid_value"),
            ("rules[0].operator", "invalid_value"),
            ("rules[1].value", "required"),
            ("rules[2].valueField", "invalid_value"),
            ("rules[3].value", "invalid_value"),
            ("rules[4].field", "required"),
            ("rules[5]", "invalid_type"),
        ];
        assert_eq!(
            faults(&condition),
            expected.map(|(path, code)| (path.to_owned(), code.to_owned()))
        );
    }

    #[test]
    fn groups_are_bounded() {
        assert!(compile(&nested(5)).is_ok());
        assert_eq!(faults(&nested(6)).len(), 1);
        let group = |number: usize| json!({"operator": "OR", "rules": vec![nested(0); number]});
        assert!(compile(&group(50)).is_ok());
        assert_eq!(faults(&group(51)), [("rules".to_owned(), "out_of_range".to_owned())]);
        assert_eq!(faults(&group(0)), [("rules".to_owned(), "out_of_range".to_owned())]);
    }

    fn pattern(text: &str) -> Value {
        json!({"field": "a", "operator": "MATCHES", "value": text})
    }

    #[test]
    fn large_patterns_are_rejected() {
        assert!(check(&pattern("^[a-z]{1,20}$")).is_ok());
        for text in ["((a{200}){200}){200}", &"a".repeat(201)] {
            assert_eq!(faults(&pattern(text)).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_new_condition_has_no_value_that_is_nested_too_deeply() {
        let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        let with = |field: &str, levels: usize| {
            let mut comparison = json!({"field": "a", "operator": "=", "value": 1});
            comparison[field] = deep(levels);
            json!({"operator": "AND", "rules": [comparison]})
        };

        assert!(check(&with("value", document::DEEPEST)).is_ok());
        for field in ["value", "note"] {
            let condition = with(field, document::DEEPEST + 1);
            let path = format!("rules[0].{field}");
            assert_eq!(faults(&condition), [(path, "invalid_value".to_owned())]);
            assert!(compile(&condition).is_ok(), "a stored condition");
        }
    }

    #[test]
    fn a_new_condition_has_at_most_fifty_patterns_wherever_they_come_from() {
        let of_field = json!({"field": "a", "operator": "MATCHES", "valueField": "b"});
        let many = |number: usize| {
            let group = |rules: Vec<Value>| json!({"operator": "AND", "rules": rules});
            group(vec![
                group(vec![pattern("^x"); number]),
                group(vec![of_field.clone(); 25]),
            ])
        };

        assert!(check(&many(25)).is_ok());
        assert_eq!(faults(&many(26)), [(String::new(), "out_of_range".to_owned())]);
        assert!(compile(&many(26)).is_ok(), "a stored condition");
    }
}
