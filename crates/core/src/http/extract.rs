//! What handlers take from a request.

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::path::{OperationBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::{ContentBuilder, Required};
use utoipa::{IntoParams, ToSchema};

use super::answer::Json;
use super::openapi::Schemas;
use crate::context::{Call, RequestContext, Visitor};
use crate::error::{Detail, Error, Refusal, Result};

/// A request that has passed the checks before its handler.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// The request.
    pub request: &'a HttpRequest,
    /// Its body.
    pub body: &'a Bytes,
    /// What every request has.
    pub call: &'a Arc<Call>,
    /// Who is signed in; `None` on public endpoints.
    pub context: Option<&'a RequestContext>,
    /// Text of the 400 for an input that can't be read.
    pub invalid: &'static str,
}

impl Incoming<'_> {
    fn refuse(&self, details: Vec<Detail>) -> Error {
        Refusal {
            details,
            ..Refusal::bad_request(self.invalid)
        }
        .into()
    }
}

/// Something that a handler takes as an argument.
pub trait Extract: Sized {
    /// Takes it.
    ///
    /// # Errors
    /// 400 when the request does not have it in the right form.
    fn extract(incoming: &Incoming<'_>) -> Result<Self>;
}

/// What an argument adds to the API document.
pub trait Describe {
    /// Adds parameters or the body.
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder;
}

impl Extract for RequestContext {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        incoming
            .context
            .cloned()
            .ok_or_else(|| Error::internal("a public endpoint asks for a signed-in caller"))
    }
}

impl Describe for RequestContext {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation
    }
}

impl Extract for Visitor {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        Ok(Self(Arc::clone(incoming.call)))
    }
}

impl Describe for Visitor {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation
    }
}

impl Extract for HttpRequest {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        Ok(incoming.request.clone())
    }
}

impl Describe for HttpRequest {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation
    }
}

/// Query parameters.
#[derive(Debug, Clone)]
pub struct Query<T>(pub T);

/// A form (`application/x-www-form-urlencoded`), or JSON with the same members.
#[derive(Debug, Clone)]
pub struct Form<T>(pub T);

/// Parameters of the path (`/docs/{file}`), by name.
#[derive(Debug, Clone)]
pub struct Path<T>(pub T);

/// For members where absent and `null` differ: `#[serde(default, deserialize_with = "present")] name: Option<Option<T>>`.
///
/// # Errors
/// When the value is neither null nor a `T`.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// For members that may be absent but not `null`: `#[serde(default, deserialize_with = "given")] flag: Option<bool>`.
///
/// # Errors
/// When the value is no `T`.
pub fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl<T: DeserializeOwned + garde::Validate<Context = ()>> Extract for Query<T> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let text = incoming.request.query_string();
        if text.contains("%00") {
            return Err(incoming.refuse(vec![nul_detail()]));
        }
        if let Some(name) = empty_page_parameter(text) {
            return Err(incoming.refuse(vec![Detail::new(name, "must be a number", "invalid_value")]));
        }
        let value = read(serde_html_form::Deserializer::from_bytes(text.as_bytes()), incoming)?;
        validated(value, incoming).map(Self)
    }
}

/// A page parameter without a value is no number; the form reader would take it for an absent one.
fn empty_page_parameter(query: &str) -> Option<&str> {
    query
        .split('&')
        .map(|pair| pair.strip_suffix('=').unwrap_or(pair))
        .find(|name| matches!(*name, "page" | "pageSize"))
}

impl<T: IntoParams> Describe for Query<T> {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation.parameters(Some(T::into_params(|| Some(ParameterIn::Query))))
    }
}

impl<T: DeserializeOwned + garde::Validate<Context = ()>> Extract for Path<T> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        if incoming.request.path().contains("%00") {
            return Err(incoming.refuse(vec![nul_detail()]));
        }
        let value = incoming
            .request
            .match_info()
            .load::<T>()
            .map_err(|error| incoming.refuse(vec![Detail::new("path", error.to_string(), "invalid_value")]))?;
        validated(value, incoming).map(Self)
    }
}

impl<T: IntoParams> Describe for Path<T> {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation.parameters(Some(T::into_params(|| Some(ParameterIn::Path))))
    }
}

impl<T: DeserializeOwned + garde::Validate<Context = ()>> Extract for Json<T> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        validated(read_json(incoming)?, incoming).map(Self)
    }
}

impl<T: ToSchema> Describe for Json<T> {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        describe_body::<T>(operation, schemas, &["application/json"])
    }
}

impl<T: DeserializeOwned + garde::Validate<Context = ()>> Extract for Form<T> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        let value = if is_json(incoming.request) {
            read_json(incoming)?
        } else {
            if incoming.body.windows(3).any(|three| three == b"%00") || incoming.body.contains(&0) {
                return Err(incoming.refuse(vec![nul_detail()]));
            }
            read(serde_html_form::Deserializer::from_bytes(incoming.body), incoming)?
        };
        validated(value, incoming).map(Self)
    }
}

impl<T: ToSchema> Describe for Form<T> {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        describe_body::<T>(
            operation,
            schemas,
            &["application/x-www-form-urlencoded", "application/json"],
        )
    }
}

fn describe_body<T: ToSchema>(operation: OperationBuilder, schemas: &mut Schemas, types: &[&str]) -> OperationBuilder {
    let mut body = RequestBodyBuilder::new().required(Some(Required::True));
    for content_type in types {
        body = body.content(
            *content_type,
            ContentBuilder::new().schema(Some(schemas.reference::<T>())).build(),
        );
    }
    operation.request_body(Some(body.build()))
}

pub(super) fn is_json(request: &HttpRequest) -> bool {
    request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| {
            value
                .split(';')
                .next()
                .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
        })
}

fn read_json<T: DeserializeOwned>(incoming: &Incoming<'_>) -> Result<T> {
    let body: &[u8] = incoming.body;
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(incoming.refuse(vec![Detail::new("", "the body must be a JSON object", "invalid_body")]));
    }
    if has_nul_escape(body) {
        return Err(incoming.refuse(vec![nul_detail()]));
    }
    // Members that are ignored are not looked at, and would let anything through.
    let Ok(body) = std::str::from_utf8(body) else {
        return Err(incoming.refuse(vec![Detail::new("", "the body must be UTF-8", "invalid_body")]));
    };
    let mut deserializer = serde_json::Deserializer::from_str(body);
    let value = read(&mut deserializer, incoming)?;
    deserializer.end().map_err(|_| {
        incoming.refuse(vec![Detail::new(
            "",
            "the body must be one JSON object",
            "invalid_body",
        )])
    })?;
    Ok(value)
}

fn read<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D, incoming: &Incoming<'_>) -> Result<T>
where
    D::Error: std::fmt::Display,
{
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let path = error.path().to_string();
        let message = error.inner().to_string();
        incoming.refuse(vec![Detail::new(
            of_missing_member(place(&path), &message),
            message,
            "invalid_value",
        )])
    })
}

/// What a path leads to: the body itself has none, and a member whose name could not be read stands for its object.
fn place(path: &str) -> &str {
    match path {
        "." | "?" => "",
        path => path.strip_suffix(".?").unwrap_or(path),
    }
}

/// The reader is told of a missing member where the object ends: the path is the object's, the name stands in the text.
fn of_missing_member(object: &str, message: &str) -> String {
    let name = message
        .strip_prefix("missing field `")
        .and_then(|rest| rest.split_once('`'));
    match name {
        Some((name, _)) if object.is_empty() => name.to_owned(),
        Some((name, _)) => format!("{object}.{name}"),
        None => object.to_owned(),
    }
}

fn validated<T: garde::Validate<Context = ()>>(value: T, incoming: &Incoming<'_>) -> Result<T> {
    match value.validate() {
        Ok(()) => Ok(value),
        Err(report) => Err(incoming.refuse(
            report
                .iter()
                .map(|(path, error)| Detail::new(path.to_string(), error.to_string(), "invalid_value"))
                .collect(),
        )),
    }
}

fn nul_detail() -> Detail {
    Detail::new("", "the character U+0000 is not allowed", "invalid_character")
}

/// Whether a JSON text has an escape for U+0000: PostgreSQL stores no such character.
fn has_nul_escape(body: &[u8]) -> bool {
    let mut rest = body;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        if rest[at + 1..].starts_with(b"u0000") {
            return true;
        }
        // Skips the escaped character, so that `\\u0000` (a backslash, then text) is not taken for an escape.
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    false
}

macro_rules! tuples {
    ($(($($name:ident),*))*) => {$(
        impl<$($name: Extract),*> Extract for ($($name,)*) {
            fn extract(_incoming: &Incoming<'_>) -> Result<Self> {
                Ok(($($name::extract(_incoming)?,)*))
            }
        }
        impl<$($name: Describe),*> Describe for ($($name,)*) {
            fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
                $(let operation = $name::describe(operation, _schemas);)*
                operation
            }
        }
    )*};
}

tuples! { () (A) (A, B) (A, B, C) (A, B, C, D) }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_parameter_needs_a_value() {
        assert_eq!(empty_page_parameter("search=x&page="), Some("page"));
        assert_eq!(empty_page_parameter("pageSize"), Some("pageSize"));
        assert_eq!(empty_page_parameter("page=1&pageSize=2&search="), None);
    }

    #[test]
    fn a_missing_member_is_named_with_its_path() {
        let told = of_missing_member;

        assert_eq!(told("", "missing field `email` at line 1 column 2"), "email");
        assert_eq!(told("lines[0]", "missing field `sku`"), "lines[0].sku");
        assert_eq!(told("lines[0].sku", "invalid type: null"), "lines[0].sku");
    }

    #[test]
    fn a_body_that_ends_too_early_has_no_path_but_its_object_s() {
        type Body = std::collections::BTreeMap<String, std::collections::BTreeMap<String, u8>>;
        let told = |body| {
            let mut deserializer = serde_json::Deserializer::from_str(body);
            let error = serde_path_to_error::deserialize::<_, Body>(&mut deserializer).expect_err("no JSON");
            place(&error.path().to_string()).to_owned()
        };

        assert_eq!(told("{"), "");
        assert_eq!(told("{\"a\": {\"b"), "a");
        assert_eq!(told("{\"a\": {\"b\": \"x\"}}"), "a.b");
    }

    #[test]
    fn only_a_real_escape_of_nul_is_found() {
        assert!(has_nul_escape(br#"{"a":"x\u0000"}"#));
        assert!(!has_nul_escape(br#"{"a":"x\\u0000"}"#));
        assert!(has_nul_escape(br#"{"a":"x\\\u0000"}"#));
    }
}
