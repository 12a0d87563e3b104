//! Errors, and the three shapes of error bodies in the contract.

mod database;
mod violations;

use std::borrow::Cow;
use std::fmt;

use actix_web::http::StatusCode;
use diesel::result::{DatabaseErrorKind, Error as DieselError};
use serde_json::{Map, Value, json};

pub(crate) use violations::MOST_DETAILS;
pub use violations::Violations;

/// The result of a request and of each of its steps.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error body of an endpoint (section 7 of the contract).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorShape {
    /// `{"error": text}`
    #[default]
    Error,
    /// `{"ok": false, "error": text}`
    OkFalse,
    /// `{"code": code, "error": text}`
    Code,
}

/// One violated rule of an input.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Detail {
    /// Path of the field in the wire format: `variants[0].sku`; empty for the input as a whole.
    pub path: String,
    /// The expected value, in English.
    pub message: String,
    /// The machine-readable code: `required`, `invalid_type`, `invalid_value`, `too_short`, `too_long`, `out_of_range`, `unknown_reference`,
    /// `not_unique`, `immutable`, or a code of the endpoint's specification.
    pub code: Cow<'static, str>,
}

impl Detail {
    /// Creates a detail.
    pub fn new(path: impl Into<String>, message: impl Into<String>, code: impl Into<Cow<'static, str>>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
            code: code.into(),
        }
    }
}

/// The codes of violated rules that every endpoint has.
const GENERAL_CODES: &[&str] = &[
    "required",
    "invalid_type",
    "invalid_value",
    "too_short",
    "too_long",
    "out_of_range",
    "unknown_reference",
    "not_unique",
    "immutable",
];

/// A rejected request: status, text, and fields that a client can act on.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejection {
    /// The status, 400 to 599.
    pub status: StatusCode,
    /// English text.
    pub message: Cow<'static, str>,
    /// Machine-readable code.
    pub code: Option<Cow<'static, str>>,
    /// Violated rules of the input.
    pub details: Vec<Detail>,
    /// Further fields of the body.
    pub fields: Map<String, Value>,
    /// Whether an interceptor rejects, rather than the command itself.
    pub by_interceptor: bool,
    /// Body that replaces all other fields (an interceptor's).
    pub body: Option<Map<String, Value>>,
    /// Seconds after which the client may retry.
    pub retry_after: Option<u64>,
    /// Headers of the exceeded rate limit.
    pub rate_limit: Option<(String, String)>,
    /// Value of `Content-Range`: the length of a file that has no byte of the requested range.
    pub content_range: Option<String>,
    /// Whether the presented credential is invalid; the response then clears the cookies.
    pub clears_cookies: bool,
}

impl Rejection {
    /// Creates a rejection with a status and a text.
    pub fn new(status: StatusCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status,
            message: message.into(),
            code: None,
            details: Vec::new(),
            fields: Map::new(),
            by_interceptor: false,
            body: None,
            retry_after: None,
            rate_limit: None,
            content_range: None,
            clears_cookies: false,
        }
    }

    /// Creates a 400 with a text.
    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// Creates a 400 `Invalid input` with details.
    #[must_use]
    pub fn invalid(details: Vec<Detail>) -> Self {
        Self {
            details,
            ..Self::bad_request("Invalid input")
        }
    }

    /// Creates a 401 `Unauthorized`.
    #[must_use]
    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized")
    }

    /// Creates a 403 with a text.
    pub fn forbidden(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    /// Creates a 403 `Forbidden` that names the missing features.
    #[must_use]
    pub fn missing_features(features: &[&str]) -> Self {
        Self::forbidden("Forbidden").with("requiredFeatures", json!(features))
    }

    /// Creates a 404 with a text.
    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// Creates a 409 with a text.
    pub fn conflict(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    /// Creates the 400 of an undo or redo that conflicts with the present data in these fields or kinds.
    #[must_use]
    pub fn undo_conflict<T: serde::Serialize>(fields: &[T]) -> Self {
        Self::bad_request("The record has changed since this action")
            .code("undo_conflict")
            .with("fields", json!(fields))
    }

    /// Creates the 403 of an undo or redo in an organization outside of the caller's scope.
    #[must_use]
    pub fn organization_scope_violation() -> Self {
        Self::forbidden("Organization scope violation")
    }

    /// Creates the 503 of the conventions.
    #[must_use]
    pub fn unavailable() -> Self {
        Self {
            retry_after: Some(1),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "Service temporarily unavailable")
        }
    }

    /// Sets the machine-readable code.
    #[must_use]
    pub fn code(mut self, code: &'static str) -> Self {
        self.code = Some(Cow::Borrowed(code));
        self
    }

    /// Adds a field to the body.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.fields.insert(name.to_owned(), value);
        self
    }

    /// Adds a violated rule.
    #[must_use]
    pub fn detail(mut self, detail: Detail) -> Self {
        self.details.push(detail);
        self
    }

    /// Returns the body in the endpoint's shape.
    #[must_use]
    pub fn to_body(&self, shape: ErrorShape, request_id: &str) -> Value {
        let mut body = match &self.body {
            Some(body) => body.clone(),
            None => self.own_body(shape),
        };
        // A body given by an interceptor is sent unchanged.
        if self.status.is_server_error() && self.body.is_none() {
            body.insert("requestId".to_owned(), json!(request_id));
        }
        Value::Object(body)
    }

    /// Returns whether it reports violated rules of an input, and nothing else.
    fn is_validation(&self) -> bool {
        self.status == StatusCode::BAD_REQUEST
            && !self.details.is_empty()
            && self.code.is_none()
            && self.fields.is_empty()
            && self.body.is_none()
    }

    /// Returns the code, or else the default one of the status, for bodies that always have a `code`.
    pub(crate) fn code_or_default(&self) -> &str {
        self.code.as_deref().unwrap_or_else(|| default_code(self.status))
    }

    /// Sets the code of a 400 that has none: the first code among its details that only the endpoint's specification defines, or else `part`, the
    /// code for the invalid part of the request. For bodies in the shape [`ErrorShape::Code`].
    #[must_use]
    pub(crate) fn with_code_of_input(mut self, part: &'static str) -> Self {
        if self.status == StatusCode::BAD_REQUEST && self.code.is_none() {
            let mut codes = self.details.iter().map(|detail| &detail.code);
            let own = codes.find(|code| !GENERAL_CODES.contains(&code.as_ref()));
            self.code = Some(own.cloned().unwrap_or(Cow::Borrowed(part)));
        }
        self
    }

    fn own_body(&self, shape: ErrorShape) -> Map<String, Value> {
        let mut body = Map::new();
        if shape == ErrorShape::OkFalse {
            body.insert("ok".to_owned(), json!(false));
        }
        body.insert("error".to_owned(), json!(self.message));
        match (&self.code, shape) {
            (Some(code), _) => {
                body.insert("code".to_owned(), json!(code));
            }
            (None, ErrorShape::Code) => {
                body.insert("code".to_owned(), json!(default_code(self.status)));
            }
            (None, _) => {}
        }
        if !self.details.is_empty() {
            body.insert("details".to_owned(), json!(self.details));
        }
        body.extend(self.fields.clone());
        body
    }
}

fn default_code(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => "invalid_input",
        401 => "unauthorized",
        403 => "forbidden",
        404 => "not_found",
        408 => "request_timeout",
        409 => "conflict",
        422 => "blocked",
        429 => "rate_limited",
        503 => "unavailable",
        _ => "internal_error",
    }
}

/// A response that was stored with an `Idempotency-Key` and is returned again.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredResponse {
    /// The status.
    pub status: u16,
    /// The `X-Operation` header, if the command was undoable.
    pub operation: Option<String>,
    /// The further headers that its command has set.
    pub headers: Vec<(String, String)>,
    /// The body, with one-time secrets nulled.
    pub body: Value,
}

/// The reason why a request ends without the response of its handler.
#[derive(Debug)]
pub enum Error {
    /// A rejection that the client can act on.
    Rejected(Box<Rejection>),
    /// The stored response of an earlier request with the same `Idempotency-Key`.
    Replayed(Box<StoredResponse>),
    /// The database can't be reached, accepts no writes or has no free disk or memory, a statement was cancelled, or a lock was not granted in time: 503.
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
    /// The transaction collided with another one and may be repeated: 503.
    Collision(Box<dyn std::error::Error + Send + Sync>),
    /// Any other error: 500 with a fixed text; the cause is logged once.
    Internal(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Creates an internal error with a text for the log.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::Internal(message.into().into())
    }

    /// Returns the rejection that a client sees.
    #[must_use]
    pub fn to_rejection(&self) -> Rejection {
        match self {
            Self::Rejected(rejection) => (**rejection).clone(),
            Self::Unavailable(_) | Self::Collision(_) => Rejection::unavailable(),
            Self::Replayed(_) | Self::Internal(_) => {
                Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error")
            }
        }
    }

    /// Returns whether the database could not be reached at all, so that no statement can be the cause. A statement that timed out or lost its
    /// connection does not count.
    pub(crate) fn is_outage(&self) -> bool {
        matches!(self, Self::Unavailable(cause) if !cause.is::<DieselError>())
    }

    /// Returns whether a write violated a unique or foreign key.
    #[must_use]
    pub fn violates_key(&self) -> bool {
        use DatabaseErrorKind::{ForeignKeyViolation, RestrictViolation, UniqueViolation};
        let Self::Internal(cause) = self else { return false };
        matches!(
            cause.downcast_ref(),
            Some(DieselError::DatabaseError(
                UniqueViolation | ForeignKeyViolation | RestrictViolation,
                _
            ))
        )
    }

    /// Returns the name of the constraint that a write violated, if any.
    #[must_use]
    pub fn violated_constraint(&self) -> Option<&str> {
        let Self::Internal(cause) = self else { return None };
        match cause.downcast_ref::<DieselError>()? {
            DieselError::DatabaseError(_, information) => information.constraint_name(),
            _ => None,
        }
    }

    /// Returns the table whose constraint a write violated, if any. A foreign key belongs to the table that refers to another one.
    #[must_use]
    pub(crate) fn violated_table(&self) -> Option<&str> {
        let Self::Internal(cause) = self else { return None };
        match cause.downcast_ref::<DieselError>()? {
            DieselError::DatabaseError(_, information) => information.table_name(),
            _ => None,
        }
    }
}

/// Gives the 404 of an outcome this code, unless it has a code.
///
/// # Errors
/// Those of the outcome.
pub fn missing_as<T>(outcome: Result<T>, code: &'static str) -> Result<T> {
    outcome.map_err(|error| match error {
        Error::Rejected(rejection) if rejection.status == StatusCode::NOT_FOUND && rejection.code.is_none() => {
            rejection.code(code).into()
        }
        other => other,
    })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejection) => write!(f, "{}: {}", rejection.status, rejection.message),
            Self::Replayed(_) => f.write_str("response of an earlier request"),
            Self::Unavailable(cause) => write!(f, "unavailable: {cause}"),
            Self::Collision(cause) => write!(f, "collision: {cause}"),
            Self::Internal(cause) => write!(f, "internal: {cause}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Rejection> for Error {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(Box::new(rejection))
    }
}

/// Creates a 400 `Invalid input` with this detail.
impl From<Detail> for Error {
    fn from(detail: Detail) -> Self {
        Rejection::invalid(vec![detail]).into()
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Internal(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shape_says_the_same_in_its_own_form() {
        let rejection = Rejection::not_found("Role not found");

        assert_eq!(
            rejection.to_body(ErrorShape::Error, "r"),
            json!({"error": "Role not found"})
        );
        assert_eq!(
            rejection.to_body(ErrorShape::OkFalse, "r"),
            json!({"ok": false, "error": "Role not found"})
        );
        assert_eq!(
            rejection.to_body(ErrorShape::Code, "r"),
            json!({"code": "not_found", "error": "Role not found"})
        );
    }

    #[test]
    fn an_invalid_input_has_the_code_of_its_first_rule_of_the_endpoint() {
        let code = |codes: &[&'static str]| {
            let details = codes.iter().map(|code| Detail::new("name", "is wrong", *code));
            let rejection = Rejection::invalid(details.collect()).with_code_of_input("invalid_body");
            rejection.code.map(Cow::into_owned)
        };

        assert_eq!(code(&[]).as_deref(), Some("invalid_body"));
        assert_eq!(code(&["required", "too_long"]).as_deref(), Some("invalid_body"));
        assert_eq!(
            code(&["required", "invalid_name", "invalid_date"]).as_deref(),
            Some("invalid_name")
        );
        let conflict = Rejection::conflict("In use").with_code_of_input("invalid_body");
        assert_eq!(conflict.code, None);
    }

    #[test]
    fn only_a_404_without_a_code_gets_one() {
        let code = |rejection: Rejection| {
            let error = missing_as::<()>(Err(rejection.into()), "role_not_found").unwrap_err();
            error.to_rejection().code.map(Cow::into_owned)
        };

        assert_eq!(
            code(Rejection::not_found("Role not found")).as_deref(),
            Some("role_not_found")
        );
        assert_eq!(code(Rejection::not_found("Gone").code("gone")).as_deref(), Some("gone"));
        assert_eq!(code(Rejection::conflict("In use")), None);
    }

    #[test]
    fn a_server_error_carries_the_request_id_and_hides_its_cause() {
        let body = Error::internal("password=hunter2")
            .to_rejection()
            .to_body(ErrorShape::Error, "r-1");

        assert_eq!(body, json!({"error": "Internal server error", "requestId": "r-1"}));
    }
}
