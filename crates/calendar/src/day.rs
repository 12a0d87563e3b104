//! Calendar days.

use std::fmt;

use backoffice_core::{Detail, Violations};
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::format_description::BorrowedFormatItem;
use time::macros::{date, format_description};
use time::{Date, Duration};
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, schema::Type};

const FORM: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]");

/// A day of the years 1970 to 2199; `YYYY-MM-DD` on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, AsExpression, FromSqlRow)]
#[diesel(sql_type = sql_types::Date)]
pub struct Day(Date);

impl Day {
    /// English message for a text that is not such a day.
    pub const EXPECTED: &str = "must be a date (YYYY-MM-DD) of the years 1970 to 2199";

    /// 1970-01-01.
    pub const EPOCH: Self = Self(date!(1970 - 01 - 01));

    /// 2199-12-31, the last supported day.
    pub const LAST: Self = Self(date!(2199 - 12 - 31));

    /// Returns this day, if its year is from 1970 to 2199.
    #[must_use]
    pub fn from_date(date: Date) -> Option<Self> {
        (1970..=2199).contains(&date.year()).then_some(Self(date))
    }

    /// Parses `YYYY-MM-DD` with a year from 1970 to 2199.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        // The format would accept a sign.
        let starts_with_digit = text.starts_with(|first: char| first.is_ascii_digit());
        let date = Date::parse(text, FORM).ok().filter(|_| starts_with_digit);
        date.and_then(Self::from_date)
    }

    /// Parses a query parameter; reports an invalid one with the code `invalid_value`.
    pub fn from_parameter(path: &str, text: Option<&str>, violations: &mut Violations) -> Option<Self> {
        let day = Self::parse(text?);
        if day.is_none() {
            violations.add(Detail::new(path, Self::EXPECTED, "invalid_value"));
        }
        day
    }

    /// Returns the day as a `Date`.
    #[must_use]
    pub const fn get(self) -> Date {
        self.0
    }

    /// Returns the number of days from an earlier day to this one; negative if the other one is later.
    #[must_use]
    pub fn days_since(self, earlier: Self) -> i64 {
        (self.0 - earlier.0).whole_days()
    }

    /// Returns the day this many days later; `None` outside of the supported years.
    #[must_use]
    pub fn plus_days(self, days: i64) -> Option<Self> {
        self.0.checked_add(Duration::days(days)).and_then(Self::from_date)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = self.0;
        write!(f, "{:04}-{:02}-{:02}", day.year(), u8::from(day.month()), day.day())
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(Self::EXPECTED))
    }
}

impl FromSql<sql_types::Date, Pg> for Day {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        <Date as FromSql<sql_types::Date, Pg>>::from_sql(value).map(Self)
    }
}

impl ToSql<sql_types::Date, Pg> for Day {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        <Date as ToSql<sql_types::Date, Pg>>::to_sql(&self.0, out)
    }
}

impl utoipa::PartialSchema for Day {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Date)))
            .description(Some("A day of the years 1970 to 2199."))
            .pattern(Some(
                "^(19[7-9]|20[0-9]|21[0-9])[0-9]-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
            ))
            .examples([serde_json::json!("2026-11-20")])
            .build()
            .into()
    }
}

impl utoipa::ToSchema for Day {
    fn name() -> std::borrow::Cow<'static, str> {
        "CalendarDay".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_strict_and_of_a_supported_year() {
        assert_eq!(Day::parse("2028-02-29").expect("a day").to_string(), "2028-02-29");
        for text in [
            "2026-02-29",
            "2026-2-8",
            "2026-1-5",
            "20260228",
            "2026-02-28T00:00:00Z",
            " 2026-02-28",
            "+2026-02-28",
            "1969-12-31",
            "2200-01-01",
            "",
        ] {
            assert_eq!(Day::parse(text), None, "{text}");
        }
    }

    #[test]
    fn days_are_counted_and_moved() {
        let day = |text: &str| Day::parse(text).expect("a day");

        assert_eq!(day("2026-03-01").days_since(day("2026-02-01")), 28);
        assert_eq!(day("2026-02-28").plus_days(1), Some(day("2026-03-01")));
        assert_eq!(day("2199-12-31").plus_days(1), None);
    }
}
