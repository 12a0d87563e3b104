//! The wait that a response asks for.

use std::time::{Duration, SystemTime};

use backoffice_core::Timestamp;
use http::HeaderMap;
use http::header::RETRY_AFTER;

/// Reads `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date, whose wait is zero if it is in the past. `None` without a valid header.
#[must_use]
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::from(now.get())).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn retry_after_has_seconds_or_a_date() {
        let now = Timestamp::parse("2026-11-20T08:15:30Z").expect("an instant");
        for (text, seconds) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Fri, 20 Nov 2026 08:16:30 GMT", Some(60)),
            ("Friday, 20-Nov-26 08:16:30 GMT", Some(60)),
            ("Fri, 20 Nov 2026 08:00:00 GMT", Some(0)),
            ("-1", None),
            ("soon", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_str(text).expect("a header"));
            assert_eq!(retry_after(&headers, now), seconds.map(Duration::from_secs), "{text}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
