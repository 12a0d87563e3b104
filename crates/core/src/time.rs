//! Instants of the API and the database: UTC, milliseconds.

use std::fmt;

use ::time::format_description::well_known::Rfc3339;
use ::time::{Duration, OffsetDateTime, UtcOffset};
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::Timestamptz;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, schema::Type};

/// An instant in UTC with millisecond precision; in the wire format `2026-11-20T08:15:30.123Z`. Inputs may have any RFC 3339 offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, AsExpression, FromSqlRow)]
#[diesel(sql_type = Timestamptz)]
pub struct Timestamp(OffsetDateTime);

/// The error of a text that is not an RFC 3339 instant, or is outside of the four-digit years in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an RFC 3339 instant of the years 0000 to 9999 in UTC")]
pub struct NoInstant;

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const UNIX_EPOCH: Self = Self(OffsetDateTime::UNIX_EPOCH);

    /// Cuts an instant of UTC to milliseconds.
    fn of_utc(instant: OffsetDateTime) -> Self {
        Self(instant.replace_millisecond(instant.millisecond()).unwrap_or(instant))
    }

    /// Parses an RFC 3339 instant, cut to milliseconds.
    ///
    /// # Errors
    /// When the text is not an RFC 3339 instant, or its offset moves it out of the four-digit years of UTC.
    pub fn parse(text: &str) -> Result<Self, NoInstant> {
        let instant = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| NoInstant)?;
        let in_utc = instant.checked_to_offset(UtcOffset::UTC);
        in_utc
            .filter(|instant| (0..=9999).contains(&instant.year()))
            .map(Self::of_utc)
            .ok_or(NoInstant)
    }

    /// Returns the instant as an `OffsetDateTime`.
    #[must_use]
    pub fn get(self) -> OffsetDateTime {
        self.0
    }

    /// Returns the milliseconds since 1970.
    #[must_use]
    pub fn unix_millis(self) -> i64 {
        self.0.unix_timestamp() * 1000 + i64::from(self.0.millisecond())
    }

    /// Returns the instant this long before.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        self.after(-duration)
    }

    /// Returns the instant this long after.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let t = self.0;
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            t.year(),
            u8::from(t.month()),
            t.day(),
            t.hour(),
            t.minute(),
            t.second(),
            t.millisecond()
        )
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(|_| serde::de::Error::custom("must be an ISO-8601 timestamp"))
    }
}

impl FromSql<Timestamptz, Pg> for Timestamp {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        <OffsetDateTime as FromSql<Timestamptz, Pg>>::from_sql(value).map(Self::of_utc)
    }
}

impl ToSql<Timestamptz, Pg> for Timestamp {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        <OffsetDateTime as ToSql<Timestamptz, Pg>>::to_sql(&self.0, out)
    }
}

impl utoipa::PartialSchema for Timestamp {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .examples([serde_json::json!("2026-11-20T08:15:30.123Z")])
            .build()
            .into()
    }
}

impl utoipa::ToSchema for Timestamp {}

/// The source of the present instant; business code takes it from its context, never from the system.
pub trait Clock: Send + Sync + 'static {
    /// Returns the present instant.
    fn now(&self) -> Timestamp;

    /// Waits this long.
    fn sleep(&self, duration: std::time::Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the system's clock")]
    fn now(&self) -> Timestamp {
        Timestamp::of_utc(OffsetDateTime::now_utc())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_moved_to_utc_and_cut_to_milliseconds() {
        let at = Timestamp::parse("2026-11-20T09:15:30.1239+01:00").expect("an instant");

        assert_eq!(at.to_string(), "2026-11-20T08:15:30.123Z");
    }

    #[test]
    fn an_offset_does_not_leave_the_calendar() {
        for text in ["9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+00:01"] {
            assert_eq!(Timestamp::parse(text), Err(NoInstant), "{text}");
        }
        for (text, expected) in [
            ("9999-12-31T23:59:59+01:00", "9999-12-31T22:59:59.000Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp::parse(text).expect("an instant").to_string(), expected);
        }
    }
}
