//! Calendar days.

use std::fmt;

use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::Date;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, schema::Type};

const FORM: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]");

/// A day without a time; `YYYY-MM-DD` on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsExpression, FromSqlRow)]
#[diesel(sql_type = sql_types::Date)]
pub struct Day(Date);

impl Day {
    /// Parses `YYYY-MM-DD` with a year from 1 to 9999.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        // The format would accept a sign.
        let starts_with_digit = text.starts_with(|first: char| first.is_ascii_digit());
        let day = Date::parse(text, FORM).ok().filter(|_| starts_with_digit)?;
        (1..=9999).contains(&day.year()).then_some(Self(day))
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
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("must be a day: YYYY-MM-DD"))
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
            .examples([serde_json::json!("2026-11-20")])
            .build()
            .into()
    }
}

impl utoipa::ToSchema for Day {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_written_as_it_is_read() {
        assert_eq!(Day::parse("2026-02-28").expect("a day").to_string(), "2026-02-28");
        for text in [
            "2026-02-29",
            "2026-2-8",
            "20260228",
            "2026-02-28T00:00:00Z",
            "-0001-01-01",
            "+2026-02-28",
            "",
        ] {
            assert_eq!(Day::parse(text), None, "{text}");
        }
    }
}
