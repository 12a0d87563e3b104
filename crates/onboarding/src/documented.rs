//! Schemas of values for the API document.

use backoffice_core::input::schema;

use crate::model::{COMPLETED, PENDING, PROCESSING, STATUSES};

/// Status of the response to a link that is unknown, or that does not work any more.
pub(crate) const INVALID: &str = "invalid";
/// Status of the response to a wrong password.
pub(crate) const WRONG_PASSWORD: &str = "wrong_password";

backoffice_core::text_schemas! {
    /// Status of a request.
    OnboardingRequestStatus: schema::words(STATUSES);
    /// Status of a request that was submitted just now.
    OnboardingSubmittedStatus: schema::words([PENDING]);
    /// Status of a verified request.
    OnboardingVerifiedStatus: schema::words([PROCESSING, COMPLETED]);
    /// Why a link does not verify its request.
    OnboardingRejectedStatus: schema::words([INVALID, WRONG_PASSWORD]);
}
