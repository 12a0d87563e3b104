//! Section `onboarding` of the configuration.

use std::time::Duration;

use backoffice_core::config::{ConfigError, duration};
use serde::Deserialize;

/// Section `onboarding`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OnboardingConfig {
    /// Whether persons may sign up. Default true.
    pub enabled: bool,
    /// Whether new tenants get example records of the modules that offer them. Default false.
    pub examples: bool,
    /// How long a request can be verified, 1 minute to 30 days. Default 24 hours.
    #[serde(deserialize_with = "duration")]
    pub link_life: Duration,
}

impl Default for OnboardingConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            examples: false,
            link_life: Duration::from_hours(24),
        }
    }
}

impl OnboardingConfig {
    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        if (Duration::from_mins(1)..=Duration::from_hours(24 * 30)).contains(&self.link_life) {
            return Ok(self);
        }
        let text = "must be between 1 minute and 30 days";
        Err(ConfigError::new("onboarding.link_life", text))
    }
}
