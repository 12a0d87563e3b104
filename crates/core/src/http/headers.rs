//! Headers of all responses: of endpoints, of pages, and "not found".

use actix_web::HttpResponse;
use actix_web::body::{BodySize, MessageBody};
use actix_web::http::header::{
    CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY,
    X_CONTENT_TYPE_OPTIONS,
};
use actix_web::http::{ConnectionType, Version};

use super::routes::EndpointInfo;
use crate::platform::Platform;

/// One year. Other hosts of the domain are left to the operator.
const ONLY_HTTPS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The client asks before each use, and no shared cache keeps the response.
const KEPT: HeaderValue = HeaderValue::from_static("private, no-cache");

/// Headers of every response that does not set its own, and their values.
pub const COMMON: [(HeaderName, HeaderValue); 3] = [
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
];

/// Lets clients keep the response if its endpoint declares that. A body of unknown length ends with the connection for HTTP/1.0, which knows no
/// chunks (RFC 9112, 6.1).
pub(super) fn follow_declaration(response: &mut HttpResponse, info: &EndpointInfo, version: Version) {
    if info.is_kept {
        response.headers_mut().insert(CACHE_CONTROL, KEPT);
    }
    if version < Version::HTTP_11 && response.body().size() == BodySize::Stream {
        let head = response.head_mut();
        head.no_chunking(true);
        head.set_connection_type(ConnectionType::Close);
    }
}

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
