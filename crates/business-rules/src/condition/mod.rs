//! Conditions of rules: compiled once, and evaluated on borrowed JSON without any other effect.

mod budget;
mod compare;
mod compile;
mod evaluation;
#[cfg(test)]
mod naive;
mod operator;
mod path;
mod pattern;
pub(crate) mod reference;
mod slices;

use std::borrow::Cow;

use serde_json::Value;

pub(crate) use budget::TextBudget;
pub(crate) use compare::text;
pub(crate) use compile::{check, compile};
pub(crate) use evaluation::{EvaluationLimits, Unevaluated};
pub(crate) use operator::Operator;
pub(crate) use path::FieldPath;
pub(crate) use pattern::Patterns;
pub(crate) use reference::{Facts, Reference};
pub(crate) use slices::{SearchThreads, Slice};

use evaluation::{Compared, Evaluation, EvaluationProgress, Steps};

/// A compiled condition.
#[derive(Debug)]
pub(crate) enum Condition {
    /// True without a condition.
    Always,
    /// Every one is true.
    All(Vec<Self>),
    /// Some one is true.
    Any(Vec<Self>),
    /// Not every one is true.
    NotAll(Vec<Self>),
    /// A comparison.
    Compare(Comparison),
}

/// A comparison of a field.
#[derive(Debug)]
pub(crate) struct Comparison {
    field: FieldPath,
    operator: Operator,
    operand: Operand,
}

/// The right side of a comparison.
#[derive(Debug)]
pub(crate) enum Operand {
    /// Operators with one side.
    None,
    /// A value.
    Literal(Value),
    /// A pattern.
    Pattern(String),
    /// A field of the data.
    Field(FieldPath),
    /// A value of the context.
    Reference(Reference),
}

impl Condition {
    /// Evaluates the condition without a pause.
    ///
    /// # Errors
    /// After 100,000 steps, or at the end of its time, or if a pattern is not valid.
    pub(crate) fn evaluate(&self, facts: &Facts<'_>, limits: EvaluationLimits<'_>) -> Result<bool, Unevaluated> {
        let mut evaluation = Evaluation::new(self, limits);
        loop {
            let known = match evaluation.advance(facts, None)? {
                EvaluationProgress::Held(held) => Some(held),
                EvaluationProgress::Search(search) => evaluation.note(search.is_match()),
                EvaluationProgress::Paused => None,
            };
            if let Some(held) = known {
                return Ok(held);
            }
        }
    }

    /// Returns whether the condition, or a part of it, compares with this reference.
    pub(crate) fn mentions(&self, reference: &Reference) -> bool {
        match self {
            Self::Always => false,
            Self::All(inner) | Self::Any(inner) | Self::NotAll(inner) => {
                inner.iter().any(|one| one.mentions(reference))
            }
            Self::Compare(one) => matches!(&one.operand, Operand::Reference(own) if own == reference),
        }
    }
}

impl Comparison {
    fn holds(&self, facts: &Facts<'_>, steps: &mut Steps<'_>) -> Result<Compared, Unevaluated> {
        steps.check_time()?;
        let left = self.field.find(facts.data).unwrap_or(&Value::Null);
        let right: Cow<'_, Value> = match &self.operand {
            Operand::None => Cow::Borrowed(&Value::Null),
            Operand::Literal(value) => Cow::Borrowed(value),
            Operand::Field(path) => Cow::Borrowed(path.find(facts.data).unwrap_or(&Value::Null)),
            Operand::Reference(reference) => reference.resolve(facts),
            Operand::Pattern(pattern) => {
                return steps.matches(left, pattern)?.ok_or(Unevaluated::InvalidPattern);
            }
        };
        match (self.operator, &*right) {
            (Operator::Matches, Value::String(pattern)) => {
                Ok(steps.matches(left, pattern)?.unwrap_or(Compared::Known(false)))
            }
            _ => self.operator.holds(left, &right, steps).map(Compared::Known),
        }
    }
}

#[cfg(test)]
impl Condition {
    /// Evaluates the condition in an hour at most.
    fn evaluate_for_test(&self, facts: &Facts<'_>) -> Result<bool, Unevaluated> {
        let limits = EvaluationLimits {
            patterns: &Patterns::default(),
            longest: std::time::Duration::from_secs(3600),
        };
        self.evaluate(facts, limits)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(condition: &Value, data: &Value) -> bool {
        let condition = compile(condition).expect("a valid condition");
        let facts = Facts::for_test(data);
        condition.evaluate_for_test(&facts).expect("few steps")
    }

    #[test]
    fn rul_3_comparisons_follow_the_table() {
        let aaa = "a".repeat(10_000);
        for (left, operator, right, expected) in [
            (json!(""), "=", json!(0), true),
            (json!(true), "=", json!(1), true),
            (json!("true"), "=", json!(true), false),
            (json!(null), "=", json!(""), false),
            (json!(null), "=", json!(null), true),
            (json!("a"), "==", json!("A"), false),
            (json!("x"), "=", json!(0), false),
            (json!([1, {"a": 1, "b": 2}]), "=", json!([1, {"b": 2, "a": 1}]), true),
            (json!(1.0), "=", json!(1), true),
            (json!("1e2"), "=", json!(100), true),
            (json!("0x10"), "=", json!(16), false),
            (json!("inf"), "!=", json!("Infinity"), true),
            (json!("a"), "NOT_IN", json!("abc"), true),
            (json!("a"), "IN", json!(["b", "a"]), true),
            (json!(1), "IN", json!(["1"]), true),
            (json!("2026-01-31"), "<", json!("2026-02-01T00:00:00+02:00"), true),
            (json!("2026-02-30"), "<", json!("2026-02-4"), true),
            (json!("2026-01-31T10:00:00"), "=", json!("2026-01-31T10:00:00Z"), false),
            (json!("2026-01-31T10:00:00"), ">=", json!("2026-01-31T10:00:00Z"), true),
            (json!("10"), ">", json!("9"), true),
            (json!("10a"), ">", json!("9"), false),
            (json!(null), "<", json!(-5), true),
            (json!(null), "<=", json!(null), true),
            (json!(null), "<", json!(null), false),
            (json!(true), ">", json!(0), true),
            (json!([1]), ">", json!(0), false),
            (json!([1, "2"]), "CONTAINS", json!(2), true),
            (json!("order 17"), "CONTAINS", json!(17), true),
            (json!("x"), "CONTAINS", json!(null), false),
            (json!(1234), "STARTS_WITH", json!(12), true),
            (json!(true), "ENDS_WITH", json!("e"), true),
            (json!(null), "STARTS_WITH", json!(""), false),
            (json!(aaa), "MATCHES", json!("(a+)+$"), true),
            (json!("x".repeat(10_001)), "MATCHES", json!("x"), false),
            (json!("  "), "IS_EMPTY", json!(null), true),
            (json!({}), "IS_EMPTY", json!(null), true),
            (json!(0), "IS_EMPTY", json!(null), false),
            (json!(false), "IS_NOT_EMPTY", json!(null), true),
        ] {
            let condition = json!({"field": "x", "operator": operator, "value": right});
            let started = tokio::time::Instant::now();
            let held = holds(&condition, &json!({"x": left}));
            assert_eq!(held, expected, "{left} {operator} {right}");
            assert!(started.elapsed().as_millis() < 500);
        }
    }

    #[test]
    fn groups_combine_their_conditions() {
        let yes = json!({"field": "a", "operator": "=", "value": 1});
        let no = json!({"field": "a", "operator": "=", "value": 2});
        for (operator, rules, expected) in [
            ("AND", json!([yes, no]), false),
            ("AND", json!([yes, yes]), true),
            ("OR", json!([no, yes]), true),
            ("OR", json!([no, no]), false),
            ("NOT", json!([yes, no]), true),
            ("NOT", json!([yes, yes]), false),
        ] {
            let group = json!({"operator": operator, "rules": rules});
            assert_eq!(holds(&group, &json!({"a": 1})), expected, "{group}");
        }
    }

    #[test]
    fn values_come_from_the_context_before_the_data() {
        let data = json!({"entityType": "other", "own": {"list": [{"b": "sample.thing"}]}, "type": "sample.thing"});
        for value in ["{{entityType}}", "{{ own.list[0].b }}", "{{data.type}}"] {
            let condition = json!({"field": "type", "operator": "=", "value": value});
            assert!(holds(&condition, &data), "{value}");
        }
        let missing = json!({"field": "missing", "operator": "=", "value": "{{own.list[7].b}}"});
        assert!(holds(&missing, &data));
    }

    #[test]
    fn an_evaluation_ends_after_many_steps() {
        let condition = json!({"field": "a", "operator": "IN", "valueField": "b"});
        let data = json!({"a": "x", "b": vec![0; 200_000]});

        let condition = compile(&condition).expect("a valid condition");

        let held = condition.evaluate_for_test(&Facts::for_test(&data));
        assert_eq!(held, Err(Unevaluated::TooManySteps));
    }

    #[test]
    fn a_long_text_takes_steps_for_each_number_that_it_is_compared_with() {
        let condition = json!({"field": "a", "operator": "IN", "valueField": "b"});
        let condition = compile(&condition).expect("a valid condition");
        let evaluate = |digits: usize| {
            let data = json!({"a": "1".repeat(digits), "b": vec![0; 1000]});
            condition.evaluate_for_test(&Facts::for_test(&data))
        };

        assert_eq!(evaluate(99), Ok(false));
        assert_eq!(evaluate(100_000), Err(Unevaluated::TooManySteps));
    }

    fn any_matches(patterns: &[String]) -> Value {
        let matches = |pattern: &String| json!({"field": "a", "operator": "MATCHES", "value": pattern});
        let groups = patterns.chunks(50).map(|chunk| {
            let rules: Vec<Value> = chunk.iter().map(matches).collect();
            json!({"operator": "OR", "rules": rules})
        });
        json!({"operator": "OR", "rules": groups.collect::<Vec<Value>>()})
    }

    #[test]
    fn long_texts_and_large_patterns_take_many_steps() {
        let large = vec![r"^b\w{5}".to_owned(); 40];
        let evaluate = |length: usize| {
            let data = json!({"a": "a".repeat(length)});
            let condition = compile(&any_matches(&large)).expect("a valid condition");
            condition.evaluate_for_test(&Facts::for_test(&data))
        };

        assert_eq!(evaluate(100), Ok(false));
        assert_eq!(evaluate(10_000), Err(Unevaluated::TooManySteps));
    }

    #[test]
    fn no_comparison_begins_after_the_end_of_the_time() {
        let (data, condition) = (json!({"a": "x"}), any_matches(&["x".to_owned()]));
        let condition = compile(&condition).expect("a valid condition");
        let limits = EvaluationLimits {
            patterns: &Patterns::default(),
            longest: std::time::Duration::ZERO,
        };

        let held = condition.evaluate(&Facts::for_test(&data), limits);

        assert_eq!(held, Err(Unevaluated::Timeout));
    }

    #[test]
    fn a_stored_condition_has_any_number_of_patterns_and_fails_with_an_invalid_one() {
        let mut patterns: Vec<String> = (0..1200).map(|number| format!("{number}$")).collect();
        let stored = compile(&any_matches(&patterns)).expect("a stored condition");
        let data = json!({"a": "x1199"});
        assert_eq!(stored.evaluate_for_test(&Facts::for_test(&data)), Ok(true));

        patterns.insert(0, "(".to_owned());
        let stored = compile(&any_matches(&patterns)).expect("a stored condition");

        let held = stored.evaluate_for_test(&Facts::for_test(&data));
        assert_eq!(held, Err(Unevaluated::InvalidPattern));
    }

    #[test]
    fn patterns_of_the_data_match_or_do_not() {
        let data = json!({"a": "order 17", "valid": r"\d+$", "invalid": "(", "number": 17});
        for (field, expected) in [
            ("valid", true),
            ("invalid", false),
            ("number", false),
            ("missing", false),
        ] {
            let condition = json!({"field": "a", "operator": "MATCHES", "valueField": field});
            assert_eq!(holds(&condition, &data), expected, "{field}");
        }
    }
}
