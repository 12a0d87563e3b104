//! Comparisons of JSON values.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Number, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::evaluation::{Steps, Unevaluated};

/// Bytes of a text that is read as a number that add a step.
const TEXT_OF_STEP: usize = 100;

/// Whether two values are equal.
pub(super) fn equal(left: &Value, right: &Value, steps: &mut Steps<'_>) -> Result<bool, Unevaluated> {
    steps.take(1)?;
    Ok(match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(_), Value::String(text)) | (Value::String(text), Value::Number(_)) => {
            // A list may have many numbers to compare the text with.
            steps.take(u32::try_from(text.len() / TEXT_OF_STEP).unwrap_or(u32::MAX))?;
            numbers(left, right) == Some(Ordering::Equal)
        }
        (Value::Number(_), _) | (_, Value::Number(_)) => numbers(left, right) == Some(Ordering::Equal),
        (Value::String(left), Value::String(right)) => left == right,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => same(left, right, steps)?,
        _ => false,
    })
}

/// Deep equality: numbers by their values, other values by themselves, objects without regard to order.
fn same(left: &Value, right: &Value, steps: &mut Steps<'_>) -> Result<bool, Unevaluated> {
    steps.take(1)?;
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for (left, right) in left.iter().zip(right) {
                if !same(left, right, steps)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(left), Value::Object(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for (key, left) in left {
                let Some(right) = right.get(key) else { return Ok(false) };
                if !same(left, right, steps)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Number(_), Value::Number(_)) => Ok(numbers(left, right) == Some(Ordering::Equal)),
        _ => Ok(left == right),
    }
}

/// Returns the order of two values; `None` if they have none.
pub(super) fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Null, Value::Null) => return Some(Ordering::Equal),
        (Value::Null, _) => return Some(Ordering::Less),
        (_, Value::Null) => return Some(Ordering::Greater),
        (Value::String(left), Value::String(right)) => {
            if let (Some(left), Some(right)) = (instant(left), instant(right)) {
                return Some(left.cmp(&right));
            }
        }
        _ => {}
    }
    if is_numeric(left) && is_numeric(right) {
        return numbers(left, right);
    }
    Some(text(left)?.as_ref().cmp(text(right)?.as_ref()))
}

/// Whether a list has an element that equals the value; false for other values than lists.
pub(super) fn has_element(list: &Value, value: &Value, steps: &mut Steps<'_>) -> Result<bool, Unevaluated> {
    for element in list.as_array().into_iter().flatten() {
        if equal(value, element, steps)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a list has the element, or a text the part.
pub(super) fn contains(left: &Value, right: &Value, steps: &mut Steps<'_>) -> Result<bool, Unevaluated> {
    match left {
        Value::Array(_) => has_element(left, right, steps),
        Value::String(whole) => Ok(text(right).is_some_and(|part| whole.contains(part.as_ref()))),
        _ => Ok(false),
    }
}

/// Compares the texts of two values; false if one has none.
pub(super) fn texts(left: &Value, right: &Value, accepts: impl FnOnce(&str, &str) -> bool) -> bool {
    match (text(left), text(right)) {
        (Some(left), Some(right)) => accepts(&left, &right),
        _ => false,
    }
}

pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns the text of a value; lists, objects and null have none.
pub(crate) fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Bool(true) => Some(Cow::Borrowed("true")),
        Value::Bool(false) => Some(Cow::Borrowed("false")),
        Value::Number(number) => Some(Cow::Owned(shortest(number))),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Writes a number in its shortest decimal form: `1` for 1.0.
fn shortest(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => format!("{float}"),
        _ => number.to_string(),
    }
}

/// The value of a number; integers are compared exactly.
#[derive(Debug, Clone, Copy)]
enum Numeric {
    Integer(i128),
    Float(f64),
}

impl Numeric {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a comparison with a float is as exact as the float"
    )]
    const fn float(self) -> f64 {
        match self {
            Self::Integer(integer) => integer as f64,
            Self::Float(float) => float,
        }
    }
}

fn numbers(left: &Value, right: &Value) -> Option<Ordering> {
    match (number(left)?, number(right)?) {
        (Numeric::Integer(left), Numeric::Integer(right)) => Some(left.cmp(&right)),
        (left, right) => left.float().partial_cmp(&right.float()),
    }
}

/// Returns the number of a value; `None` if it is not a number.
fn number(value: &Value) -> Option<Numeric> {
    match value {
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) => Some(Numeric::Integer(integer.into())),
            (None, Some(integer)) => Some(Numeric::Integer(integer.into())),
            (None, None) => number.as_f64().map(Numeric::Float),
        },
        Value::Bool(flag) => Some(Numeric::Integer(i128::from(*flag))),
        Value::String(text) => match text.trim() {
            "" => Some(Numeric::Integer(0)),
            text if is_decimal(text) => match text.parse::<i64>() {
                Ok(integer) => Some(Numeric::Integer(integer.into())),
                Err(_) => text.parse().ok().map(Numeric::Float),
            },
            _ => None,
        },
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn is_numeric(value: &Value) -> bool {
    match value {
        Value::Number(_) | Value::Bool(_) => true,
        Value::String(text) => is_decimal(text.trim()),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Whether a text is a number in decimal or exponent notation.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let are_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    are_digits(whole)
        && are_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|digits| !digits.is_empty() && are_digits(digits))
}

/// Returns the instant of a date, or of a time with or without an offset, in nanoseconds since 1970. Without an offset it is UTC.
fn instant(text: &str) -> Option<i128> {
    let bytes = text.as_bytes();
    let is_date = |at: usize, byte: u8| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    if bytes.len() < 10 || !bytes.iter().take(10).enumerate().all(|(at, byte)| is_date(at, *byte)) {
        return None;
    }
    let parsed = |text: &str| {
        OffsetDateTime::parse(text, &Rfc3339)
            .ok()
            .map(OffsetDateTime::unix_timestamp_nanos)
    };
    match text.len() {
        10 => parsed(&format!("{text}T00:00:00Z")),
        _ => parsed(text).or_else(|| parsed(&format!("{text}Z"))),
    }
}
