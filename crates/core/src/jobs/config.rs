//! Section `jobs` of the configuration.

use serde::Deserialize;
use time::Duration;

use crate::config::ConfigError;

/// Section `jobs`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JobsConfig {
    /// Number of jobs that a node runs at once, without those that wait for remote systems. Default 4; 0 = this node runs none.
    pub workers: usize,
    /// Number of jobs of one tenant that run at once, on all nodes together. Default 2.
    pub per_tenant: i32,
    /// Number of jobs that wait for remote systems (mails, push services, stores) and that a node runs at once, up to 64. Default 8; 0 on a
    /// node that runs no other jobs.
    pub network_workers: Option<usize>,
    /// Number of jobs of one tenant that wait for remote systems at once, on all nodes together. Default 4.
    pub network_per_tenant: i32,
    /// Seconds without a heartbeat after which another worker may claim a job, 5 to 600. Default 60. A worker sends a heartbeat every quarter
    /// of that time.
    pub lease_seconds: u32,
    /// Maximum number of unfinished bulk jobs of one tenant. Default 20.
    pub max_open_bulk: u32,
    /// Whether jobs take smaller chunks and rest between them while the same process receives five or more requests per second. Default true.
    pub throttle: bool,
}

impl Default for JobsConfig {
    fn default() -> Self {
        Self {
            workers: 4,
            per_tenant: 2,
            network_workers: None,
            network_per_tenant: 4,
            lease_seconds: 60,
            max_open_bulk: 20,
            throttle: true,
        }
    }
}

/// Default of `jobs.network_workers` on a node that runs jobs.
const NETWORK_WORKERS: usize = 8;

impl JobsConfig {
    /// Returns the number of jobs of all queues that this node runs at once.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.workers.saturating_add(self.network_slots())
    }

    /// Returns the number of jobs that wait for remote systems and that this node runs at once.
    pub(crate) fn network_slots(&self) -> usize {
        let default = if self.workers == 0 { 0 } else { NETWORK_WORKERS };
        self.network_workers.unwrap_or(default)
    }

    pub(crate) fn lease(&self) -> Duration {
        Duration::seconds(i64::from(self.lease_seconds))
    }

    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        if self.per_tenant < 1 {
            return Err(ConfigError::new("jobs.per_tenant", "must be at least 1"));
        }
        if self.network_per_tenant < 1 {
            return Err(ConfigError::new("jobs.network_per_tenant", "must be at least 1"));
        }
        if self.network_slots() > 64 {
            return Err(ConfigError::new("jobs.network_workers", "must be at most 64"));
        }
        if self.workers > 64 {
            return Err(ConfigError::new("jobs.workers", "must be at most 64"));
        }
        if !(5..=600).contains(&self.lease_seconds) {
            return Err(ConfigError::new("jobs.lease_seconds", "must be between 5 and 600"));
        }
        if self.max_open_bulk < 1 {
            return Err(ConfigError::new("jobs.max_open_bulk", "must be at least 1"));
        }
        Ok(self)
    }
}
