//! Section `api_keys`.

use std::time::Duration;

use backoffice_core::config::duration;
use serde::{Deserialize, Deserializer};

/// Section `api_keys`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeysConfig {
    /// Longest time to the expiry of a new key; makes `expiresAt` required, except for keys created by a key that expires. Default: none, keys
    /// need not expire.
    #[serde(deserialize_with = "some_duration")]
    pub max_ttl: Option<Duration>,
}

fn some_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use backoffice_core::config::Config;

    use super::*;

    #[test]
    fn keys_may_live_for_ever_unless_configured_otherwise() {
        let config: KeysConfig = Config::default().section("api_keys").expect("defaults");
        assert_eq!(config.max_ttl, None);

        let config = Config::from_toml("[api_keys]\nmax_ttl = '90d'").expect("toml");
        let config: KeysConfig = config.section("api_keys").expect("valid");
        assert_eq!(config.max_ttl, Some(Duration::from_secs(90 * 86_400)));
    }
}
