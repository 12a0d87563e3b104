//! Tenant and organization of a new record.

use backoffice_core::command::Tx;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Rejection, RequestContext, Result};
use uuid::Uuid;

use crate::Error;

/// Tenant and organization of a new record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// The tenant.
    pub tenant: Uuid,
    /// The organization.
    pub organization: Uuid,
}

impl Placement {
    /// Returns the named organization, else the selected one, else the caller's own.
    ///
    /// # Errors
    /// 400 when none of these exists, or when the request has no single tenant.
    pub fn of_new(ctx: &RequestContext, named: Option<Uuid>) -> Result<Self> {
        let tenant = ctx.tenant()?;
        if tenant == PLATFORM_TENANT {
            return Err(Rejection::bad_request("Tenant context required")
                .code("tenant_required")
                .into());
        }
        match named.or(ctx.scope().write_organization) {
            Some(organization) => Ok(Self { tenant, organization }),
            None => Err(Error::OrganizationRequired.into()),
        }
    }

    /// Rejects an organization outside of the caller's scope.
    pub(crate) async fn check(&self, tx: &mut Tx<'_>) -> Result<()> {
        if tx.keep_organization(self.organization).await? {
            Ok(())
        } else {
            Err(Error::OrganizationOutOfScope.into())
        }
    }
}
