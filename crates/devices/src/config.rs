//! Section `devices` of the configuration.

use backoffice_core::config::ConfigError;
use serde::Deserialize;

/// Section `devices`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DevicesConfig {
    /// Maximum number of live devices of a user, 1 to 1000; registering a further one deactivates the one seen longest ago. Default 50.
    pub max_per_user: u32,
}

impl Default for DevicesConfig {
    fn default() -> Self {
        Self { max_per_user: 50 }
    }
}

impl DevicesConfig {
    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        match self.max_per_user {
            1..=1000 => Ok(self),
            _ => Err(ConfigError::new("devices.max_per_user", "must be between 1 and 1000")),
        }
    }
}
