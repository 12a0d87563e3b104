//! Where a new record belongs.

use backoffice_core::db::Tx;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Rejection, RequestContext, Result};
use uuid::Uuid;

use crate::Error;

/// The tenant and organization of a record that is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// Its tenant.
    pub tenant: Uuid,
    /// Its organization.
    pub organization: Uuid,
}

impl Placement {
    /// The organization that is named, else the selected one, else the caller's own.
    ///
    /// # Errors
    /// 400 when there is none of these, or no single tenant.
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

    /// Refuses an organization that the caller does not reach.
    pub(crate) async fn check(&self, tx: &mut Tx<'_>) -> Result<()> {
        if tx.keep_organization(self.organization).await? {
            Ok(())
        } else {
            Err(Error::OrganizationOutOfScope.into())
        }
    }
}
