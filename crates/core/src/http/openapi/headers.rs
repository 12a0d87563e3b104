//! Headers of requests and responses.

use actix_web::http::Method;
use serde_json::{Map, Value, json};

use super::super::routes::{Access, EndpointInfo};

/// Headers that every response may have.
const EVERYWHERE: &[&str] = &[
    "X-Request-Id",
    "Cache-Control",
    "X-Content-Type-Options",
    "Referrer-Policy",
    "Strict-Transport-Security",
];

/// Descriptions of response headers: name, text, whether the value is a number.
const RESPONSE: &[(&str, &str, bool)] = &[
    ("Accept-Ranges", "`bytes`: a part of the file may be requested.", false),
    (
        "Cache-Control",
        "Whether and how the response may be kept; `no-store` unless the endpoint says otherwise.",
        false,
    ),
    (
        "Content-Disposition",
        "Name under which the file is to be saved.",
        false,
    ),
    (
        "Content-Range",
        "Which bytes of the file these are, and its length.",
        false,
    ),
    ("Content-Language", "Language of the page.", false),
    ("Content-Security-Policy", "What the page may load.", false),
    ("ETag", "Identifies the state that the response shows.", false),
    (
        "Idempotency-Replayed",
        "`true` when the response was stored with an `Idempotency-Key` before.",
        false,
    ),
    ("Last-Modified", "Time of the last change.", false),
    ("Location", "Where to go, a reference within the site.", false),
    ("RateLimit", "What is left of the rate limit.", false),
    ("RateLimit-Policy", "The rate limit that rejected the request.", false),
    ("Referrer-Policy", "`no-referrer`.", false),
    ("Retry-After", "Seconds after which a repeat makes sense.", true),
    ("Set-Cookie", "Cookies of the session, set or cleared.", false),
    (
        "Strict-Transport-Security",
        "Present when the public URL is https.",
        false,
    ),
    ("Vary", "Request headers on which the response depends.", false),
    ("X-Accel-Buffering", "`no`: proxies pass each piece on at once.", false),
    ("X-Content-Type-Options", "`nosniff`.", false),
    ("X-Interface-Version", "Version of the interface.", false),
    (
        "X-Operation",
        "Of an undoable write: URL-encoded JSON with `id`, `undoToken`, `commandId`, `actionLabel`, `resourceKind`, `resourceId` and `executedAt`.",
        false,
    ),
    (
        "X-Rule-Messages",
        "Messages of business rules about a write: a URL-encoded JSON list of objects with `level`, `message` and `ruleId`.",
        false,
    ),
    (
        "X-Request-Id",
        "The caller's id of the request if it was a valid token, else a new one.",
        false,
    ),
];

/// Component of the parameter `If-Match` of a file, whose values are entity tags.
const IF_MATCH_TAG: &str = "If-Match-Tag";

const UUID_OR_ALL: &str = "^(all|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$";

/// Matches the days of the Gregorian calendar, of the years 0000 to 9999.
pub(crate) const DAY: &str = "([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))\
    |([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)";

/// Matches the rest of an instant, with its offset.
pub(crate) const TIME: &str =
    "T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";

/// Returns the description and schema of a request header.
fn request_header(name: &str) -> (&'static str, Value) {
    match name {
        "X-Tenant-Id" => (
            "Selects a tenant, for super administrators: its id, or `all`.",
            json!({"type": "string", "pattern": UUID_OR_ALL}),
        ),
        "X-Organization-Id" => (
            "Selects an organization of the tenant: its id, or `all`.",
            json!({"type": "string", "pattern": UUID_OR_ALL}),
        ),
        "If-Match" => (
            "The `updatedAt` that was read, in quotes: 409 when the resource has changed since. `*` compares nothing.",
            json!({"type": "string", "minLength": 1, "pattern": format!(r#"^(\*|"{DAY}{TIME}")$"#)}),
        ),
        IF_MATCH_TAG => (
            "Entity tags: 412 when none of them is that of the file. `*` compares nothing.",
            json!({"type": "string"}),
        ),
        "X-Expected-Updated-At" => (
            "The same without quotes; `If-Match` counts where both are sent, unless it is `*`.",
            json!({"type": "string", "minLength": 20, "pattern": format!("^{DAY}{TIME}$")}),
        ),
        "Idempotency-Key" => (
            "A repeat with the same key within 24 hours gets the stored response; with another path, query or body it is rejected with 422, and with 409 while the first is in flight.",
            json!({"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"}),
        ),
        "X-Request-Id" => (
            "Id of the request, kept if it is 1 to 128 letters, digits, `-`, `_` or `.`.",
            json!({"type": "string"}),
        ),
        "Last-Event-ID" => (
            "Number of the last event that was received; the stream goes on after it.",
            json!({"type": "string"}),
        ),
        "If-None-Match" => (
            "Entity tags that the caller has; 304 when one is current.",
            json!({"type": "string"}),
        ),
        "If-Modified-Since" => (
            "304 when the file has not changed since; counts only without `If-None-Match`.",
            json!({"type": "string"}),
        ),
        "If-Unmodified-Since" => ("412 when the file has changed since.", json!({"type": "string"})),
        "If-Range" => (
            "The entity tag or time of the file of which the client has a part; the whole file when it is another one.",
            json!({"type": "string"}),
        ),
        "Range" => (
            "One range of bytes, such as `bytes=0-99`, `bytes=100-` or `bytes=-10`.",
            json!({"type": "string"}),
        ),
        _ => ("", json!({"type": "string"})),
    }
}

/// Returns the headers that a request to this endpoint may have, besides its credential, by the names of their components.
pub(super) fn of_request(info: &EndpointInfo) -> Vec<&'static str> {
    let mut names = vec!["X-Request-Id"];
    if info.access != Access::Public {
        names.extend(["X-Tenant-Id", "X-Organization-Id"]);
        if info.runs_commands && !matches!(info.method, Method::GET | Method::POST) {
            names.extend(["If-Match", "X-Expected-Updated-At"]);
        }
    }
    if info.idempotent {
        names.push("Idempotency-Key");
    }
    if has_tag(info) {
        names.push("If-None-Match");
    }
    if info.downloads {
        names.extend(has_tag(info).then_some(IF_MATCH_TAG));
        names.extend(["If-Modified-Since", "If-Unmodified-Since", "If-Range", "Range"]);
    }
    names.extend(info.request_headers);
    names
}

/// Returns whether the success of an endpoint carries an entity tag.
fn has_tag(info: &EndpointInfo) -> bool {
    info.is_tagged && info.responses.contains(&304)
}

/// Returns references to the headers of a success of this endpoint.
pub(super) fn of_success(info: &EndpointInfo) -> Map<String, Value> {
    let mut names = EVERYWHERE.to_vec();
    if info.access != Access::Public && info.runs_commands {
        names.extend(["X-Operation", "X-Rule-Messages"]);
    }
    if info.idempotent {
        names.push("Idempotency-Replayed");
    }
    if has_tag(info) {
        names.push("ETag");
    }
    if info.downloads {
        names.extend([
            "Accept-Ranges",
            "Content-Disposition",
            "Content-Range",
            "Last-Modified",
            "Vary",
        ]);
    }
    names.extend(info.response_headers);
    references(&names)
}

/// Returns references to the headers of a rejection.
pub(super) fn of_rejection(status: u16) -> Map<String, Value> {
    let mut names = EVERYWHERE.to_vec();
    match status {
        // An invalid credential clears the cookies.
        401 => names.push("Set-Cookie"),
        429 => names.extend(["Retry-After", "RateLimit", "RateLimit-Policy"]),
        416 => names.push("Content-Range"),
        503 => names.push("Retry-After"),
        _ => {}
    }
    references(&names)
}

/// Returns references to these response headers.
pub(super) fn references(names: &[&str]) -> Map<String, Value> {
    let reference = |name: &&str| {
        (
            (*name).to_owned(),
            json!({"$ref": format!("#/components/headers/{name}")}),
        )
    };
    names.iter().map(reference).collect()
}

/// Returns the response headers that are referred to.
pub(super) fn response_components(names: impl IntoIterator<Item = String>) -> Map<String, Value> {
    let component = |name: String| {
        let known = RESPONSE.iter().find(|(known, ..)| *known == name);
        let kind = if known.is_some_and(|known| known.2) {
            "integer"
        } else {
            "string"
        };
        let mut header = json!({"schema": {"type": kind}});
        if let Some((_, text, _)) = known {
            header["description"] = json!(text);
        }
        (name, header)
    };
    names.into_iter().map(component).collect()
}

/// Returns the request headers that are referred to, by the names of their components.
pub(super) fn request_components(names: impl IntoIterator<Item = &'static str>) -> Map<String, Value> {
    let component = |name: &'static str| {
        let (text, schema) = request_header(name);
        let header = match name {
            IF_MATCH_TAG => "If-Match",
            name => name,
        };
        let mut header =
            json!({"name": header, "in": "header", "required": false, "description": text, "schema": schema});
        if name == "If-Match" {
            header["example"] = json!("\"2026-11-20T08:15:30.123Z\"");
        }
        (name.to_owned(), header)
    };
    names.into_iter().map(component).collect()
}
