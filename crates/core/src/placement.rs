//! Where a new record belongs.

use uuid::Uuid;

use crate::command::Tx;
use crate::context::RequestContext;
use crate::error::{Rejection, Result};
use crate::ids::PLATFORM_TENANT;

/// Tenant and organization of a new record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// The tenant.
    pub tenant: Uuid,
    /// The organization.
    pub organization: Uuid,
}

impl Placement {
    /// The placement of a row that is not stored.
    pub const UNKNOWN: Self = Self {
        tenant: Uuid::nil(),
        organization: Uuid::nil(),
    };

    /// Returns the named organization, or else the one in which the request writes: the selected one, or the caller's own (section 4.2 of the
    /// accounts specification).
    ///
    /// # Errors
    /// 400 when there is none of these, or when the request has no single tenant; 403 for a named organization that the caller may not see.
    pub fn for_new(ctx: &RequestContext, named: Option<Uuid>) -> Result<Self> {
        let tenant = ctx.tenant()?;
        if tenant == PLATFORM_TENANT {
            return Err(Rejection::tenant_required().into());
        }
        if named.is_some() && !ctx.scope().reads_organization(named) {
            return Err(Rejection::organization_out_of_scope().into());
        }
        match named.or(ctx.scope().write_organization) {
            Some(organization) => Ok(Self { tenant, organization }),
            None => Err(Rejection::organization_required().into()),
        }
    }

    /// Locks an organization in which a new record is created, so that it exists until the end of the transaction; a concurrent deletion waits, and then finds the new record.
    ///
    /// # Errors
    /// 403 for an organization that does not exist in the transaction's tenant or is outside of the caller's scope.
    pub async fn lock(tx: &mut Tx<'_>, organization: Uuid) -> Result<()> {
        if tx.keep_organization(organization).await? {
            Ok(())
        } else {
            Err(Rejection::organization_out_of_scope().into())
        }
    }
}

impl Rejection {
    /// Creates the 400 for a request that needs one tenant.
    #[must_use]
    pub fn tenant_required() -> Self {
        Self::bad_request("Tenant context required").code("tenant_required")
    }

    /// Creates the 400 for a new record without an organization.
    #[must_use]
    pub fn organization_required() -> Self {
        Self::bad_request("Organization required").code("organization_required")
    }

    /// Creates the 403 for an organization that the caller may not write.
    #[must_use]
    pub fn organization_out_of_scope() -> Self {
        Self::forbidden("Organization out of scope")
    }
}
