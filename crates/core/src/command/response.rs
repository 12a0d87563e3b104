//! The response to a command, as the bus sees it.

use actix_web::http::StatusCode;
use serde_json::Value;

use crate::error::Result;

/// A response that the bus can store for an `Idempotency-Key`.
pub trait CommandResponse: Send {
    /// Returns the status.
    fn status(&self) -> StatusCode;

    /// Returns the body.
    ///
    /// # Errors
    /// When it can't be serialized to JSON.
    fn to_value(&self) -> Result<Value>;
}
