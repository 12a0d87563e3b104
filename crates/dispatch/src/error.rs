//! Rejections of the module's own.

use backoffice_core::Result;

/// Gives a 404 this code.
///
/// # Errors
/// Those of the outcome.
pub(crate) fn missing_as<T>(outcome: Result<T>, code: &'static str) -> Result<T> {
    outcome.map_err(|error| match error {
        backoffice_core::Error::Rejected(rejection) if rejection.status.as_u16() == 404 && rejection.code.is_none() => {
            rejection.code(code).into()
        }
        other => other,
    })
}
