//! Rules for the fields of a new key.

use std::time::Duration;

use backoffice_core::Timestamp;
use backoffice_core::input::Violation;
use backoffice_core::input::schema::{self, LINE_CHARACTER, SPACE, VISIBLE_CHARACTER};
use backoffice_core::text_schemas;
use utoipa::openapi::ObjectBuilder;

pub(crate) const LONGEST_NAME: usize = 120;
pub(crate) const LONGEST_DESCRIPTION: usize = 1000;

text_schemas! {
    /// The name of a key.
    KeyName: key_name();
}

fn key_name() -> ObjectBuilder {
    let (inner, visible) = (LINE_CHARACTER, VISIBLE_CHARACTER);
    let pattern = format!("^{SPACE}{visible}({inner}{{0,{}}}{visible})?{SPACE}$", LONGEST_NAME - 2);
    let about = "1 to 120 characters, not counting surrounding white space; no control characters.";
    schema::pattern(about, pattern).examples(["Nightly export"])
}

/// Rejects a time of expiry in the past or beyond the configured maximum.
pub(crate) fn expiry(
    expires_at: Option<Timestamp>,
    now: Timestamp,
    max_ttl: Option<Duration>,
) -> Result<(), Violation> {
    let latest = max_ttl.map(|ttl| now.after(time::Duration::try_from(ttl).unwrap_or(time::Duration::MAX)));
    match (expires_at, latest) {
        (Some(at), _) if at <= now => Err(Violation::new("must lie in the future", "out_of_range")),
        (Some(at), Some(latest)) if at > latest => {
            Err(Violation::new(format!("must be at most {latest}"), "out_of_range"))
        }
        (None, Some(latest)) => Err(Violation::new(format!("is required, at most {latest}"), "required")),
        _ => Ok(()),
    }
}
