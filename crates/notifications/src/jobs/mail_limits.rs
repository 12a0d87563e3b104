use backoffice_core::jobs::Work;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Error, Result};

/// Limits the mails to an address of a tenant.
const BY_RECIPIENT: RateLimit = RateLimit::new("notifications.mail.recipient", 20, 3600);
/// Limits the mails to all addresses of a tenant.
const BY_TENANT: RateLimit = RateLimit::new("notifications.mail.tenant", 1000, 3600);

/// The limits of mails.
pub(crate) const MAIL_LIMITS: &[RateLimit] = &[BY_RECIPIENT, BY_TENANT];

/// Counts a mail to a normalized address of the job's tenant. Returns false if it is over a limit.
pub(super) async fn allow(work: &Work<'_>, address: &str) -> Result<bool> {
    if work.attempt() > 1 {
        // The first attempt counted it. Attempts that send nothing must not use up the limits.
        return Ok(true);
    }
    let (call, tenant) = (work.call(), work.tenant().to_string());
    let recipient = format!("{tenant} {address}");
    for (limit, subject) in [(BY_RECIPIENT, &recipient), (BY_TENANT, &tenant)] {
        match call.platform().rate_limits().count(call, limit, subject).await {
            Ok(()) => {}
            Err(Error::Rejected(_)) => {
                tracing::warn!(tenant.id = %tenant, limit.name = limit.name, "notification mail over its limit dropped");
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
