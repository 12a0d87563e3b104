//! Secrets in the configuration: as a value, or in a file.

use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::ConfigError;

/// Shortest accepted secret of a key, in bytes.
pub const MIN_SECRET_BYTES: usize = 32;

/// A key of the configuration: of signatures, integrity codes or sealed values.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretKey {
    /// The name of the key, stored next to what was created with it.
    pub kid: String,
    /// The secret, at least 32 bytes.
    pub secret: Option<SecretString>,
    /// A file with the secret.
    pub secret_file: Option<PathBuf>,
}

impl SecretKey {
    /// Returns the secret. `setting` is the setting that holds the key.
    ///
    /// # Errors
    /// If the secret is missing, can't be read, or is too short.
    pub fn bytes(&self, setting: &str) -> Result<SecretString, ConfigError> {
        let key = format!("{setting} ({})", self.kid);
        let secret = read_secret(&key, "secret", self.secret.as_ref(), self.secret_file.as_ref())?;
        if secret.expose_secret().len() < MIN_SECRET_BYTES {
            return Err(ConfigError::new(
                key,
                format!("the secret must have at least {MIN_SECRET_BYTES} bytes; `backoffice init` creates one"),
            ));
        }
        Ok(secret)
    }

    /// Returns the names and secrets of these keys.
    ///
    /// # Errors
    /// If a secret is missing or too short, or two keys have one name.
    pub fn named(setting: &str, keys: &[Self]) -> Result<Vec<(String, SecretString)>, ConfigError> {
        for (at, key) in keys.iter().enumerate() {
            if keys[..at].iter().any(|other| other.kid == key.kid) {
                return Err(ConfigError::new(setting, "each key needs a `kid` of its own"));
            }
        }
        keys.iter()
            .map(|key| Ok((key.kid.clone(), key.bytes(setting)?)))
            .collect()
    }

    /// Returns the names and secrets of one or two keys.
    ///
    /// # Errors
    /// As [`named`](Self::named), and for any other number of keys.
    pub fn pair(setting: &str, keys: &[Self]) -> Result<Vec<(String, SecretString)>, ConfigError> {
        if !(1..=2).contains(&keys.len()) {
            let message = "one or two keys are needed; `backoffice init` creates the first one";
            return Err(ConfigError::new(setting, message));
        }
        Self::named(setting, keys)
    }
}

/// Returns a secret that is given as a value or in a file. `name` is the name of the value below `key`; that of the file ends in `_file`.
///
/// # Errors
/// If both or none are given, or the file can't be read.
pub fn read_secret(
    key: &str,
    name: &str,
    value: Option<&SecretString>,
    file: Option<&PathBuf>,
) -> Result<SecretString, ConfigError> {
    match (value, file) {
        (Some(secret), None) => Ok(secret.clone()),
        (None, Some(file)) => std::fs::read_to_string(file)
            .map(|text| SecretString::from(text.trim().to_owned()))
            .map_err(|error| ConfigError::new(key, format!("{}: {error}", file.display()))),
        _ => Err(ConfigError::new(key, format!("needs either `{name}` or `{name}_file`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kid: &str, letter: &str) -> SecretKey {
        serde_json::from_value(serde_json::json!({"kid": kid, "secret": letter.repeat(40)})).expect("a key")
    }

    #[test]
    fn two_keys_do_not_share_a_name() {
        let kids = |keys: &[SecretKey]| SecretKey::pair("auth.jwt.keys", keys).map(|pair| pair.len());

        assert_eq!(kids(&[key("new", "b"), key("old", "a")]).ok(), Some(2));
        assert_eq!(kids(&[key("new", "a")]).ok(), Some(1));
        let rejected = kids(&[key("same", "b"), key("same", "a")]).expect_err("rejected");
        assert!(rejected.to_string().contains("auth.jwt.keys"), "{rejected}");
        let three = [key("c", "c"), key("b", "b"), key("a", "a")];
        assert!(kids(&three).is_err());
        assert_eq!(SecretKey::named("vault.keys", &three).expect("three keys").len(), 3);
    }
}
