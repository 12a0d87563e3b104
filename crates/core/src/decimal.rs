//! Decimal numbers of the API and the database: exact, with a fixed number of decimals.

use std::fmt;

use diesel::data_types::PgNumeric;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::Numeric;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, schema::Type};

/// Base of the digits in which PostgreSQL sends a `numeric`.
const BASE: i64 = 10_000;

/// A number with at most `SCALE` decimals (0 to 4), stored as a count of its smallest unit: `numeric(p, SCALE)` in the database, a JSON number
/// in the wire format. JSON readers take numbers for doubles, so an input that a double can't distinguish from its neighbours is rejected and
/// never rounded; so is an input with more decimals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, AsExpression, FromSqlRow)]
#[diesel(sql_type = Numeric)]
pub struct Decimal<const SCALE: u32>(i64);

impl<const SCALE: u32> Decimal<SCALE> {
    /// Number of smallest units in 1.
    const UNIT: i64 = {
        assert!(SCALE <= 4, "decimals fit into one digit of PostgreSQL");
        10_i64.pow(SCALE)
    };

    /// Creates a number from a count of smallest units.
    #[must_use]
    pub const fn from_units(units: i64) -> Self {
        Self(units)
    }

    /// Returns the count of smallest units.
    #[must_use]
    pub const fn units(self) -> i64 {
        self.0
    }

    /// Returns whether it has at most this many digits, decimals included, so that `numeric(precision, SCALE)` can hold it.
    #[must_use]
    pub fn fits(self, precision: u32) -> bool {
        self.0.unsigned_abs() < 10_u64.pow(precision)
    }

    /// Returns the only number below 2^54 units whose double is `value`; `None` when there is none or more than one.
    #[expect(clippy::cast_possible_truncation, reason = "the value is whole and below 2^54")]
    #[expect(clippy::float_cmp, reason = "searches for the number with exactly this double")]
    fn from_double(value: f64) -> Option<Self> {
        let near = (value * Self::UNIT as f64).round();
        if near.abs() >= 2_f64.powi(54) {
            return None;
        }
        let near = near as i64;
        // The number is at most half a step of doubles away from `value`, and the product from its nearest double: below 2^54 units, two units each.
        let mut same = (near - 5..=near + 5).map(Self).filter(|one| one.to_double() == value);
        match (same.next(), same.next()) {
            (Some(number), None) => Some(number),
            _ => None,
        }
    }

    /// Returns the double that is nearest to the number.
    fn to_double(self) -> f64 {
        if self.0.unsigned_abs() < 1 << 53 {
            return self.0 as f64 / Self::UNIT as f64;
        }
        // A double can't hold so many units exactly, so the conversion and the division would each round.
        self.to_string().parse().unwrap_or(f64::NAN)
    }
}

impl<const SCALE: u32> fmt::Display for Decimal<SCALE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = Self::UNIT.unsigned_abs();
        let (whole, rest) = (self.0.unsigned_abs() / unit, self.0.unsigned_abs() % unit);
        let sign = if self.0 < 0 { "-" } else { "" };
        if rest == 0 {
            return write!(f, "{sign}{whole}");
        }
        let decimals = format!("{rest:0width$}", width = SCALE as usize);
        write!(f, "{sign}{whole}.{}", decimals.trim_end_matches('0'))
    }
}

impl<const SCALE: u32> Serialize for Decimal<SCALE> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 % Self::UNIT == 0 {
            serializer.serialize_i64(self.0 / Self::UNIT)
        } else {
            serializer.serialize_f64(self.to_double())
        }
    }
}

impl<'de, const SCALE: u32> Deserialize<'de> for Decimal<SCALE> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_f64(Reader::<SCALE>)
    }
}

struct Reader<const SCALE: u32>;

impl<const SCALE: u32> Reader<SCALE> {
    fn whole<E: de::Error>(value: Option<i64>) -> Result<Decimal<SCALE>, E> {
        let units = value.and_then(|value| value.checked_mul(Decimal::<SCALE>::UNIT));
        units.map(Decimal).ok_or_else(|| E::custom("must be a smaller number"))
    }
}

impl<const SCALE: u32> Visitor<'_> for Reader<SCALE> {
    type Value = Decimal<SCALE>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number with at most {SCALE} decimals")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        Self::whole(Some(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
        Self::whole(i64::try_from(value).ok())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
        Decimal::from_double(value).ok_or_else(|| {
            E::custom(format!(
                "must have at most {SCALE} decimals, and no more digits than a double keeps"
            ))
        })
    }
}

impl<const SCALE: u32> ToSql<Numeric, Pg> for Decimal<SCALE> {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        let unit = Self::UNIT.unsigned_abs();
        let (mut whole, rest) = (self.0.unsigned_abs() / unit, self.0.unsigned_abs() % unit);
        let base = BASE.unsigned_abs();
        let mut digits = vec![i16::try_from(rest * (base / unit))?];
        while whole > 0 {
            digits.insert(0, i16::try_from(whole % base)?);
            whole /= base;
        }
        let (weight, scale) = (i16::try_from(digits.len())? - 2, u16::try_from(SCALE)?);
        let number = if self.0 < 0 {
            PgNumeric::Negative { weight, scale, digits }
        } else {
            PgNumeric::Positive { weight, scale, digits }
        };
        <PgNumeric as ToSql<Numeric, Pg>>::to_sql(&number, &mut out.reborrow())
    }
}

impl<const SCALE: u32> FromSql<Numeric, Pg> for Decimal<SCALE> {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        let (sign, weight, digits) = match PgNumeric::from_sql(value)? {
            PgNumeric::Positive { weight, digits, .. } => (1, weight, digits),
            PgNumeric::Negative { weight, digits, .. } => (-1, weight, digits),
            PgNumeric::NaN => return Err("not a number".into()),
        };
        let mut units = 0_i64;
        for (place, digit) in (0..).zip(digits) {
            let power = weight - place;
            let part = match u32::try_from(power) {
                Ok(power) => BASE
                    .checked_pow(power)
                    .and_then(|size| size.checked_mul(Self::UNIT))
                    .and_then(|size| size.checked_mul(i64::from(digit))),
                Err(_) if power == -1 => {
                    let step = BASE / Self::UNIT;
                    (i64::from(digit) % step == 0).then_some(i64::from(digit) / step)
                }
                Err(_) => (digit == 0).then_some(0),
            };
            units = part
                .and_then(|part| units.checked_add(part))
                .ok_or("a number with more digits than this type keeps")?;
        }
        Ok(Self(sign * units))
    }
}

impl<const SCALE: u32> utoipa::PartialSchema for Decimal<SCALE> {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::Number).build().into()
    }
}

impl<const SCALE: u32> utoipa::ToSchema for Decimal<SCALE> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<Decimal<4>> {
        serde_json::from_str(json).ok()
    }

    #[test]
    fn a_document_round_trips() {
        for json in [
            "0",
            "12",
            "-3",
            "0.1",
            "12.5",
            "0.0001",
            "-1.25",
            "123456789012.3456",
            "549755813887.9999",
            "999999999999",
        ] {
            let number = read(json).unwrap_or_else(|| panic!("{json} is a decimal"));

            assert_eq!(serde_json::to_string(&number).expect("JSON"), json);
            assert_eq!(number.to_string(), json);
        }
        assert_eq!(read("1e2"), Some(Decimal::from_units(1_000_000)));
        assert_eq!(read("12.5000"), Some(Decimal::from_units(125_000)));
    }

    #[test]
    fn nothing_is_rounded() {
        for json in [
            "0.00001",
            "1.23456",
            "999999999999.9997",
            "1e300",
            "18446744073709551615",
            "\"1\"",
            "true",
            "null",
        ] {
            assert_eq!(read(json), None, "{json}");
        }
        assert_eq!(serde_json::from_str::<Decimal<2>>("0.125").ok(), None);
    }

    #[test]
    fn a_number_is_read_exactly_or_rejected() {
        let mut state = 1_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 11
        };
        for bits in 1..=58 {
            let mut exact = 0;
            for _ in 0..2_000 {
                let units = i64::try_from(next() % (1 << bits)).expect("below 2^58");
                let number = Decimal::<4>::from_units(units);

                let found = read(&number.to_string());

                assert!(
                    found.is_none_or(|found| found == number),
                    "{number} was read as {found:?}"
                );
                exact += usize::from(found.is_some());
            }
            assert!(bits > 52 || exact == 2_000, "{bits} bits: {exact} of 2000");
        }
    }

    #[test]
    fn a_number_fits_into_so_many_digits() {
        assert!(Decimal::<4>::from_units(9_999).fits(4));
        assert!(!Decimal::<4>::from_units(-10_000).fits(4));
    }
}
