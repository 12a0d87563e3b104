//! The text of server-sent events.

use actix_web::web::Bytes;
use backoffice_core::events::StoredEvent;
use serde_json::json;

/// Says nothing, and keeps the connection.
pub(crate) fn comment() -> Bytes {
    Bytes::from_static(b":\n\n")
}

/// The client must load anew what it shows; what it misses is behind this number.
pub(crate) fn reset(seq: i64) -> Bytes {
    Bytes::from(format!("id: {seq}\nevent: reset\ndata: {{}}\n\n"))
}

/// An event. JSON has no line break outside of its texts, and escapes those inside.
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
