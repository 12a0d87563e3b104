//! Rejections of the module's own.

use backoffice_core::command::Entity;
use backoffice_core::{Error, Rejection, Result, missing_as};

use crate::model::Alert;

/// The code of a 404.
const NOT_FOUND: &str = "alert_not_found";

/// Returns the 404 of an alert that does not exist for the caller.
pub(crate) fn not_found() -> Error {
    Rejection::not_found(Alert::NOT_FOUND).code(NOT_FOUND).into()
}

/// Gives the 404 of the bus its code.
///
/// # Errors
/// Those of the outcome.
pub(crate) fn with_code<T>(outcome: Result<T>) -> Result<T> {
    missing_as(outcome, NOT_FOUND)
}
