//! Values of arguments.

/// Bytes; `None` for the default.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(all(feature = "attachments", feature = "directory")),
    expect(dead_code, reason = "used by commands of modules that are not compiled in")
)]
pub(super) struct Quota(pub(super) Option<i64>);

/// Parses a quota.
pub(super) fn quota(text: &str) -> Result<Quota, String> {
    if text == "default" {
        return Ok(Quota(None));
    }
    let bytes = backoffice_core::config::parse_bytes(text).and_then(|bytes| i64::try_from(bytes).ok());
    let bytes = bytes.ok_or("must be for example 500MiB, 2GiB, a number of bytes, or `default`")?;
    Ok(Quota(Some(bytes)))
}

/// Parses a setting.
pub(super) fn assignment(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(key, value)| (key.trim().to_owned(), value.to_owned()))
        .ok_or_else(|| "must be section.key=value".to_owned())
}

/// Parses an instant.
pub(super) fn instant(text: &str) -> Result<backoffice_core::Timestamp, String> {
    backoffice_core::Timestamp::parse(text)
        .map_err(|_| "must be an instant; expected for example 2027-01-31T00:00:00Z".to_owned())
}
