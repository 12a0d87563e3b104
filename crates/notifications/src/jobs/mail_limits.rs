use backoffice_core::Result;
use backoffice_core::jobs::Work;
use backoffice_core::rate_limit::RateLimit;

/// Limits the mails to an address of a tenant.
const BY_RECIPIENT: RateLimit = RateLimit::new("notifications.mail.recipient", 20, 3600);
/// Limits the mails to all addresses of a tenant.
const BY_TENANT: RateLimit = RateLimit::new("notifications.mail.tenant", 1000, 3600);

/// The limits of mails.
pub(crate) const MAIL_LIMITS: &[RateLimit] = &[BY_RECIPIENT, BY_TENANT];

/// Counts a mail to a normalized address of the job's tenant. Returns false if it is over a limit.
pub(super) async fn allow(work: &Work<'_>, address: &str) -> Result<bool> {
    let limits = work.call().platform().rate_limits();
    Ok(limits.allows_effect(work, BY_RECIPIENT, address).await? && limits.allows_effect(work, BY_TENANT, "").await?)
}
