//! Section `business_rules` of the configuration.

use std::time::Duration;

use backoffice_core::config::{ConfigError, duration};
use serde::Deserialize;

/// Section `business_rules`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RulesConfig {
    /// Most rules of a run, and most enabled rules of an entity type; 1 to 1000. A run with more candidates runs none. Default 100.
    pub max_rules: usize,
    /// Longest time of a rule outside of a command. Default `30s`.
    #[serde(deserialize_with = "duration")]
    pub rule_timeout: Duration,
    /// Longest time of a run outside of a command. Default `60s`.
    #[serde(deserialize_with = "duration")]
    pub run_timeout: Duration,
    /// Longest time of a rule that validates a command. Default `200ms`.
    #[serde(deserialize_with = "duration")]
    pub guard_rule: Duration,
    /// Longest time of all rules that validate a command. Default `1s`.
    #[serde(deserialize_with = "duration")]
    pub guard_run: Duration,
    /// Longest chain of rules that start each other, 1 to 10. Default 3.
    pub max_depth: u32,
    /// Time after which executions are deleted, at least a day; those of the log one month at a time. Default `90d`.
    #[serde(deserialize_with = "duration")]
    pub log_retention: Duration,
    /// Whether rules that validate a command without an effect are logged. Default false.
    pub log_passes: bool,
}

impl Default for RulesConfig {
    fn default() -> Self {
        Self {
            max_rules: 100,
            rule_timeout: Duration::from_secs(30),
            run_timeout: Duration::from_secs(60),
            guard_rule: Duration::from_millis(200),
            guard_run: Duration::from_secs(1),
            max_depth: 3,
            log_retention: Duration::from_secs(90 * 24 * 3600),
            log_passes: false,
        }
    }
}

impl RulesConfig {
    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        if !(1..=1000).contains(&self.max_rules) {
            return Err(ConfigError::new(
                "business_rules.max_rules",
                "must be between 1 and 1000",
            ));
        }
        if !(1..=10).contains(&self.max_depth) {
            return Err(ConfigError::new("business_rules.max_depth", "must be between 1 and 10"));
        }
        if self.log_retention < Duration::from_secs(24 * 3600) {
            return Err(ConfigError::new(
                "business_rules.log_retention",
                "must be at least `1d`",
            ));
        }
        for (name, limit) in [
            ("business_rules.rule_timeout", self.rule_timeout),
            ("business_rules.run_timeout", self.run_timeout),
            ("business_rules.guard_rule", self.guard_rule),
            ("business_rules.guard_run", self.guard_run),
        ] {
            if limit.is_zero() {
                return Err(ConfigError::new(name, "must be more than zero"));
            }
        }
        Ok(self)
    }
}
