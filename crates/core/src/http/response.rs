//! The responses of handlers.

use std::fmt;

use actix_web::cookie::Cookie;
use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use actix_web::web::Bytes;
use actix_web::{HttpResponse, ResponseError};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::path::OperationBuilder;
use utoipa::openapi::{ContentBuilder, Header, RefOr, ResponseBuilder, Schema};

use super::openapi::Schemas;
use crate::command;
use crate::error::{Error, Result};

/// A successful response: the body that is sent, the body that an `Idempotency-Key` stores, and its description in the API document.
pub trait Response: Send {
    /// Returns the status.
    fn status(&self) -> StatusCode;

    /// Returns the body, for storing.
    ///
    /// # Errors
    /// When it can't be serialized to JSON.
    fn to_value(&self) -> Result<Value>;

    /// Converts it into the HTTP response.
    fn into_response(self) -> HttpResponse;

    /// Adds the response to the API document.
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder;
}

impl<T: Response> command::CommandResponse for T {
    fn status(&self) -> StatusCode {
        Response::status(self)
    }

    fn to_value(&self) -> Result<Value> {
        Response::to_value(self)
    }
}

/// JSON body: extracted from a request, or sent with 200 as a response.
#[derive(Debug, Clone)]
pub struct Json<T>(pub T);

/// 201 with a JSON body.
#[derive(Debug, Clone)]
pub struct Created<T>(pub T);

/// A redirect to a relative reference, with 302 or a given status: `Redirect<307>`.
#[derive(Debug, Clone)]
pub struct Redirect<const STATUS: u16 = 302> {
    /// Path, query and fragment on this site.
    pub location: String,
}

/// A body that is not a JSON value: files, texts, precomputed documents. Not for commands: an `Idempotency-Key` can't store it.
#[derive(Debug, Clone)]
pub struct Raw {
    /// The status.
    pub status: StatusCode,
    /// Value of `Content-Type`; not sent with a 304, which has no body.
    pub content_type: &'static str,
    /// The body.
    pub bytes: Bytes,
    /// Further headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// A body that is produced while it is sent. An error in the middle breaks the connection, so that the client does not take a part for the
/// whole.
pub struct Streamed {
    /// Value of `Content-Type`.
    pub content_type: &'static str,
    /// Further headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body, piece by piece.
    pub pieces: BoxStream<'static, Result<Bytes>>,
}

/// A response with cookies; never stored by caches.
#[derive(Debug, Clone)]
pub struct Cookies<A> {
    /// The response.
    pub response: A,
    /// The cookies to set.
    pub cookies: Vec<Cookie<'static>>,
}

/// A response for programs, or the same result as a page for browsers without a script. An endpoint with it is declared with
/// [`Declaration::or_page`](super::Declaration::or_page).
#[derive(Debug, Clone)]
pub enum OrPage<A> {
    /// The response for programs.
    Data(A),
    /// The page, with its status.
    Page(Raw),
}

pub(crate) fn json_response<T: Serialize>(status: StatusCode, body: &T) -> HttpResponse {
    json_bytes(status, serde_json::to_vec(body))
}

fn json_bytes(status: StatusCode, body: serde_json::Result<Vec<u8>>) -> HttpResponse {
    match body {
        Ok(bytes) => HttpResponse::build(status)
            .insert_header((CONTENT_TYPE, HeaderValue::from_static("application/json")))
            .body(bytes),
        Err(error) => HttpResponse::from_error(Unserialized(error)),
    }
}

/// The error of a body that could not be serialized. Its response has the error until the dispatcher replaces it by the rejection of the endpoint.
#[derive(Debug)]
struct Unserialized(serde_json::Error);

impl fmt::Display for Unserialized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "could not serialize the response: {}", self.0)
    }
}

impl ResponseError for Unserialized {
    fn error_response(&self) -> HttpResponse {
        HttpResponse::InternalServerError()
            .insert_header((CONTENT_TYPE, HeaderValue::from_static("application/json")))
            .body(r#"{"error":"Internal server error"}"#)
    }
}

/// Returns the error of a response whose body could not be serialized.
pub(super) fn failure(response: &HttpResponse) -> Option<Error> {
    let failure: &Unserialized = response.error()?.as_error()?;
    Some(Error::internal(failure.to_string()))
}

fn describe_json<T: ToSchema>(
    operation: OperationBuilder,
    schemas: &mut Schemas,
    status: &str,
    description: &str,
) -> OperationBuilder {
    describe_schema(operation, schemas.reference::<T>(), status, description)
}

fn describe_schema(
    operation: OperationBuilder,
    schema: RefOr<Schema>,
    status: &str,
    description: &str,
) -> OperationBuilder {
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let response = ResponseBuilder::new()
        .description(description)
        .content("application/json", content)
        .build();
    operation.response(status, response)
}

impl<T: Serialize + ToSchema + Send> Response for Json<T> {
    fn status(&self) -> StatusCode {
        StatusCode::OK
    }

    fn to_value(&self) -> Result<Value> {
        Ok(serde_json::to_value(&self.0)?)
    }

    fn into_response(self) -> HttpResponse {
        json_response(StatusCode::OK, &self.0)
    }

    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        describe_json::<T>(operation, schemas, "200", "Success")
    }
}

impl<T: Serialize + ToSchema + Send> Response for Created<T> {
    fn status(&self) -> StatusCode {
        StatusCode::CREATED
    }

    fn to_value(&self) -> Result<Value> {
        Ok(serde_json::to_value(&self.0)?)
    }

    fn into_response(self) -> HttpResponse {
        json_response(StatusCode::CREATED, &self.0)
    }

    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        describe_json::<T>(operation, schemas, "201", "Created")
    }
}

impl<const STATUS: u16> Response for Redirect<STATUS> {
    fn status(&self) -> StatusCode {
        const {
            assert!(
                matches!(STATUS, 302 | 303 | 307 | 308),
                "a redirect has the status of one"
            );
        };
        StatusCode::from_u16(STATUS).unwrap_or(StatusCode::FOUND)
    }

    fn to_value(&self) -> Result<Value> {
        Ok(Value::Null)
    }

    fn into_response(self) -> HttpResponse {
        HttpResponse::build(self.status())
            .insert_header((LOCATION, self.location))
            .finish()
    }

    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        let response = ResponseBuilder::new()
            .description("Redirect within the site")
            .header("Location", Header::default());
        operation.response(STATUS.to_string(), response.build())
    }
}

impl Response for Raw {
    fn status(&self) -> StatusCode {
        self.status
    }

    fn to_value(&self) -> Result<Value> {
        Ok(Value::Null)
    }

    fn into_response(self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status).body(self.bytes);
        if self.status != StatusCode::NOT_MODIFIED {
            let content_type = HeaderValue::from_static(self.content_type);
            response.headers_mut().insert(CONTENT_TYPE, content_type);
        }
        for (name, value) in self.headers {
            response.headers_mut().insert(name, value);
        }
        response
    }

    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation.response("200", ResponseBuilder::new().description("Success").build())
    }
}

impl<A: Response> Response for OrPage<A> {
    fn status(&self) -> StatusCode {
        match self {
            Self::Data(data) => data.status(),
            Self::Page(page) => page.status,
        }
    }

    fn to_value(&self) -> Result<Value> {
        match self {
            Self::Data(data) => data.to_value(),
            Self::Page(page) => page.to_value(),
        }
    }

    fn into_response(self) -> HttpResponse {
        match self {
            Self::Data(data) => data.into_response(),
            Self::Page(page) => page.into_response(),
        }
    }

    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        A::describe(operation, schemas)
    }
}

impl fmt::Debug for Streamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streamed")
            .field("content_type", &self.content_type)
            .finish_non_exhaustive()
    }
}

impl Response for Streamed {
    fn status(&self) -> StatusCode {
        StatusCode::OK
    }

    fn to_value(&self) -> Result<Value> {
        Ok(Value::Null)
    }

    fn into_response(self) -> HttpResponse {
        let pieces = self.pieces.map(|piece| {
            piece.map_err(|error| {
                tracing::error!(%error, "response stream failed");
                std::io::Error::other("the response stream failed")
            })
        });
        let mut response = HttpResponse::Ok().content_type(self.content_type).streaming(pieces);
        for (name, value) in self.headers {
            response.headers_mut().insert(name, value);
        }
        response
    }

    fn describe(operation: OperationBuilder, _schemas: &mut Schemas) -> OperationBuilder {
        operation.response("200", ResponseBuilder::new().description("Success").build())
    }
}

impl<A: Response> Response for Cookies<A> {
    fn status(&self) -> StatusCode {
        self.response.status()
    }

    fn to_value(&self) -> Result<Value> {
        self.response.to_value()
    }

    fn into_response(self) -> HttpResponse {
        let mut response = self.response.into_response();
        response
            .headers_mut()
            .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        for cookie in &self.cookies {
            // A cookie whose text is not a valid header value can't be set; ours are tokens.
            let _rejected = response.add_cookie(cookie);
        }
        response
    }

    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        let mut operation = A::describe(operation, schemas).build();
        for response in operation.responses.responses.values_mut() {
            if let RefOr::T(response) = response {
                response
                    .headers
                    .insert("Set-Cookie".to_owned(), Header::default().into());
            }
        }
        operation.into()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use actix_web::body::to_bytes;
    use serde_json::json;

    use super::*;

    #[actix_web::test]
    async fn a_body_that_cannot_be_serialized_is_an_error_with_a_body() {
        let sound = json_response(StatusCode::OK, &json!({"a": 1}));
        let broken = json_response(StatusCode::OK, &HashMap::from([((1, 2), 3)]));

        assert!(failure(&sound).is_none());
        let error = failure(&broken).expect("the reason");
        assert!(error.to_string().contains("key must be a string"), "{error}");
        assert_eq!(broken.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let body = to_bytes(broken.into_body()).await.expect("a body");
        assert_eq!(body, r#"{"error":"Internal server error"}"#);
    }
}
