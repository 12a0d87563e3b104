//! Section `notifications` of the configuration.

use std::time::Duration;

use backoffice_core::config::{ConfigError, duration};
use serde::Deserialize;

/// Section `notifications`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotificationsConfig {
    /// How long a notification is shown, 1 to 366 days. Default 30 days.
    #[serde(deserialize_with = "duration")]
    pub retention: Duration,
}

impl Default for NotificationsConfig {
    fn default() -> Self {
        Self {
            retention: Duration::from_hours(24 * 30),
        }
    }
}

impl NotificationsConfig {
    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        if (Duration::from_hours(24)..=Duration::from_hours(24 * 366)).contains(&self.retention) {
            return Ok(self);
        }
        Err(ConfigError::new(
            "notifications.retention",
            "must be between 1 day and 366 days",
        ))
    }
}
