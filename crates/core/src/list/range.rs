//! Time ranges in queries and bodies.

use crate::error::Detail;
use crate::time::Timestamp;

/// Parses an inclusive end of a time range. A date is its first millisecond as the start and its last millisecond as the end.
///
/// # Errors
/// `invalid_value` for a text that is neither a date nor an instant.
pub fn instant(path: &str, text: Option<&str>, is_end: bool) -> Result<Option<Timestamp>, Detail> {
    let Some(text) = text.map(str::trim) else {
        return Ok(None);
    };
    let text = match (text.len(), is_end) {
        (10, false) => format!("{text}T00:00:00Z"),
        (10, true) => format!("{text}T23:59:59.999Z"),
        _ => text.to_owned(),
    };
    let instant = Timestamp::parse(&text);
    instant
        .map(Some)
        .map_err(|_| Detail::new(path, "must be an ISO-8601 timestamp or a date", "invalid_value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_both_of_its_ends() {
        let at = |text: &str| Some(Timestamp::parse(text).expect("an instant"));

        assert_eq!(
            instant("x", Some("2026-11-20"), false).ok(),
            Some(at("2026-11-20T00:00:00Z"))
        );
        assert_eq!(
            instant("x", Some("2026-11-20"), true).ok(),
            Some(at("2026-11-20T23:59:59.999Z"))
        );
        assert_eq!(
            instant("x", Some("2026-11-20T10:00:00+01:00"), true).ok(),
            Some(at("2026-11-20T09:00:00Z"))
        );
        assert!(instant("x", Some("2026-13-20"), true).is_err() && instant("x", Some(""), true).is_err());
    }
}
