//! The settings of a store in S3, as clients write them.

use std::fmt;

use backoffice_core::{Error, Result};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use url::Url;

/// What clients see in place of credentials, and send back to keep them.
pub(crate) const REDACTED: &str = "[redacted]";

/// The members with credentials.
pub(crate) const SECRET_MEMBERS: [&str; 3] = ["accessKeyId", "secretAccessKey", "sessionToken"];

/// How requests are signed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AuthMode {
    /// With the credentials of the settings.
    #[default]
    AccessKeys,
    /// With those of the machine: its environment or its metadata service.
    Ambient,
}

/// The settings without credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct S3Settings {
    pub(crate) bucket: String,
    #[serde(default = "default_region")]
    pub(crate) region: String,
    #[serde(default)]
    pub(crate) endpoint: Option<String>,
    #[serde(default)]
    pub(crate) path_prefix: Option<String>,
    #[serde(default)]
    pub(crate) force_path_style: bool,
    #[serde(default)]
    pub(crate) auth_mode: AuthMode,
}

fn default_region() -> String {
    "us-east-1".to_owned()
}

/// The other members.
const MEMBERS: [&str; 6] = [
    "bucket",
    "region",
    "endpoint",
    "pathPrefix",
    "forcePathStyle",
    "authMode",
];

impl S3Settings {
    /// Returns whether the settings have a member of this name.
    pub(crate) fn has_member(name: &str) -> bool {
        MEMBERS.contains(&name) || SECRET_MEMBERS.contains(&name)
    }

    /// Reads settings that a client wrote, of known members; those with credentials are left out.
    ///
    /// # Errors
    /// The first violated rule.
    pub(crate) fn parse(config: &Map<String, Value>) -> Result<Self, String> {
        let own: Map<String, Value> = config
            .iter()
            .filter(|(name, value)| MEMBERS.contains(&name.as_str()) && !value.is_null())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if !own.contains_key("bucket") {
            return Err("needs `bucket`".to_owned());
        }
        let settings: Self = serde_json::from_value(Value::Object(own)).map_err(|_| {
            "must have texts `bucket`, `region`, `endpoint`, `pathPrefix`, a boolean `forcePathStyle`, and `authMode` access_keys or ambient"
                .to_owned()
        })?;
        settings.check()?;
        Ok(settings)
    }

    fn check(&self) -> Result<(), String> {
        let is_plain = |text: &str, others: &[u8]| {
            text.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || others.contains(&byte))
        };
        let bucket = self.bucket.as_str();
        let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let is_bucket = (3..=63).contains(&bucket.len())
            && is_plain(bucket, b".-")
            && bucket.starts_with(ends)
            && bucket.ends_with(ends)
            && !bucket.contains("..");
        if !is_bucket {
            return Err("needs a `bucket` of 3 to 63 of a-z, 0-9, . and -".to_owned());
        }
        if !(1..=40).contains(&self.region.len()) || !is_plain(&self.region, b"-") {
            return Err("needs a `region` of 1 to 40 of a-z, 0-9 and -".to_owned());
        }
        if let Some(prefix) = &self.path_prefix {
            let is_part = |part: &str| {
                !part.is_empty()
                    && !part.bytes().all(|byte| byte == b'.')
                    && part
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            };
            let parts = prefix.strip_suffix('/').unwrap_or(prefix);
            if prefix.len() > 200 || !parts.split('/').all(is_part) {
                return Err(
                    "needs a `pathPrefix` of at most 200 of A-Z, a-z, 0-9, ., _, - and /, such as files/".to_owned(),
                );
            }
        }
        self.endpoint_url().map(|_| ())
    }

    /// Returns the custom endpoint.
    ///
    /// # Errors
    /// When it is more than an origin.
    pub(crate) fn endpoint_url(&self) -> Result<Option<Url>, String> {
        let invalid = || "needs an `endpoint` that is an origin, such as https://s3.example.com".to_owned();
        let Some(text) = &self.endpoint else { return Ok(None) };
        let url = Url::parse(text).map_err(|_| invalid())?;
        let is_origin = url.path() == "/" && url.query().is_none() && url.fragment().is_none() && url.has_host();
        let is_http = ["http", "https"].contains(&url.scheme());
        match text.len() <= 2048 && is_http && is_origin {
            true => Ok(Some(url)),
            false => Err(invalid()),
        }
    }

    /// Returns the settings as they are stored.
    pub(crate) fn to_config(&self) -> Result<Value> {
        Ok(serde_json::to_value(self)?)
    }
}

/// Credentials of S3.
#[derive(Clone, Default)]
pub(crate) struct Credentials {
    values: [Option<SecretString>; SECRET_MEMBERS.len()],
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// Returns a member.
    pub(crate) fn get(&self, member: &str) -> Option<&str> {
        let at = SECRET_MEMBERS.iter().position(|name| *name == member)?;
        self.values[at].as_ref().map(|value| value.expose_secret())
    }

    /// Returns whether requests can be signed.
    pub(crate) fn can_sign(&self) -> bool {
        self.get("accessKeyId").is_some() && self.get("secretAccessKey").is_some()
    }

    /// Returns them with the changes of a client: texts replace, null removes, `[redacted]` and absent members keep.
    ///
    /// # Errors
    /// The first violated rule.
    pub(crate) fn changed(&self, config: &Map<String, Value>) -> Result<Self, String> {
        let mut changed = self.clone();
        for (slot, member) in changed.values.iter_mut().zip(SECRET_MEMBERS) {
            match config.get(member) {
                None => {}
                Some(Value::Null) => *slot = None,
                Some(Value::String(text)) if text == REDACTED => {}
                Some(Value::String(text))
                    if (1..=4096).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) =>
                {
                    *slot = Some(text.clone().into());
                }
                Some(_) => return Err(format!("needs a `{member}` of 1 to 4096 visible ASCII characters")),
            }
        }
        Ok(changed)
    }

    /// Adds to the settings that clients see which credentials are stored.
    pub(crate) fn show_in(&self, config: &mut Value) {
        for member in SECRET_MEMBERS {
            if self.get(member).is_some() {
                config[member] = json!(REDACTED);
            }
        }
    }

    /// Returns them as bytes to seal.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let members = SECRET_MEMBERS.map(|member| (member, self.get(member)));
        let members: std::collections::BTreeMap<_, _> = members.into_iter().collect();
        Ok(serde_json::to_vec(&members)?)
    }

    /// Reads them from opened bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let failed = |_| Error::internal("the credentials of a store are not readable");
        let members: Map<String, Value> = serde_json::from_slice(bytes).map_err(failed)?;
        Self::default().changed(&members).map_err(Error::internal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn settings_of_other_forms_are_rejected() {
        for (config, reason) in [
            (json!({}), "needs `bucket`"),
            (json!({"bucket": null}), "needs `bucket`"),
            (json!({"bucket": 5}), "must have texts"),
            (json!({"bucket": "Files"}), "needs a `bucket`"),
            (json!({"bucket": "a..b"}), "needs a `bucket`"),
            (json!({"bucket": "fi"}), "needs a `bucket`"),
            (json!({"bucket": "files", "region": "eu west"}), "needs a `region`"),
            (json!({"bucket": "files", "authMode": "none"}), "must have texts"),
            (json!({"bucket": "files", "pathPrefix": "../x"}), "needs a `pathPrefix`"),
            (json!({"bucket": "files", "pathPrefix": "/x"}), "needs a `pathPrefix`"),
            (json!({"bucket": "files", "pathPrefix": "x//y"}), "needs a `pathPrefix`"),
            (json!({"bucket": "files", "pathPrefix": ""}), "needs a `pathPrefix`"),
            (
                json!({"bucket": "files", "endpoint": "s3.example.com"}),
                "needs an `endpoint`",
            ),
            (
                json!({"bucket": "files", "endpoint": "https://s3.example.com/x"}),
                "needs an `endpoint`",
            ),
            (
                json!({"bucket": "files", "endpoint": "https://s3.example.com/?x"}),
                "needs an `endpoint`",
            ),
            (
                json!({"bucket": "files", "endpoint": "ftp://s3.example.com"}),
                "needs an `endpoint`",
            ),
        ] {
            let rejected = S3Settings::parse(&object(config.clone())).expect_err("invalid");
            assert!(rejected.starts_with(reason), "{config}: {rejected}");
        }
    }

    #[test]
    fn credentials_are_kept_replaced_and_removed() {
        let first = Credentials::default()
            .changed(&object(
                json!({"accessKeyId": "id", "secretAccessKey": "key", "sessionToken": "token"}),
            ))
            .expect("valid");
        let second = first
            .changed(&object(
                json!({"accessKeyId": REDACTED, "secretAccessKey": "new", "sessionToken": null}),
            ))
            .expect("valid");

        let members = |one: &Credentials| SECRET_MEMBERS.map(|member| one.get(member).map(str::to_owned));
        assert_eq!(members(&second), [Some("id".to_owned()), Some("new".to_owned()), None]);
        let read = Credentials::from_bytes(&second.to_bytes().expect("bytes")).expect("read");
        assert_eq!(members(&read), members(&second));
        let mut shown = json!({"bucket": "files"});
        second.show_in(&mut shown);
        assert_eq!(
            shown,
            json!({"bucket": "files", "accessKeyId": REDACTED, "secretAccessKey": REDACTED})
        );
        assert!(first.changed(&object(json!({"accessKeyId": 5}))).is_err());
        assert!(first.changed(&object(json!({"accessKeyId": "a b"}))).is_err());
        assert!(!format!("{first:?}").contains("key"));
    }
}
