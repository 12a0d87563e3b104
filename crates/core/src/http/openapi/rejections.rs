//! The statuses with which an endpoint rejects requests, and the bodies of rejections.

use std::collections::BTreeSet;

use actix_web::http::Method;
use serde_json::{Map, Value, json};

use super::super::routes::{Access, EndpointInfo};
use super::schemas::Schemas;
use super::{add_page, headers};
use crate::error::ErrorShape;

/// The shapes with the names of their schemas.
const SHAPES: [(ErrorShape, &str); 3] = [
    (ErrorShape::Error, "Error"),
    (ErrorShape::OkFalse, "NotOk"),
    (ErrorShape::Code, "Code"),
];

/// Returns the statuses that follow from the declaration of an endpoint.
pub(super) fn statuses(info: &EndpointInfo, has_input: bool) -> BTreeSet<u16> {
    let mut statuses = BTreeSet::from([500, 503]);
    let is_public = info.access == Access::Public;
    let reads = info.method == Method::GET;
    if (has_input && !info.takes_any_input) || !is_public {
        statuses.insert(400);
    }
    if info.path.contains('{') {
        statuses.insert(404);
    }
    if !is_public {
        // 429: every principal has a budget.
        statuses.extend([401, 403, 429]);
    }
    if !reads {
        statuses.insert(408);
        if !is_public && info.runs_commands {
            // 409 and 422: a failed precondition, a conflicting idempotency key, or an interceptor.
            statuses.extend([409, 422]);
        }
    }
    if !info.limits.is_empty() {
        statuses.insert(429);
    }
    if info.downloads {
        statuses.extend([412, 416]);
    }
    statuses.extend(info.rejections);
    statuses.extend(info.error_fields.iter().map(|field| field.status));
    statuses
}

/// Returns the response of an endpoint for this status.
pub(super) fn response(status: u16, info: &EndpointInfo, schemas: &mut Schemas) -> Value {
    let is_page = info.page.is_some();
    let mut response = data(status, info, is_page, schemas);
    if is_page {
        add_page(&mut response);
    }
    response
}

/// Returns the response for programs: `inline`, or else a reference if other endpoints have the same.
fn data(status: u16, info: &EndpointInfo, inline: bool, schemas: &mut Schemas) -> Value {
    let fields: Vec<_> = info
        .error_fields
        .iter()
        .filter(|field| field.status == status)
        .collect();
    // Some rejections have one form for all endpoints of a module.
    let shapes = match (info.shape, status) {
        (ErrorShape::OkFalse, 503) => vec![ErrorShape::Error],
        (ErrorShape::OkFalse, 403) => vec![ErrorShape::OkFalse, ErrorShape::Error],
        (shape, _) => vec![shape],
    };
    if let ([shape], true) = (&shapes[..], !inline && fields.is_empty() && STATUSES.contains(&status)) {
        return json!({"$ref": format!("#/components/responses/{}", name(*shape, status))});
    }
    let bodies: Vec<Value> = shapes.iter().map(|shape| reference(*shape, status)).collect();
    let body = match &bodies[..] {
        [one] => one.clone(),
        _ => json!({"anyOf": bodies}),
    };
    if fields.is_empty() {
        return whole(status, body);
    }
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| (field.name.to_owned(), json!((field.schema)(schemas))))
        .collect();
    whole(
        status,
        json!({"allOf": [body, {"type": "object", "properties": properties}]}),
    )
}

/// Returns the responses that endpoints refer to.
pub(super) fn responses() -> Map<String, Value> {
    each()
        .map(|(shape, status)| (name(shape, status), whole(status, reference(shape, status))))
        .collect()
}

/// Returns the schemas of these responses.
pub(super) fn schemas() -> Map<String, Value> {
    let mut schemas: Map<String, Value> = each()
        .map(|(shape, status)| (name(shape, status), body(shape, status)))
        .collect();
    let text = |about: &str| json!({"type": "string", "description": about});
    schemas.insert(
        "ErrorDetail".to_owned(),
        json!({
            "type": "object",
            "description": "A violated rule of the input.",
            "properties": {
                "path": text("Path of the field: names joined by dots; empty for the body itself."),
                "message": text("What is expected, in English."),
                "code": text("Machine-readable code."),
            },
            "required": ["path", "message", "code"],
        }),
    );
    schemas
}

/// The statuses of many endpoints, whose responses are components of the document.
const STATUSES: [u16; 10] = [400, 401, 403, 404, 408, 409, 422, 429, 500, 503];

fn each() -> impl Iterator<Item = (ErrorShape, u16)> {
    SHAPES
        .into_iter()
        .flat_map(|(shape, _)| STATUSES.into_iter().map(move |status| (shape, status)))
}

fn name(shape: ErrorShape, status: u16) -> String {
    let name = SHAPES
        .iter()
        .find(|(known, _)| *known == shape)
        .map_or("Error", |(_, name)| name);
    format!("{name}{status}")
}

/// Returns a reference to the schema of a body; a rare status has its schema in place.
fn reference(shape: ErrorShape, status: u16) -> Value {
    if !STATUSES.contains(&status) {
        return body(shape, status);
    }
    json!({"$ref": format!("#/components/schemas/{}", name(shape, status))})
}

fn whole(status: u16, body: Value) -> Value {
    json!({
        "description": description(status),
        "headers": headers::of_rejection(status),
        "content": {"application/json": {"schema": body}},
    })
}

fn description(status: u16) -> &'static str {
    match status {
        400 => {
            "Bad Request: the input violates its schema or a rule that its description states; `details` lists the violations. \
             A text with the character U+0000 is invalid, unless its endpoint responds to every malformed text in another way, and so is an integer \
             with a fraction, even `1.0`."
        }
        401 => "Unauthorized: the credential is missing, invalid or expired.",
        403 => "Forbidden: a feature is missing, or the target or selection is outside of the caller's rights.",
        404 => "Not Found: the resource does not exist, or the caller may not see it.",
        408 => "Request Timeout: the body did not arrive in time; the connection is closed.",
        409 => "Conflict: the request contradicts stored data, a precondition, or a request in flight.",
        412 => "Precondition Failed: the file is not the one that the client has.",
        413 => "Content Too Large: the connection is closed.",
        416 => "Range Not Satisfiable: the file has no byte of the range.",
        422 => "Unprocessable Content: an interceptor or a rule about stored data rejects the request.",
        429 => "Too Many Requests: a limit is exceeded; repeat after `Retry-After`.",
        500 => "Internal Server Error: the cause is logged under the `requestId`.",
        503 => "Service Unavailable: repeat after `Retry-After`.",
        _ => "Error",
    }
}

fn body(shape: ErrorShape, status: u16) -> Value {
    let mut properties = json!({
        "error": {"type": "string", "description": "English text."},
        "code": {"type": "string", "description": "Machine-readable code. Modules define further ones: the set is open."},
    });
    let mut required = vec!["error"];
    match shape {
        ErrorShape::Error => {}
        ErrorShape::OkFalse => {
            properties["ok"] = json!({"type": "boolean", "enum": [false]});
            required.push("ok");
        }
        ErrorShape::Code => required.push("code"),
    }
    if (400..500).contains(&status) {
        let items = json!({"$ref": "#/components/schemas/ErrorDetail"});
        properties["details"] = json!({"type": "array", "items": items, "description": "Violated rules of the input."});
    }
    let words = |about: &str| json!({"type": "array", "items": {"type": "string"}, "description": about});
    match status {
        400 => properties["fields"] = words("What stands against an undo or redo (`undo_conflict`)."),
        403 => {
            properties["requiredFeatures"] = words("Features that the caller does not hold.");
            properties["features"] =
                words("Features that the caller would grant without holding them (`grant_exceeds_rights`).");
            let organizations = json!({"type": ["array", "null"], "items": {"type": "string", "format": "uuid"}});
            properties["organizations"] = organizations;
        }
        409 => {
            for field in ["currentUpdatedAt", "expectedUpdatedAt"] {
                // Null if the resource did not exist.
                properties[field] = json!({"type": ["string", "null"], "format": "date-time",
                    "description": "Of a resource that has changed since it was read (`optimistic_lock_conflict`)."});
            }
        }
        500.. => properties["requestId"] = json!({"type": "string", "description": "As in the log."}),
        _ => {}
    }
    let mut body = json!({"type": "object", "properties": properties, "required": required});
    if status == 422 {
        // An interceptor may set any body.
        body = json!({"type": "object", "properties": properties, "additionalProperties": true});
    }
    body
}
