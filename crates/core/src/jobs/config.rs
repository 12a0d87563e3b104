//! Section `jobs` of the configuration.

use serde::Deserialize;

use crate::config::ConfigError;

/// Section `jobs`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JobsConfig {
    /// Jobs that a node runs at once. Default 4; 0 = this node runs none.
    pub workers: usize,
    /// Jobs of one tenant that run at once, on all nodes together. Default 2.
    pub per_tenant: i32,
}

impl Default for JobsConfig {
    fn default() -> Self {
        Self {
            workers: 4,
            per_tenant: 2,
        }
    }
}

impl JobsConfig {
    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        if self.per_tenant < 1 {
            return Err(ConfigError::new("jobs.per_tenant", "must be at least 1"));
        }
        if self.workers > 64 {
            return Err(ConfigError::new("jobs.workers", "must be at most 64"));
        }
        Ok(self)
    }
}
