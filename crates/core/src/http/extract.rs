//! The arguments of handlers, extracted from a request.

mod nul;
mod parameters;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::Bytes;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;
use utoipa::openapi::path::{Operation, OperationBuilder};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::{ContentBuilder, RefOr, Required, Schema};
use uuid::Uuid;

pub(crate) use parameters::query_with_rules;
pub use parameters::{CheckedQuery, Path, Query, QueryInput};

use super::bodies::Id;
use super::faults;
use super::multipart::SharedBody;
use super::openapi::Schemas;
use super::response::Json;
use super::routes::EndpointInfo;
use crate::context::{self, Call, RequestContext};
use crate::error::{Detail, Error, Rejection, Result, Violations};
use crate::input::{Input, Validator};

/// A request that has passed the checks before its handler.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// The request.
    pub request: &'a HttpRequest,
    /// The declaration of the endpoint.
    pub(super) info: &'a Arc<EndpointInfo>,
    /// The body.
    pub body: &'a Bytes,
    /// The body of a streaming endpoint, which has not been read.
    pub(super) streamed: &'a SharedBody,
    /// The properties of every request.
    pub call: &'a Arc<Call>,
    /// The context of the signed-in caller; `None` on public endpoints, and for visitors.
    pub context: Option<&'a RequestContext>,
    /// Text of the 400 for an invalid input.
    pub invalid: &'static str,
    /// Violated rules of the parts of the request that were validated before the arguments. The handler is not called if there are any.
    pub(super) faults: Vec<Detail>,
}

impl Incoming<'_> {
    fn reject(&self, details: Vec<Detail>) -> Error {
        Rejection {
            details,
            ..Rejection::bad_request(self.invalid)
        }
        .into()
    }
}

/// An argument of a handler.
pub trait Extract: Sized {
    /// Extracts the argument.
    ///
    /// # Errors
    /// 400 when the request has no valid value for it.
    fn extract(incoming: &Incoming<'_>) -> Result<Self>;

    /// Records the rules that the argument violates. Called instead of the handler, which would validate the argument, if another part of the
    /// request is invalid: the response reports everything that is wrong.
    fn report(&self, _incoming: &Incoming<'_>, _violations: &mut Violations) {}
}

/// The part of the API document that an argument adds.
pub trait Describe {
    /// Adds parameters or the body.
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder;
}

impl Extract for RequestContext {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        incoming
            .context
            .cloned()
            .ok_or_else(|| Error::internal("a public endpoint requires a signed-in caller"))
    }
}

impl Describe for RequestContext {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation
    }
}

/// The caller of an endpoint with [`Access::Optional`](super::Access::Optional).
#[derive(Debug, Clone)]
pub enum Caller {
    /// A signed-in caller, with the scope of their request.
    SignedIn(RequestContext),
    /// A caller without a valid credential.
    Visitor(context::Visitor),
}

impl Extract for Caller {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        Ok(match incoming.context {
            Some(context) => Self::SignedIn(context.clone()),
            None => Self::Visitor(context::Visitor(Arc::clone(incoming.call))),
        })
    }
}

impl Describe for Caller {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation
    }
}

impl Extract for context::Visitor {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        Ok(Self(Arc::clone(incoming.call)))
    }
}

impl Describe for context::Visitor {
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

/// A form (`application/x-www-form-urlencoded`), or JSON with the same fields. An empty body is an empty form.
#[derive(Debug, Clone)]
pub struct Form<T>(pub T);

/// An argument whose rejection the handler gets, to respond in its own way.
#[derive(Debug)]
pub struct Attempt<A>(pub Result<A>);

impl<A: Extract> Extract for Attempt<A> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        Ok(Self(A::extract(incoming)))
    }
}

impl<A: Describe> Describe for Attempt<A> {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        A::describe(operation, schemas)
    }
}

/// Deserializes a field that may be absent but not `null`: `#[serde(default, deserialize_with = "given")] flag: Option<bool>`.
///
/// # Errors
/// When the value is not a valid `T`.
pub fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Deserializes an object that may be absent but not `null`, and whose fields all have defaults: a derived deserializer would accept a list for
/// it.
///
/// # Errors
/// When the value is not an object, or not a valid `T`.
pub fn given_object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    struct Object<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
        type Value = T;

        fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
            text.write_str("struct Object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_map(Object(PhantomData)).map(Some)
}

impl<T: Input> Extract for Json<T> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        complete(read_json(incoming, T::ACCEPTS_NUL, T::validate_new), incoming).map(Self)
    }

    fn report(&self, _incoming: &Incoming<'_>, violations: &mut Violations) {
        report_new(&self.0, violations);
    }
}

/// Records the violated rules of a body of a creation.
fn report_new<T: Input>(body: &T, violations: &mut Violations) {
    let mut validator = Validator::default();
    body.validate_new(&mut validator);
    violations.extend(validator.into_details());
}

impl<T: ToSchema> Describe for Json<T> {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        describe_body::<T>(operation, schemas, &["application/json"])
    }
}

impl<T: Input> Extract for Form<T> {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        // Many clients send the content type of JSON also without a body: an empty body is an empty form in both types.
        let body = match incoming.body.trim_ascii() {
            [] => &[],
            _ => &incoming.body[..],
        };
        let read = if is_json(incoming.request) && !body.is_empty() {
            read_json(incoming, T::ACCEPTS_NUL, T::validate_new)
        } else {
            let nuls = nul::in_form(body, T::ACCEPTS_NUL);
            with_known(nuls, faults::from_form(body, report_new), |form| {
                let mut violations = Violations::default();
                report_new(form, &mut violations);
                violations.into_details()
            })
        };
        complete(read, incoming).map(Self)
    }

    fn report(&self, _incoming: &Incoming<'_>, violations: &mut Violations) {
        report_new(&self.0, violations);
    }
}

impl<T: ToSchema> Describe for Form<T> {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        let types = ["application/x-www-form-urlencoded", "application/json"];
        let mut operation = Operation::from(describe_body::<T>(operation, schemas, &types));
        // A form without required fields may be empty, and then needs no body.
        if let RefOr::T(Schema::Object(fields)) = T::schema()
            && fields.required.is_empty()
            && let Some(RefOr::T(body)) = &mut operation.request_body
        {
            body.required = Some(Required::False);
        }
        operation.into()
    }
}

/// Adds a body of these media types to the API document.
pub(super) fn describe_body<T: ToSchema>(
    operation: OperationBuilder,
    schemas: &mut Schemas,
    types: &[&str],
) -> OperationBuilder {
    describe_schema(operation, &schemas.reference::<T>(), types)
}

fn describe_schema(operation: OperationBuilder, schema: &RefOr<Schema>, types: &[&str]) -> OperationBuilder {
    let mut body = RequestBodyBuilder::new().required(Some(Required::True));
    for content_type in types {
        let content = ContentBuilder::new().schema(Some(schema.clone())).build();
        body = body.content(*content_type, content);
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

/// Deserializes the body. If it has a fault, `rules` validates the other fields. Texts in the `accepted` fields may contain U+0000.
fn read_json<T: DeserializeOwned>(
    incoming: &Incoming<'_>,
    accepted: &[&str],
    rules: impl Fn(&T, &mut Validator),
) -> Result<T, Vec<Detail>> {
    let body: &[u8] = incoming.body;
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(vec![Detail::new("", "must be a JSON object", "invalid_type")]);
    }
    // Ignored fields are not deserialized, and could contain invalid UTF-8.
    let Ok(body) = std::str::from_utf8(body) else {
        return Err(vec![Detail::new("", "must be UTF-8", "invalid_value")]);
    };
    let nuls = nul::in_json(body, accepted);
    with_known(nuls, faults::from_json(body, &rules), |value| {
        let mut validator = Validator::default();
        rules(value, &mut validator);
        validator.into_details()
    })
}

/// Adds faults that are known already. `rules` validates an input without other faults.
fn with_known<T>(
    known: Vec<Detail>,
    read: Result<T, Vec<Detail>>,
    rules: impl FnOnce(&T) -> Vec<Detail>,
) -> Result<T, Vec<Detail>> {
    if known.is_empty() {
        return read;
    }
    let others = match read {
        Ok(value) => rules(&value),
        Err(details) => details,
    };
    Err(nul::and_others(known, others))
}

/// Extracts the id and the other fields of a body; reports everything that is wrong in both.
pub(super) fn identified<T: Input>(incoming: &Incoming<'_>) -> Result<(Uuid, T)> {
    let id = read_json(incoming, T::ACCEPTS_NUL, |_: &Id, _| {});
    let fields = read_json(incoming, T::ACCEPTS_NUL, T::validate_update);
    let details = match (id, fields) {
        (Ok(Id { id }), Ok(fields)) => return Ok((id, fields)),
        (Ok(_), Err(details)) => details,
        (Err(mut details), Ok(fields)) => {
            let mut validator = Validator::default();
            fields.validate_update(&mut validator);
            details.extend(validator.into_details());
            details
        }
        (Err(mut details), Err(others)) => {
            details.retain(|detail| !others.contains(detail));
            details.extend(others);
            details
        }
    };
    Err(incoming.reject(details))
}

/// Returns the value, or 400 with all faults.
fn complete<T>(read: Result<T, Vec<Detail>>, incoming: &Incoming<'_>) -> Result<T> {
    read.map_err(|details| incoming.reject(details))
}

impl Extract for () {
    fn extract(_incoming: &Incoming<'_>) -> Result<Self> {
        Ok(())
    }
}

impl Describe for () {
    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation
    }
}

macro_rules! tuples {
    ($(($($name:ident),*))*) => {$(
        #[expect(non_snake_case, reason = "arguments are named as their types")]
        impl<$($name: Extract),*> Extract for ($($name,)*) {
            fn extract(incoming: &Incoming<'_>) -> Result<Self> {
                // The faults of all arguments are reported together.
                let mut violations = Violations::default();
                $(let $name = violations.keep($name::extract(incoming).map(Some));)*
                if !violations.is_empty() {
                    $(if let Some(argument) = &$name {
                        argument.report(incoming, &mut violations);
                    })*
                }
                violations.check()?;
                match ($($name,)*) {
                    ($(Some($name),)*) => Ok(($($name,)*)),
                    _ => Err(Error::internal("an argument is missing without a rejection")),
                }
            }

            fn report(&self, incoming: &Incoming<'_>, violations: &mut Violations) {
                let ($($name,)*) = self;
                $($name.report(incoming, violations);)*
            }
        }
        impl<$($name: Describe),*> Describe for ($($name,)*) {
            fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
                $(let operation = $name::describe(operation, schemas);)*
                operation
            }
        }
    )*};
}

tuples! { (A) (A, B) (A, B, C) (A, B, C, D) }
