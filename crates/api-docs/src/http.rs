//! The endpoints.

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, ETAG, HeaderName, HeaderValue,
    IF_NONE_MATCH, VARY, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::web::Bytes;
use backoffice_core::http::{AcceptedRange, Access, Path, Raw, Redirect, Routes, accepted_ranges};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{API_PREFIX, Error, INTERFACE_VERSION, Rejection, Result, Visitor};
use serde::Deserialize;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::docs::{Docs, Tagged};

pub(crate) const VERSION_LIMIT: RateLimit = RateLimit::new("version.ip", 30, 60);
const INTERFACE: HeaderName = HeaderName::from_static("x-interface-version");
/// The page may load nothing from other origins; Swagger UI sets inline styles and draws images from `data:` URLs.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'";

pub(crate) fn routes(routes: &mut Routes) {
    routes
        .get("/version", Access::Public, get_version)
        .about("Version of the service")
        .produces(&["application/json", "text/plain; charset=utf-8"])
        .produces_json::<String>()
        .responses(&[304])
        .sends_headers(&["Vary", "X-Interface-Version"])
        .limit(VERSION_LIMIT);
    routes
        .get("/openapi.json", Access::Public, get_openapi_document)
        .about("This document")
        .produces(&["application/json"])
        .produces_json::<OpenApiDocument>()
        .responses(&[304]);
    routes
        .get("/docs", Access::Public, redirect_to_docs)
        .about("Redirect to the API browser");
    routes
        .get("/docs/", Access::Public, get_docs_page)
        .about("API browser")
        .produces(&["text/html; charset=utf-8"])
        .sends_headers(&["Content-Encoding", "Content-Security-Policy", "Vary"]);
    routes
        .get("/docs/{file}", Access::Public, get_docs_file)
        .about("A file of the API browser")
        .produces(&[
            "text/html; charset=utf-8",
            "text/css; charset=utf-8",
            "text/javascript; charset=utf-8",
            "image/png",
            "application/octet-stream",
        ])
        .sends_headers(&["Content-Encoding", "Content-Security-Policy", "Vary"]);
}

/// The schema of the API document: an object.
struct OpenApiDocument;

impl PartialSchema for OpenApiDocument {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().build().into()
    }
}

impl ToSchema for OpenApiDocument {}

async fn get_version(visitor: Visitor, request: HttpRequest) -> Result<Raw> {
    let docs = visitor.provided::<Docs>()?;
    let accept = request
        .headers()
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("*/*");
    let mut response = if prefers_text(accept) {
        unless_known(&request, &docs.version_text, "text/plain; charset=utf-8")?
    } else {
        unless_known(&request, &docs.version_json, "application/json")?
    };
    response.headers.push((VARY, HeaderValue::from_static("Accept")));
    response
        .headers
        .push((INTERFACE, HeaderValue::from_static(INTERFACE_VERSION)));
    Ok(response)
}

async fn get_openapi_document(visitor: Visitor, request: HttpRequest) -> Result<Raw> {
    let document = visitor.provided::<Docs>()?.document(visitor.platform().modules())?;
    unless_known(&request, &document, "application/json")
}

async fn redirect_to_docs(_visitor: Visitor) -> Result<Redirect<307>> {
    Ok(Redirect {
        location: format!("{API_PREFIX}/docs/"),
    })
}

async fn get_docs_page(visitor: Visitor, request: HttpRequest) -> Result<Raw> {
    file(&visitor, &request, "")
}

#[derive(Debug, Deserialize, IntoParams)]
struct DocsFile {
    /// Name of the file.
    file: String,
}

async fn get_docs_file(visitor: Visitor, request: HttpRequest, path: Path<DocsFile>) -> Result<Raw> {
    file(&visitor, &request, &path.0.file)
}

fn file(visitor: &Visitor, request: &HttpRequest, name: &str) -> Result<Raw> {
    let accepts_gzip = accepted_ranges(request.headers(), ACCEPT_ENCODING)
        .iter()
        .any(|coding| coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip"));
    let Some(file) = visitor.provided::<Docs>()?.file(name, accepts_gzip)? else {
        return Err(Rejection::not_found("Not Found").into());
    };
    let mut headers = vec![
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (VARY, HeaderValue::from_static("Accept-Encoding")),
    ];
    if file.compressed {
        headers.push((CONTENT_ENCODING, HeaderValue::from_static("gzip")));
    }
    Ok(Raw {
        status: StatusCode::OK,
        content_type: with_charset(&file.content_type),
        bytes: file.bytes,
        headers,
    })
}

/// Content types of the browser's files.
fn with_charset(content_type: &str) -> &'static str {
    match content_type {
        "text/html" => "text/html; charset=utf-8",
        "text/css" => "text/css; charset=utf-8",
        "image/png" => "image/png",
        "application/javascript" | "text/javascript" => "text/javascript; charset=utf-8",
        _ => "application/octet-stream",
    }
}

/// Returns the bytes with their tag, or 304 if the client already has them.
fn unless_known(request: &HttpRequest, tagged: &Tagged, content_type: &'static str) -> Result<Raw> {
    let tag = HeaderValue::from_str(&tagged.tag).map_err(|error| Error::Internal(Box::new(error)))?;
    let known = request
        .headers()
        .get_all(IF_NONE_MATCH)
        .filter_map(|value| value.to_str().ok())
        .any(|value| {
            value
                .split(',')
                .map(str::trim)
                .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == tagged.tag)
        });
    let (status, bytes) = if known {
        (StatusCode::NOT_MODIFIED, Bytes::new())
    } else {
        (StatusCode::OK, tagged.bytes.clone())
    };
    Ok(Raw {
        status,
        content_type,
        bytes,
        headers: vec![(ETAG, tag), (CACHE_CONTROL, HeaderValue::from_static("no-cache"))],
    })
}

/// Returns whether `Accept` ranks `text/plain` above `application/json`: first by weight, then by the specificity of the range.
fn prefers_text(accept: &str) -> bool {
    let text = rank(accept, "text", "plain");
    // Weight 0 excludes a type, however specific its range is.
    text.0 > 0 && text > rank(accept, "application", "json")
}

/// Returns the weight in thousandths and the specificity (3 the type, 2 its family, 1 anything) of the range that applies to this type.
fn rank(accept: &str, family: &str, kind: &str) -> (u16, u8) {
    let ranges = AcceptedRange::parse(accept).filter_map(|AcceptedRange { range, weight }| {
        let exactness = match range.split_once('/')? {
            ("*", "*") => 1,
            (given, "*") if given.eq_ignore_ascii_case(family) => 2,
            (given, named) if given.eq_ignore_ascii_case(family) && named.eq_ignore_ascii_case(kind) => 3,
            _ => return None,
        };
        Some((exactness, weight))
    });
    // The most specific range decides, whatever its weight.
    ranges.max().map_or((0, 0), |(exactness, weight)| (weight, exactness))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_served_only_to_those_who_prefer_it() {
        for (accept, expected) in [
            ("*/*", false),
            ("text/plain", true),
            ("application/json, text/plain", false),
            ("application/json, text/plain, */*", false),
            ("text/plain, */*", true),
            ("text/plain;q=0.5, application/json", false),
            ("text/*, application/json;q=0.9", true),
            ("text/plain;q=0, */*", false),
            ("text/plain;q=0", false),
            ("text/plain;q=0, application/*;q=0", false),
            ("text/html,application/xhtml+xml,*/*;q=0.8", false),
            ("", false),
        ] {
            assert_eq!(prefers_text(accept), expected, "{accept}");
        }
    }
}
