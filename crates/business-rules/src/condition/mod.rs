//! Conditions of rules: compiled once, and evaluated on borrowed JSON without any other effect.

mod budget;
mod compare;
mod compile;
#[cfg(test)]
mod naive;
mod operator;
mod path;
pub(crate) mod reference;

use std::borrow::Cow;

use regex::Regex;
use serde_json::Value;

pub(crate) use budget::TextBudget;
pub(crate) use compile::compile;
pub(crate) use operator::Operator;
pub(crate) use path::FieldPath;
pub(crate) use reference::{Facts, Reference};

use compare::{Steps, TooManySteps};

/// Most steps of an evaluation: visited conditions and compared values.
const MOST_STEPS: u32 = 100_000;

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
    /// A pattern, compiled.
    Pattern(Regex),
    /// A field of the data.
    Field(FieldPath),
    /// A value of the context.
    Reference(Reference),
}

impl Condition {
    /// Evaluates the condition.
    ///
    /// # Errors
    /// After 100 000 steps.
    pub(crate) fn evaluate(&self, facts: &Facts<'_>) -> Result<bool, TooManySteps> {
        self.holds(facts, &mut Steps::new(MOST_STEPS))
    }

    fn holds(&self, facts: &Facts<'_>, steps: &mut Steps) -> Result<bool, TooManySteps> {
        steps.take(1)?;
        match self {
            Self::Always => Ok(true),
            Self::All(conditions) => every(conditions, facts, steps),
            Self::NotAll(conditions) => Ok(!every(conditions, facts, steps)?),
            Self::Any(conditions) => {
                for condition in conditions {
                    if condition.holds(facts, steps)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::Compare(comparison) => comparison.holds(facts, steps),
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

fn every(conditions: &[Condition], facts: &Facts<'_>, steps: &mut Steps) -> Result<bool, TooManySteps> {
    for condition in conditions {
        if !condition.holds(facts, steps)? {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Comparison {
    fn holds(&self, facts: &Facts<'_>, steps: &mut Steps) -> Result<bool, TooManySteps> {
        let left = self.field.find(facts.data).unwrap_or(&Value::Null);
        let right: Cow<'_, Value> = match &self.operand {
            Operand::None => Cow::Borrowed(&Value::Null),
            Operand::Literal(value) => Cow::Borrowed(value),
            Operand::Field(path) => Cow::Borrowed(path.find(facts.data).unwrap_or(&Value::Null)),
            Operand::Reference(reference) => reference.resolve(facts),
            Operand::Pattern(pattern) => {
                steps.take(1)?;
                return Ok(compare::matches(left, pattern));
            }
        };
        self.operator.holds(left, &right, steps)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(condition: &Value, data: &Value) -> bool {
        let condition = compile(condition).expect("a valid condition");
        let facts = Facts::for_test(data);
        condition.evaluate(&facts).expect("few steps")
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

        assert!(condition.evaluate(&Facts::for_test(&data)).is_err());
    }
}
