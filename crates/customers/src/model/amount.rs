//! Amounts of money.

use std::fmt;

use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::data_types::PgNumeric;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::Numeric;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, schema::Type};

/// Hundredths of the largest amount that a column holds, and one more.
const BOUND: i64 = 100_000_000_000_000;

/// What an amount must be.
const RULE: &str = "must be a number from 0 to 999999999999.99 with at most two decimals";

/// An amount that is not negative, exact to hundredths; a number on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsExpression, FromSqlRow)]
#[diesel(sql_type = Numeric)]
pub struct Amount(i64);

impl Amount {
    /// From hundredths; `None` when it is negative or too large.
    #[must_use]
    pub fn from_hundredths(hundredths: i64) -> Option<Self> {
        (0..BOUND).contains(&hundredths).then_some(Self(hundredths))
    }

    /// From a number; `None` when it is negative, too large or finer than hundredths.
    #[must_use]
    pub fn from_number(number: f64) -> Option<Self> {
        let hundredths = number * 100.0;
        if !hundredths.is_finite() || hundredths.abs() >= BOUND as f64 {
            return None;
        }
        let whole = hundredths.round();
        // A double has 15 digits, so hundredths of 12 digits before the point are exact to a few billionths of themselves.
        let is_exact = (hundredths - whole).abs() <= (whole.abs() * 1e-14).max(1e-9);
        Self::from_hundredths(whole as i64).filter(|_| is_exact)
    }

    /// From the text of a number.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.trim().parse().ok().and_then(Self::from_number)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 % 100 == 0 {
            serializer.serialize_i64(self.0 / 100)
        } else {
            serializer.serialize_f64(self.0 as f64 / 100.0)
        }
    }
}

struct Number;

impl Visitor<'_> for Number {
    type Value = Amount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Amount, E> {
        let hundredths = number.checked_mul(100).and_then(Amount::from_hundredths);
        hundredths.ok_or_else(|| E::custom(RULE))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Amount, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Amount, E> {
        Amount::from_number(number).ok_or_else(|| E::custom(RULE))
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Number)
    }
}

impl FromSql<Numeric, Pg> for Amount {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        let PgNumeric::Positive { weight, digits, .. } = PgNumeric::from_sql(value)? else {
            return Err("an amount is not negative".into());
        };
        // Digit i counts 10000 to the power of weight - i; hundredths are a hundredth of the fourth decimal's unit.
        let mut units = 0_i64;
        for place in 0..=i32::from(weight).max(-1) + 1 {
            let digit = usize::try_from(place).ok().and_then(|place| digits.get(place));
            units = units * 10_000 + i64::from(digit.copied().unwrap_or(0));
        }
        Ok(Self(units / 100))
    }
}

impl ToSql<Numeric, Pg> for Amount {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        let mut digits = Vec::new();
        let mut rest = self.0 / 100;
        while rest > 0 {
            digits.push((rest % 10_000) as i16);
            rest /= 10_000;
        }
        let weight = i16::try_from(digits.len())? - 1;
        digits.reverse();
        digits.push((self.0 % 100 * 100) as i16);
        let numeric = PgNumeric::Positive {
            weight,
            scale: 2,
            digits,
        };
        ToSql::<Numeric, Pg>::to_sql(&numeric, &mut out.reborrow())
    }
}

impl utoipa::PartialSchema for Amount {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Number)
            .minimum(Some(0))
            .examples([serde_json::json!(1250.5)])
            .build()
            .into()
    }
}

impl utoipa::ToSchema for Amount {}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_amount_is_a_number_with_at_most_two_decimals() {
        for (given, expected) in [
            (json!(0), Some(0)),
            (json!(12), Some(1200)),
            (json!(12.0), Some(1200)),
            (json!(0.07), Some(7)),
            (json!(19.99), Some(1999)),
            (json!(999_999_999_999.99), Some(99_999_999_999_999)),
            (json!(1_000_000_000_000_i64), None),
            (json!(-1), None),
            (json!(-0.01), None),
            (json!(0.001), None),
            (json!(1e300), None),
            (json!("12"), None),
            (Value::Null, None),
        ] {
            let amount = serde_json::from_value::<Amount>(given.clone()).ok();

            assert_eq!(amount.map(|amount| amount.0), expected, "{given}");
        }
    }

    #[test]
    fn a_whole_amount_is_written_without_decimals() {
        assert_eq!(json!(Amount(1200)), json!(12));
        assert_eq!(json!(Amount(1999)), json!(19.99));
    }

    #[test]
    fn text_that_is_no_finite_number_is_no_amount() {
        for text in ["", "x", "NaN", "inf", "-1", "1e400"] {
            assert_eq!(Amount::parse(text), None, "{text}");
        }
        assert_eq!(Amount::parse(" 5.5 "), Some(Amount(550)));
    }
}
