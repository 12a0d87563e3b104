//! The key under which the response to a write is stored, and the stored response.

use std::sync::OnceLock;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse};
use sha2::{Digest, Sha256};

use super::OPERATION;
use crate::context::IdempotencyKey;
use crate::error::{Detail, Rejection, Result, StoredResponse};
use crate::http::response::json_response;
use crate::http::routes::EndpointInfo;

/// Returns the key that the client sent, if the endpoint takes one. Rejects a malformed one.
pub(super) fn key(request: &HttpRequest, info: &EndpointInfo, body: &Bytes) -> Result<Option<IdempotencyKey>> {
    if !info.idempotent {
        return Ok(None);
    }
    let Some(key) = request.headers().get("idempotency-key") else {
        return Ok(None);
    };
    let key = key
        .to_str()
        .ok()
        .filter(|key| (1..=255).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic()));
    let Some(key) = key else {
        let detail = Detail::new(
            "Idempotency-Key",
            "must be 1 to 255 visible characters",
            "invalid_value",
        );
        return Err(Rejection::invalid(vec![detail]).into());
    };
    Ok(Some(IdempotencyKey {
        key: key.to_owned(),
        route: format!("{} {}", info.method, info.path),
        body_hash: match info.streaming {
            true => OnceLock::new(),
            false => OnceLock::from(request_hash(request, body)),
        },
        one_time: info.one_time,
    }))
}

/// Returns a hash that distinguishes requests of a route by the ids in the path, the query and the body.
fn request_hash(request: &HttpRequest, body: &Bytes) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [request.path(), request.query_string()] {
        hash.update(part);
        hash.update([0]);
    }
    hash.update(body);
    hash.finalize().into()
}

/// Returns the stored response again.
pub(super) fn replay(stored: &StoredResponse) -> HttpResponse {
    let status = StatusCode::from_u16(stored.status).unwrap_or(StatusCode::OK);
    let mut response = json_response(status, &stored.body);
    let headers = response.headers_mut();
    headers.insert(
        HeaderName::from_static("idempotency-replayed"),
        HeaderValue::from_static("true"),
    );
    if let Some(operation) = stored
        .operation
        .as_deref()
        .and_then(|text| HeaderValue::from_str(text).ok())
    {
        headers.insert(OPERATION, operation);
    }
    for (name, value) in &stored.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name.as_str()), HeaderValue::from_str(value)) {
            headers.insert(name, value);
        }
    }
    response
}
