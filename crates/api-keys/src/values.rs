//! Rules for the fields of a new key.

use std::time::Duration;

use backoffice_core::text::{NO_CONTROL_CHARACTERS, has_control_characters};
use backoffice_core::{Detail, Rejection, Result, Timestamp};
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::Error;

const LONGEST_NAME: usize = 120;
const LONGEST_DESCRIPTION: usize = 1000;

/// White space, which is trimmed at both ends of a name.
const BLANK: &str = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";

/// A character of a name.
const ALLOWED: &str = r"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]";

/// A character of a name that is not white space.
const VISIBLE: &str = r"[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028-\u202f\u205f\u2066-\u2069\u3000]";

/// Schema of the names that [`checked_name`] accepts.
#[derive(Debug)]
pub(crate) struct KeyName;

impl PartialSchema for KeyName {
    fn schema() -> RefOr<Schema> {
        let between = LONGEST_NAME - 2;
        let pattern = format!("^{BLANK}*{VISIBLE}({ALLOWED}{{0,{between}}}{VISIBLE})?{BLANK}*$");
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(pattern))
            .examples(["Nightly export"])
            .build()
            .into()
    }
}

impl ToSchema for KeyName {}

/// Rejects a time of expiry in the past or beyond the configured maximum.
pub(crate) fn check_expiry(expires_at: Option<Timestamp>, now: Timestamp, max_ttl: Option<Duration>) -> Result<()> {
    let reject = |rule: String, code| Err(Error::ExpiresAt { rule, code }.into());
    let latest = max_ttl.map(|ttl| now.after(time::Duration::try_from(ttl).unwrap_or(time::Duration::MAX)));
    match (expires_at, latest) {
        (Some(at), _) if at <= now => reject("must lie in the future".to_owned(), "out_of_range"),
        (Some(at), Some(latest)) if at > latest => reject(format!("must be at most {latest}"), "out_of_range"),
        (None, Some(latest)) => reject(format!("is required, at most {latest}"), "required"),
        _ => Ok(()),
    }
}

/// Rejects a time of expiry after that of the key that creates the new one.
pub(crate) fn check_end(expires_at: Option<Timestamp>, creator: Option<Timestamp>) -> Result<()> {
    match (expires_at, creator) {
        (Some(at), Some(latest)) if at > latest => Err(Error::ExpiresAt {
            rule: format!("must be at most {latest}, the expiry of the key that creates it"),
            code: "out_of_range",
        }
        .into()),
        _ => Ok(()),
    }
}

fn invalid(path: &'static str, rule: String, code: &'static str) -> backoffice_core::Error {
    Rejection::invalid(vec![Detail::new(path, rule, code)]).into()
}

/// Returns the name, trimmed.
pub(crate) fn checked_name(name: &str) -> Result<String> {
    let name = name.trim();
    if name.is_empty() {
        return Err(invalid("name", "must not be blank".to_owned(), "required"));
    }
    if name.chars().count() > LONGEST_NAME {
        return Err(invalid(
            "name",
            format!("must be at most {LONGEST_NAME} characters"),
            "too_long",
        ));
    }
    if has_control_characters(name) {
        return Err(invalid("name", NO_CONTROL_CHARACTERS.to_owned(), "invalid_value"));
    }
    Ok(name.to_owned())
}

/// Returns the description, trimmed; a blank one counts as none.
pub(crate) fn checked_description(description: Option<&str>) -> Result<Option<String>> {
    let Some(text) = description.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    if text.chars().count() > LONGEST_DESCRIPTION {
        let rule = format!("must be at most {LONGEST_DESCRIPTION} characters");
        return Err(invalid("description", rule, "too_long"));
    }
    Ok(Some(text.to_owned()))
}
