//! Rejects a `tenantId` in query or body that names another tenant, however the endpoint uses it.

use std::collections::BTreeSet;
use std::fmt;

use actix_web::HttpRequest;
use actix_web::web::Bytes;
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use uuid::Uuid;

use super::extract::is_json;
use crate::error::{Detail, Error, Rejection, Result};
use crate::identity::Identity;
use crate::selection::not_authorized;

pub(super) const NAME: &str = "tenantId";

/// Returns the named tenant if exactly one is named. Rejects a foreign tenant with 403, unless a super administrator calls, and a value that is
/// not a valid id with 400.
pub(super) fn check(request: &HttpRequest, body: Option<&Bytes>, identity: &Identity) -> Result<Option<Uuid>> {
    let mut values = in_form(request.query_string().as_bytes());
    if let Some(body) = body.filter(|body| !body.is_empty()) {
        values.extend(if is_json(request) || body.trim_ascii_start().starts_with(b"{") {
            in_json(body)
        } else {
            in_form(body)
        });
    }
    let (mut malformed, mut named) = (false, BTreeSet::new());
    for value in values {
        match value.parse::<Uuid>() {
            Ok(tenant) if tenant == identity.tenant || identity.rights.is_super_admin => {
                named.insert(tenant);
            }
            Ok(_) => return Err(not_authorized()),
            Err(_) => malformed = true,
        }
    }
    if malformed {
        return Err(malformed_id());
    }
    Ok(named.pop_first().filter(|_| named.is_empty()))
}

/// Checks a value of the field, as [`check`] does for the whole request.
pub(super) fn check_value(value: &str, identity: &Identity) -> Result<()> {
    match value.trim().parse::<Uuid>() {
        Ok(tenant) if tenant == identity.tenant || identity.rights.is_super_admin => Ok(()),
        Ok(_) => Err(not_authorized()),
        Err(_) => Err(malformed_id()),
    }
}

fn malformed_id() -> Error {
    Rejection::invalid(vec![Detail::new(NAME, "must be a UUID", "invalid_value")]).into()
}

fn in_form(text: &[u8]) -> Vec<String> {
    if !text.windows(NAME.len()).any(|window| window == NAME.as_bytes()) && !text.contains(&b'%') {
        return Vec::new();
    }
    serde_html_form::from_bytes::<Vec<(String, String)>>(text)
        .unwrap_or_default()
        .into_iter()
        .filter(|(name, _)| name == NAME)
        .map(|(_, value)| value)
        .collect()
}

/// Returns all values of the field, repeated ones included; a body that is not an object has none and is rejected later.
fn in_json(body: &[u8]) -> Vec<String> {
    struct Fields;

    impl<'de> Visitor<'de> for Fields {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Vec<String>, A::Error> {
            let mut values = Vec::new();
            while let Some(name) = map.next_key::<String>()? {
                if name == NAME {
                    match map.next_value::<Value>()? {
                        Value::Null => {}
                        Value::String(text) => values.push(text),
                        other => values.push(other.to_string()),
                    }
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(values)
        }
    }

    serde_json::Deserializer::from_slice(body)
        .deserialize_map(Fields)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_repeated_value_is_seen() {
        assert_eq!(
            in_json(br#"{"tenantId":"a","x":{"tenantId":"z"},"tenantId":"b"}"#),
            ["a", "b"]
        );
        assert_eq!(in_form(b"tenantId=a&x=1&tenantId=b&tenant%49d=c"), ["a", "b", "c"]);
    }
}
