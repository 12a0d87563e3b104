//! A second evaluator, written from the specification alone, to which the first one is compared: it interprets the JSON of a condition anew each time.

use std::hash::{BuildHasher, Hasher, RandomState};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::{Facts, compile};

/// Cases of a normal run; `BACKOFFICE_RULE_CASES` sets another number.
const CASES: u32 = 3000;

fn find(data: &Value, path: &str) -> Value {
    let pointer: String = path
        .replace('[', ".")
        .replace(']', "")
        .split('.')
        .map(|part| format!("/{part}"))
        .collect();
    // Values of the generator have no lists with names, nor objects with numbers as names.
    data.pointer(&pointer).cloned().unwrap_or(Value::Null)
}

fn num(value: &Value) -> f64 {
    match value {
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
        Value::Bool(flag) => f64::from(u8::from(*flag)),
        Value::String(text) => {
            let text = text.trim();
            let plain = text
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
            match text {
                "" => 0.0,
                _ if plain => text.parse().unwrap_or(f64::NAN),
                _ => f64::NAN,
            }
        }
        _ => f64::NAN,
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) if number.is_f64() => Some(format!("{}", number.as_f64()?)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn equal(left: &Value, right: &Value) -> bool {
    if left.is_null() || right.is_null() {
        return left.is_null() && right.is_null();
    }
    if left.is_number() || right.is_number() {
        return (num(left) - num(right)).abs() < f64::EPSILON;
    }
    let same_kind = std::mem::discriminant(left) == std::mem::discriminant(right);
    same_kind && deep(left, right)
}

fn deep(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(_), Value::Number(_)) => (num(left) - num(right)).abs() < f64::EPSILON,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| deep(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len() && one.iter().all(|(key, a)| other.get(key).is_some_and(|b| deep(a, b)))
        }
        _ => left == right,
    }
}

fn seconds(text: &str) -> Option<i64> {
    let date = text.get(..10)?;
    let parts: Vec<i64> = date.split('-').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [year, month, day] = parts.try_into().ok()?;
    let month = time::Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = time::Date::from_calendar_date(i32::try_from(year).ok()?, month, u8::try_from(day).ok()?).ok()?;
    let rest = match text.get(10..)? {
        "" => 0,
        "T10:00:00" | "T10:00:00Z" => 10 * 3600,
        "T10:00:00+02:00" => 8 * 3600,
        _ => return None,
    };
    Some((i64::from(date.to_julian_day()) * 86_400) + rest)
}

/// Returns -1, 0 or 1; `None` if the values have no order.
fn order(left: &Value, right: &Value) -> Option<i32> {
    let sign = |less: bool, greater: bool| i32::from(greater) - i32::from(less);
    if left.is_null() || right.is_null() {
        return Some(sign(!right.is_null(), !left.is_null()));
    }
    if let (Some(one), Some(other)) = (left.as_str().and_then(seconds), right.as_str().and_then(seconds)) {
        return Some(sign(one < other, one > other));
    }
    let numeric = |value: &Value| !num(value).is_nan() && value.as_str().is_none_or(|text| !text.trim().is_empty());
    if numeric(left) && numeric(right) {
        return Some(sign(num(left) < num(right), num(left) > num(right)));
    }
    let (one, other): (Vec<char>, Vec<char>) = (text(left)?.chars().collect(), text(right)?.chars().collect());
    Some(sign(one < other, one > other))
}

fn contains(left: &Value, right: &Value) -> bool {
    match left {
        Value::Array(list) => list.iter().any(|one| equal(right, one)),
        Value::String(whole) => text(right).is_some_and(|part| whole.contains(&part)),
        _ => false,
    }
}

fn compare(left: &Value, operator: &str, right: &Value) -> bool {
    let both = || text(left).zip(text(right));
    match operator {
        "=" | "==" => equal(left, right),
        "!=" => !equal(left, right),
        ">" => order(left, right) == Some(1),
        ">=" => order(left, right).is_some_and(|sign| sign >= 0),
        "<" => order(left, right) == Some(-1),
        "<=" => order(left, right).is_some_and(|sign| sign <= 0),
        "IN" => right
            .as_array()
            .is_some_and(|list| list.iter().any(|one| equal(left, one))),
        "NOT_IN" => !compare(left, "IN", right),
        "CONTAINS" => contains(left, right),
        "NOT_CONTAINS" => !contains(left, right),
        "STARTS_WITH" => both().is_some_and(|(whole, part)| whole.starts_with(&part)),
        "ENDS_WITH" => both().is_some_and(|(whole, part)| whole.ends_with(&part)),
        "IS_EMPTY" => match left {
            Value::Null => true,
            Value::String(text) => text.trim().is_empty(),
            Value::Array(list) => list.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        },
        "IS_NOT_EMPTY" => !compare(left, "IS_EMPTY", right),
        other => unreachable!("no operator {other}"),
    }
}

fn evaluate(condition: &Value, data: &Value) -> bool {
    let operator = condition["operator"].as_str().unwrap_or_default();
    if let Some(rules) = condition["rules"].as_array() {
        let mut held = rules.iter().map(|rule| evaluate(rule, data));
        return match operator {
            "AND" => held.all(|one| one),
            "OR" => held.any(|one| one),
            _ => !held.all(|one| one),
        };
    }
    let field = |name: &str| find(data, condition[name].as_str().unwrap_or_default());
    let right = match condition.get("value") {
        Some(Value::String(text)) if text.starts_with("{{") => find(data, text.trim_matches(['{', '}'])),
        Some(value) => value.clone(),
        None => field("valueField"),
    };
    compare(&field("field"), operator, &right)
}

fn leaf() -> impl Strategy<Value = Value> {
    let texts = prop::sample::select(vec![
        "",
        " ",
        "0",
        "1",
        " 1 ",
        "1.50",
        "1e1",
        "-2",
        "+3",
        ".5",
        "5.",
        ".",
        "e5",
        "1e",
        "NaN",
        "inf",
        "0x1",
        "true",
        "a",
        "A",
        "ab",
        "ä",
        "2026-01-31",
        "2026-02-30",
        "2026-01-31T10:00:00",
        "2026-01-31T10:00:00Z",
        "2026-01-31T10:00:00+02:00",
        "2026-01-31 x",
        "9007199254740993",
    ]);
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-3_i64..12).prop_map(|number| json!(number)),
        prop::sample::select(vec![0.5, 1.0, 1.5, -2.0, 10.0, 1e20]).prop_map(|number| json!(number)),
        texts.prop_map(|text| json!(text)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(2, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::Array),
            vec((prop::sample::select(vec!["a", "b", "c"]), inner), 0..3).prop_map(|fields| {
                Value::Object(
                    fields
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}

fn path() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a", "b", "c", "a.b", "b[0]", "c[1].a", "a.b[0]", "missing", "b[9]",
    ])
}

fn comparison() -> impl Strategy<Value = Value> {
    let operators = prop::sample::select(vec![
        "=",
        "==",
        "!=",
        ">",
        ">=",
        "<",
        "<=",
        "IN",
        "NOT_IN",
        "CONTAINS",
        "NOT_CONTAINS",
        "STARTS_WITH",
        "ENDS_WITH",
        "IS_EMPTY",
        "IS_NOT_EMPTY",
    ]);
    let operand = prop_oneof![
        value().prop_map(|value| ("value", value)),
        path().prop_map(|path| ("valueField", json!(path))),
        path().prop_map(|path| ("value", json!(format!("{{{{{path}}}}}")))),
    ];
    (path(), operators, operand).prop_map(|(field, operator, (name, operand))| {
        let mut condition = json!({"field": field, "operator": operator});
        condition[name] = operand;
        condition
    })
}

fn condition() -> impl Strategy<Value = Value> {
    comparison().prop_recursive(4, 20, 4, |inner| {
        let operators = prop::sample::select(vec!["AND", "OR", "NOT"]);
        (operators, vec(inner, 1..4)).prop_map(|(operator, rules)| json!({"operator": operator, "rules": rules}))
    })
}

fn data() -> impl Strategy<Value = Value> {
    (value(), value(), value()).prop_map(|(a, b, c)| json!({"a": a, "b": b, "c": c}))
}

#[test]
fn rul_3_both_evaluators_agree() {
    let cases = std::env::var("BACKOFFICE_RULE_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok());
    let seed = std::env::var("BACKOFFICE_RULE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    println!("BACKOFFICE_RULE_SEED={seed}");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases: cases.unwrap_or(CASES),
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));

    let outcome = runner.run(&(condition(), data()), |(condition, data)| {
        let compiled = compile(&condition).expect("a generated condition is valid");
        let before = data.clone();
        let held = compiled.evaluate_for_test(&Facts::for_test(&data)).expect("few steps");
        prop_assert_eq!(held, evaluate(&condition, &data), "{} on {}", condition, data);
        prop_assert_eq!(Ok(held), compiled.evaluate_for_test(&Facts::for_test(&data)));
        prop_assert_eq!(before, data);
        Ok(())
    });

    outcome.unwrap_or_else(|failure| panic!("seed {seed}: {failure}"));
}
