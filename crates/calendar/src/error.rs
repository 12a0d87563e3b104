//! Rejections of the module's own.

use backoffice_core::{Error, Rejection};

/// Creates the 400 for days that do not exist in the zone of the organization.
pub(crate) fn empty_in_zone() -> Error {
    let message = "must include a day that exists in the time zone of the organization";
    Rejection::invalid_field("startDate", message, "invalid_date_range").into()
}

/// Creates the 400 for a resource that must exist and does not.
pub(crate) fn resource_not_found() -> Error {
    Rejection::invalid_field(
        "resourceId",
        "must be a resource of the type and organization",
        "resource_not_found",
    )
    .into()
}
