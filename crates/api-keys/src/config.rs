//! Section `api_keys`.

use std::time::Duration;

use backoffice_core::config::duration;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Section `api_keys`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KeysConfig {
    /// Longest time to the expiry of a new key; makes `expiresAt` required, except for keys created by a key that expires. Default: none, keys
    /// need not expire. At least 1 s, at most 36,500 days.
    #[serde(deserialize_with = "max_ttl")]
    pub max_ttl: Option<Duration>,
}

/// Longest `api_keys.max_ttl`: 36,500 days. Responses can represent the time of its end.
const LONGEST: Duration = Duration::from_secs(36_500 * 24 * 3600);

fn max_ttl<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let read = duration(deserializer)?;
    if !(Duration::from_secs(1)..=LONGEST).contains(&read) {
        return Err(D::Error::custom("must be at least 1s and at most 36500d"));
    }
    Ok(Some(read))
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

    #[test]
    fn the_longest_life_has_bounds() {
        for (text, is_valid) in [("1s", true), ("36500d", true), ("0s", false), ("36501d", false)] {
            let config = Config::from_toml(&format!("[api_keys]\nmax_ttl = '{text}'")).expect("toml");
            let read = config.section::<KeysConfig>("api_keys");
            assert_eq!(read.is_ok(), is_valid, "{text}");
            let named = read
                .err()
                .is_none_or(|error| error.to_string().contains("api_keys.max_ttl"));
            assert!(named, "{text}");
        }
    }
}
