//! The configuration section `events`.

use backoffice_core::config::ConfigError;
use serde::Deserialize;

/// The configuration section `events`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EventsConfig {
    /// Maximum number of open streams of one tenant on a node. Default 200.
    pub(crate) max_streams_per_tenant: usize,
    /// Maximum number of open streams on a node. Default 10,000.
    pub(crate) max_streams: usize,
}

impl Default for EventsConfig {
    fn default() -> Self {
        Self {
            max_streams_per_tenant: 200,
            max_streams: 10_000,
        }
    }
}

impl EventsConfig {
    /// Rejects limits of zero, which would close the endpoint.
    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        let bounds = [
            ("events.max_streams_per_tenant", self.max_streams_per_tenant),
            ("events.max_streams", self.max_streams),
        ];
        match bounds.iter().find(|(_, bound)| *bound == 0) {
            Some((key, _)) => Err(ConfigError::new(*key, "must be at least 1")),
            None => Ok(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_of_none_is_rejected() {
        assert!(EventsConfig::default().checked().is_ok());
        let none = EventsConfig {
            max_streams: 0,
            ..EventsConfig::default()
        };
        assert_eq!(none.checked().expect_err("an error").key, "events.max_streams");
    }
}
