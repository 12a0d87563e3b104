//! The limits of mails to one address, which anybody can enter. A mail over a limit is dropped silently.

use actix_web::http::StatusCode;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::text::hex;
use backoffice_core::{Call, Error, Result};

/// Mails to one address in a short time.
pub(crate) const MAIL_BY_ADDRESS: RateLimit = RateLimit::new("onboarding.mail.address", 1, 60);
/// Mails to one address in a day.
pub(crate) const MAIL_BY_ADDRESS_AND_DAY: RateLimit = RateLimit::new("onboarding.mail_day.address", 3, 86_400);

/// Returns whether another mail may be sent to the address with this fingerprint, and counts it.
pub(crate) async fn admit(call: &Call, email_hash: &[u8]) -> Result<bool> {
    let subject = hex(email_hash);
    for limit in [MAIL_BY_ADDRESS, MAIL_BY_ADDRESS_AND_DAY] {
        match call.platform().rate_limits().count(call, limit, &subject).await {
            Ok(()) => {}
            Err(Error::Rejected(rejection)) if rejection.status == StatusCode::TOO_MANY_REQUESTS => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
