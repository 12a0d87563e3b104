//! Amounts of money.

use backoffice_core::Decimal;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::Numeric;
use serde::{Deserialize, Serialize};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, schema::Type};

/// Number of digits of the column, including two decimals.
const DIGITS: u32 = 14;

/// A non-negative amount with two decimals; a number on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, AsExpression, FromSqlRow)]
#[diesel(sql_type = Numeric)]
#[serde(try_from = "Decimal<2>", into = "Decimal<2>")]
pub struct Amount(Decimal<2>);

impl Amount {
    /// Parses the text of a number.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text.trim()).ok()
    }
}

impl TryFrom<Decimal<2>> for Amount {
    type Error = &'static str;

    fn try_from(number: Decimal<2>) -> Result<Self, Self::Error> {
        if number.units() >= 0 && number.fits(DIGITS) {
            return Ok(Self(number));
        }
        Err("must be a number from 0 to 999999999999.99 with at most two decimals")
    }
}

impl From<Amount> for Decimal<2> {
    fn from(amount: Amount) -> Self {
        amount.0
    }
}

impl FromSql<Numeric, Pg> for Amount {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(FromSql::<Numeric, Pg>::from_sql(value)?))
    }
}

impl ToSql<Numeric, Pg> for Amount {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        ToSql::<Numeric, Pg>::to_sql(&self.0, out)
    }
}

impl utoipa::PartialSchema for Amount {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::Number)
            .minimum(Some(0))
            .maximum(Some(999_999_999_999.99))
            .multiple_of(Some(0.01))
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
        for (number, expected) in [
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
            let amount = serde_json::from_value::<Amount>(number.clone()).ok();

            assert_eq!(amount.map(|amount| amount.0.units()), expected, "{number}");
        }
    }

    #[test]
    fn a_whole_amount_is_written_without_decimals() {
        assert_eq!(json!(Amount(Decimal::from_units(1200))), json!(12));
        assert_eq!(json!(Amount(Decimal::from_units(1999))), json!(19.99));
    }

    #[test]
    fn text_that_is_no_finite_number_is_no_amount() {
        for text in ["", "x", "NaN", "inf", "-1", "1e400"] {
            assert_eq!(Amount::parse(text), None, "{text}");
        }
        assert_eq!(Amount::parse(" 5.5 "), Some(Amount(Decimal::from_units(550))));
    }
}
