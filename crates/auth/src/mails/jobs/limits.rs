//! Limits of notices by mail. A caller with the right to change other users can repeat a change any number of times, and each change sends a notice.

use backoffice_core::Result;
use backoffice_core::jobs::Work;
use backoffice_core::rate_limit::RateLimit;

use crate::email;

/// Limits the notices of a password that another user set.
pub(crate) const PASSWORD_NOTICES: RateLimit = RateLimit::new("auth.password_notice.recipient", 10, 3600);
/// Limits the notices of a replaced address.
pub(crate) const ADDRESS_NOTICES: RateLimit = RateLimit::new("auth.address_notice.recipient", 10, 3600);

/// Counts a notice of one kind to an address of the job's tenant. Returns false if it is over the limit. No other tenant and no other kind of notice
/// uses up the limit, so that what is dropped only repeats what the recipient was notified of within the hour.
pub(super) async fn allow(work: &Work<'_>, limit: RateLimit, address: &str) -> Result<bool> {
    let limits = work.call().platform().rate_limits();
    limits.allows_effect(work, limit, &email::normalized(address)).await
}
