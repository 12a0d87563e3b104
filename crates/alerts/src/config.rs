//! Section `alerts` of the configuration.

use std::time::Duration;

use backoffice_core::config::{ConfigError, duration};
use serde::Deserialize;

/// Section `alerts`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AlertsConfig {
    /// How long a resolved alert is kept, 1 to 3650 days. Default 180 days.
    #[serde(deserialize_with = "duration")]
    pub retention: Duration,
    /// How often alerts that have ended are marked as resolved, 1 minute to 1 hour. Default 1 minute. Requests show the right state in between.
    #[serde(deserialize_with = "duration")]
    pub sweep: Duration,
    /// Subjects behind a changed job site or working calendar whose alerts are recomputed in the transaction of the change, 0 to 2000; a job recomputes the
    /// others. Default 200.
    pub inline_subjects: usize,
    /// How long a critical alert waits for a user who reads or acknowledges it, before it is escalated; at most 30 days, 0 = never. Default 30 minutes.
    #[serde(deserialize_with = "duration")]
    pub escalate_after: Duration,
}

impl Default for AlertsConfig {
    fn default() -> Self {
        Self {
            retention: Duration::from_hours(24 * 180),
            sweep: Duration::from_mins(1),
            inline_subjects: 200,
            escalate_after: Duration::from_mins(30),
        }
    }
}

impl AlertsConfig {
    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        if !(Duration::from_hours(24)..=Duration::from_hours(24 * 3650)).contains(&self.retention) {
            return Err(ConfigError::new(
                "alerts.retention",
                "must be between 1 day and 3650 days",
            ));
        }
        if !(Duration::from_mins(1)..=Duration::from_hours(1)).contains(&self.sweep) {
            return Err(ConfigError::new("alerts.sweep", "must be between 1 minute and 1 hour"));
        }
        if self.inline_subjects > 2000 {
            return Err(ConfigError::new("alerts.inline_subjects", "must be between 0 and 2000"));
        }
        if self.escalate_after > Duration::from_hours(24 * 30) {
            return Err(ConfigError::new("alerts.escalate_after", "must be at most 30 days"));
        }
        Ok(self)
    }

    pub(crate) fn kept(&self) -> time::Duration {
        time::Duration::try_from(self.retention).unwrap_or(time::Duration::days(180))
    }

    /// Returns the time before an escalation; `None` = never.
    pub(crate) fn escalation(&self) -> Option<time::Duration> {
        let after = time::Duration::try_from(self.escalate_after).ok()?;
        (!after.is_zero()).then_some(after)
    }
}
