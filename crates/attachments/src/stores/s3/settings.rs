//! The settings of a store in S3, as clients write them.

use std::fmt;

use backoffice_core::{Detail, Error, Result};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use url::Url;

/// What clients see in place of credentials, and send back to keep them.
pub(crate) const REDACTED: &str = "[redacted]";

/// The fields with credentials.
pub(crate) const SECRET_FIELDS: [&str; 3] = ["accessKeyId", "secretAccessKey", "sessionToken"];

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

impl AuthMode {
    /// Returns the one that clients call by this name.
    fn named(name: &str) -> Option<Self> {
        match name {
            "access_keys" => Some(Self::AccessKeys),
            "ambient" => Some(Self::Ambient),
            _ => None,
        }
    }
}

fn default_region() -> String {
    "us-east-1".to_owned()
}

/// The other fields.
const FIELDS: [&str; 6] = [
    "bucket",
    "region",
    "endpoint",
    "pathPrefix",
    "forcePathStyle",
    "authMode",
];

/// Returns a violated rule of a field of `configJson`.
pub(crate) fn violation(field: &str, rule: impl Into<String>, code: &'static str) -> Detail {
    Detail::new(format!("configJson.{field}"), rule, code)
}

impl S3Settings {
    /// Reads settings that a client wrote; credentials are left out.
    ///
    /// # Errors
    /// All violated rules.
    pub(crate) fn parse(config: &Map<String, Value>) -> Result<Self, Vec<Detail>> {
        let mut fields = FieldReader {
            config,
            violations: Vec::new(),
        };
        let is_known = |name: &str| FIELDS.contains(&name) || SECRET_FIELDS.contains(&name);
        for name in config.keys().filter(|name| !is_known(name)) {
            fields.reject(name, "is not a setting of a store", "invalid_value");
        }
        if fields.get("bucket").is_none() {
            fields.reject("bucket", "is required", "required");
        }
        let bucket = fields.text("bucket", is_bucket, "must be 3 to 63 of a-z, 0-9, . and -");
        let region = fields.text("region", is_region, "must be 1 to 40 of a-z, 0-9 and -");
        let is_origin = |text: &str| origin(text).is_some();
        let endpoint = fields.text(
            "endpoint",
            is_origin,
            "must be an origin, such as https://s3.example.com",
        );
        let path_prefix = fields.text(
            "pathPrefix",
            is_prefix,
            "must be at most 200 of A-Z, a-z, 0-9, ., _, - and /, such as files/",
        );
        let force_path_style = fields.flag("forcePathStyle");
        let is_mode = |text: &str| AuthMode::named(text).is_some();
        let auth_mode = fields.text("authMode", is_mode, "must be access_keys or ambient");
        match bucket {
            Some(bucket) if fields.violations.is_empty() => Ok(Self {
                bucket,
                region: region.unwrap_or_else(default_region),
                endpoint,
                path_prefix,
                force_path_style: force_path_style.unwrap_or_default(),
                auth_mode: auth_mode.as_deref().and_then(AuthMode::named).unwrap_or_default(),
            }),
            _ => Err(fields.violations),
        }
    }

    /// Returns the custom endpoint.
    ///
    /// # Errors
    /// When it is more than an origin, which settings that were parsed are not.
    pub(crate) fn endpoint_url(&self) -> Result<Option<Url>> {
        let Some(text) = &self.endpoint else { return Ok(None) };
        let url = origin(text).ok_or_else(|| Error::internal("the endpoint of a store is not an origin"))?;
        Ok(Some(url))
    }

    /// Returns the settings as they are stored.
    pub(crate) fn to_config(&self) -> Result<Value> {
        Ok(serde_json::to_value(self)?)
    }
}

/// Reads the fields of settings, and collects the violated rules. A field that is null is absent.
struct FieldReader<'a> {
    config: &'a Map<String, Value>,
    violations: Vec<Detail>,
}

impl<'a> FieldReader<'a> {
    fn get(&self, name: &str) -> Option<&'a Value> {
        self.config.get(name).filter(|value| !value.is_null())
    }

    fn reject(&mut self, name: &str, rule: &str, code: &'static str) {
        self.violations.push(violation(name, rule, code));
    }

    /// Returns a text; `None` if it is absent or rejected.
    fn text(&mut self, name: &str, fits: impl Fn(&str) -> bool, rule: &str) -> Option<String> {
        let value = self.get(name)?;
        match value.as_str() {
            Some(text) if fits(text) => return Some(text.to_owned()),
            Some(_) => self.reject(name, rule, "invalid_value"),
            None => self.reject(name, "must be a text", "invalid_type"),
        }
        None
    }

    /// Returns true or false; `None` if it is absent or rejected.
    fn flag(&mut self, name: &str) -> Option<bool> {
        let flag = self.get(name)?.as_bool();
        if flag.is_none() {
            self.reject(name, "must be true or false", "invalid_type");
        }
        flag
    }
}

fn is_of(text: &str, others: &[u8]) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || others.contains(&byte))
}

fn is_bucket(text: &str) -> bool {
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (3..=63).contains(&text.len())
        && is_of(text, b".-")
        && text.starts_with(ends)
        && text.ends_with(ends)
        && !text.contains("..")
}

fn is_region(text: &str) -> bool {
    (1..=40).contains(&text.len()) && is_of(text, b"-")
}

fn is_prefix(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.bytes().all(|byte| byte == b'.')
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    text.len() <= 200 && text.strip_suffix('/').unwrap_or(text).split('/').all(is_part)
}

/// Returns the address of a server, which has a host, and neither path nor query.
fn origin(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|_| text.len() <= 2048)?;
    let is_origin = url.path() == "/" && url.query().is_none() && url.fragment().is_none() && url.has_host();
    (is_origin && ["http", "https"].contains(&url.scheme())).then_some(url)
}

/// Credentials of S3.
#[derive(Clone, Default)]
pub(crate) struct Credentials {
    values: [Option<SecretString>; SECRET_FIELDS.len()],
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// Returns a field.
    pub(crate) fn get(&self, field: &str) -> Option<&str> {
        let at = SECRET_FIELDS.iter().position(|name| *name == field)?;
        self.values[at].as_ref().map(|value| value.expose_secret())
    }

    /// Returns whether requests can be signed.
    pub(crate) fn can_sign(&self) -> bool {
        self.get("accessKeyId").is_some() && self.get("secretAccessKey").is_some()
    }

    /// Returns them with the changes of a client: texts replace, null removes, `[redacted]` and absent fields keep.
    ///
    /// # Errors
    /// All violated rules.
    pub(crate) fn changed(&self, config: &Map<String, Value>) -> Result<Self, Vec<Detail>> {
        let (mut changed, mut violations) = (self.clone(), Vec::new());
        for (slot, field) in changed.values.iter_mut().zip(SECRET_FIELDS) {
            match config.get(field) {
                None => {}
                Some(Value::Null) => *slot = None,
                Some(Value::String(text)) if text == REDACTED => {}
                Some(Value::String(text))
                    if (1..=4096).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) =>
                {
                    *slot = Some(text.clone().into());
                }
                Some(value) => {
                    let (rule, code) = match value.is_string() {
                        true => ("must be 1 to 4096 visible ASCII characters", "invalid_value"),
                        false => ("must be a text", "invalid_type"),
                    };
                    violations.push(violation(field, rule, code));
                }
            }
        }
        match violations.is_empty() {
            true => Ok(changed),
            false => Err(violations),
        }
    }

    /// Adds to the settings that clients see which credentials are stored.
    pub(crate) fn show_in(&self, config: &mut Value) {
        for field in SECRET_FIELDS {
            if self.get(field).is_some() {
                config[field] = json!(REDACTED);
            }
        }
    }

    /// Returns them as bytes to seal.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let fields = SECRET_FIELDS.map(|field| (field, self.get(field)));
        let fields: std::collections::BTreeMap<_, _> = fields.into_iter().collect();
        Ok(serde_json::to_vec(&fields)?)
    }

    /// Reads them from opened bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let unreadable = || Error::internal("the credentials of a store are not readable");
        let fields: Map<String, Value> = serde_json::from_slice(bytes).map_err(|_| unreadable())?;
        Self::default().changed(&fields).map_err(|_| unreadable())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    /// Returns path and code of each violated rule.
    fn codes(violations: &[Detail]) -> Vec<(&str, &str)> {
        let violations = violations.iter();
        violations.map(|one| (one.path.as_str(), &*one.code)).collect()
    }

    #[test]
    fn settings_of_other_forms_are_rejected() {
        for (config, field, code) in [
            (json!({}), "bucket", "required"),
            (json!({"bucket": null}), "bucket", "required"),
            (json!({"bucket": 5}), "bucket", "invalid_type"),
            (json!({"bucket": "Files"}), "bucket", "invalid_value"),
            (json!({"bucket": "a..b"}), "bucket", "invalid_value"),
            (json!({"bucket": "fi"}), "bucket", "invalid_value"),
            (
                json!({"bucket": "files", "region": "eu west"}),
                "region",
                "invalid_value",
            ),
            (
                json!({"bucket": "files", "authMode": "none"}),
                "authMode",
                "invalid_value",
            ),
            (json!({"bucket": "files", "more": 1}), "more", "invalid_value"),
            (
                json!({"bucket": "files", "forcePathStyle": "yes"}),
                "forcePathStyle",
                "invalid_type",
            ),
        ] {
            let violations = S3Settings::parse(&object(config.clone())).expect_err("invalid");
            let path = format!("configJson.{field}");
            assert_eq!(codes(&violations), [(path.as_str(), code)], "{config}");
        }
        for prefix in ["../x", "/x", "x//y", ""] {
            let config = object(json!({"bucket": "files", "pathPrefix": prefix}));
            let violations = S3Settings::parse(&config).expect_err("invalid");
            assert_eq!(
                codes(&violations),
                [("configJson.pathPrefix", "invalid_value")],
                "{prefix}"
            );
        }
        for endpoint in [
            "s3.example.com",
            "https://s3.example.com/x",
            "https://s3.example.com/?x",
            "ftp://s3.example.com",
        ] {
            let config = object(json!({"bucket": "files", "endpoint": endpoint}));
            let violations = S3Settings::parse(&config).expect_err("invalid");
            assert_eq!(
                codes(&violations),
                [("configJson.endpoint", "invalid_value")],
                "{endpoint}"
            );
        }
    }

    #[test]
    fn all_violated_rules_are_returned_and_absent_fields_have_defaults() {
        let config = object(json!({"region": "", "endpoint": 7, "authMode": "none"}));
        let violations = S3Settings::parse(&config).expect_err("invalid");
        let expected = [
            ("configJson.bucket", "required"),
            ("configJson.region", "invalid_value"),
            ("configJson.endpoint", "invalid_type"),
            ("configJson.authMode", "invalid_value"),
        ];
        assert_eq!(codes(&violations), expected);

        let config = object(json!({"bucket": "files", "endpoint": null, "accessKeyId": "[redacted]"}));
        let settings = S3Settings::parse(&config).expect("valid");
        let again = settings.to_config().map(object).expect("a document");
        assert_eq!(settings.region, "us-east-1");
        assert_eq!(S3Settings::parse(&again).expect("valid"), settings);
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

        let fields = |one: &Credentials| SECRET_FIELDS.map(|field| one.get(field).map(str::to_owned));
        assert_eq!(fields(&second), [Some("id".to_owned()), Some("new".to_owned()), None]);
        let read = Credentials::from_bytes(&second.to_bytes().expect("bytes")).expect("read");
        assert_eq!(fields(&read), fields(&second));
        let mut shown = json!({"bucket": "files"});
        second.show_in(&mut shown);
        assert_eq!(
            shown,
            json!({"bucket": "files", "accessKeyId": REDACTED, "secretAccessKey": REDACTED})
        );
        let rejected = first.changed(&object(json!({"accessKeyId": 5, "sessionToken": "a b"})));
        let expected = [
            ("configJson.accessKeyId", "invalid_type"),
            ("configJson.sessionToken", "invalid_value"),
        ];
        assert_eq!(codes(&rejected.expect_err("invalid")), expected);
        assert!(!format!("{first:?}").contains("key"));
    }
}
