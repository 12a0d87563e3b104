//! The text of server-sent events.

use actix_web::web::Bytes;
use backoffice_core::events::StoredEvent;
use serde_json::json;

/// Returns a comment without content, which keeps the connection open.
pub(crate) fn comment() -> Bytes {
    Bytes::from_static(b":\n\n")
}

/// Returns a reset: the client must reload its data and continues after this number.
pub(crate) fn reset(seq: i64) -> Bytes {
    Bytes::from(format!("id: {seq}\nevent: reset\ndata: {{}}\n\n"))
}

/// Returns an event. Compact JSON contains no line breaks: those of texts are escaped.
pub(crate) fn event(event: &StoredEvent) -> Bytes {
    let data = json!({
        "id": event.id,
        "name": event.name,
        "payload": event.payload,
        "organizationId": event.organization_id,
        "occurredAt": event.occurred_at,
    });
    Bytes::from(format!("id: {}\nevent: {}\ndata: {data}\n\n", event.seq, event.name))
}
