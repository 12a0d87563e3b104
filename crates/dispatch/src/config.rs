//! Section `dispatch` of the configuration.

use std::time::Duration;

use backoffice_core::config::{ConfigError, duration};
use serde::Deserialize;

/// Section `dispatch`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DispatchConfig {
    /// Whether the calendar accepts unavailability windows for existing resources only. Default false.
    pub strict_resources: bool,
    /// How long before the start of an assignment its worker is reminded, at most 30 days; 0 = never. Default 12 hours.
    #[serde(deserialize_with = "duration")]
    pub reminder_before: Duration,
}

impl Default for DispatchConfig {
    fn default() -> Self {
        Self {
            strict_resources: false,
            reminder_before: Duration::from_hours(12),
        }
    }
}

impl DispatchConfig {
    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        if self.reminder_before <= Duration::from_hours(24 * 30) {
            return Ok(self);
        }
        let text = "must be at most 30 days, and 0 for no reminders";
        Err(ConfigError::new("dispatch.reminder_before", text))
    }
}
