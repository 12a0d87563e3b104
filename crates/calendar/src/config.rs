//! Section `calendar` of the configuration.

use std::time::Duration;

use backoffice_core::Platform;
use backoffice_core::config::{ConfigError, duration};
use serde::Deserialize;

use crate::zones::Zone;

/// Section `calendar`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CalendarConfig {
    /// IANA name of the time zone of organizations without a working calendar. Default `UTC`. Instants that are already derived for such organizations do not
    /// change with it.
    pub default_time_zone: String,
    /// How far ahead occurrences of series are created, 30 to 3650 days. Default 730 days.
    #[serde(deserialize_with = "duration")]
    pub horizon: Duration,
}

impl Default for CalendarConfig {
    fn default() -> Self {
        Self {
            default_time_zone: "UTC".to_owned(),
            horizon: Duration::from_hours(24 * 730),
        }
    }
}

impl CalendarConfig {
    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        if self.zone().is_none() {
            let message = "must be a name of the IANA time zone database; expected for example `Europe/Warsaw`";
            return Err(ConfigError::new("calendar.default_time_zone", message));
        }
        if !(30..=3650).contains(&self.horizon_days()) {
            return Err(ConfigError::new(
                "calendar.horizon",
                "must be between 30 days and 3650 days",
            ));
        }
        Ok(self)
    }

    pub(crate) fn zone(&self) -> Option<Zone> {
        Zone::parse(&self.default_time_zone)
    }

    /// Returns the horizon in whole days.
    fn horizon_days(&self) -> i64 {
        i64::try_from(self.horizon.as_secs() / 86_400).unwrap_or(i64::MAX)
    }
}

/// Returns the configured horizon in whole days.
pub(crate) fn horizon_days(platform: &Platform) -> i64 {
    let config = platform.provided().get::<CalendarConfig>();
    config.map_or_else(
        || CalendarConfig::default().horizon_days(),
        |config| config.horizon_days(),
    )
}
