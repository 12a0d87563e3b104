//! Headers of all responses: of endpoints, of pages, and "not found".

use actix_web::http::header::{
    CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS,
};

use crate::platform::Platform;

/// One year. Other hosts of the domain are left to the operator.
const ONLY_HTTPS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Headers of every response that does not set its own, and their values.
pub const COMMON: [(HeaderName, HeaderValue); 3] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Adds the headers that the response does not set itself.
pub(super) fn complete(headers: &mut HeaderMap, platform: Option<&Platform>) {
    for (name, value) in COMMON {
        if !headers.contains_key(&name) {
            headers.insert(name, value);
        }
    }
    if platform.is_some_and(|platform| platform.app().is_https()) {
        headers.insert(STRICT_TRANSPORT_SECURITY, ONLY_HTTPS);
    }
}
