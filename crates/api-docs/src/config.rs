//! Section `version`.

use backoffice_core::config::ConfigError;
use serde::Deserialize;

const LONGEST: usize = 100;

/// Configuration of the version that `GET /version` reports.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct VersionConfig {
    /// Reported instead of the build's version.
    #[serde(rename = "override")]
    replacement: Option<String>,
}

impl VersionConfig {
    /// Returns the version to report.
    pub(crate) fn version(self) -> Result<String, ConfigError> {
        match self.replacement {
            None => Ok(env!("CARGO_PKG_VERSION").to_owned()),
            Some(version) if is_version(&version) => Ok(version),
            Some(_) => Err(ConfigError::new(
                "version.override",
                "must be 1 to 100 letters, digits, `.`, `-`, `+` or `_`",
            )),
        }
    }
}

fn is_version(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+' | b'_');
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_override_the_build_says_its_own_version() {
        let version = VersionConfig::default().version().expect("a version");

        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn an_override_that_would_break_a_header_is_rejected() {
        for text in ["", "1.0\r\n", "\"1\"", "1 0"] {
            assert!(
                VersionConfig {
                    replacement: Some(text.to_owned())
                }
                .version()
                .is_err(),
                "{text:?}"
            );
        }
    }
}
