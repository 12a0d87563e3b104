//! Owners of records: active users of the tenant who are visible to the caller and whose organizations contain that of the record. A user is active
//! until someone deactivates the user; whether their organization is active does not matter.

use backoffice_auth::{TenantUser, find_tenant_users};
use backoffice_core::Result;
use backoffice_core::command::Tx;
use uuid::Uuid;

use crate::Error;

/// A user who may own records. Finding the user costs a constant number of statements; checking an organization costs none.
#[derive(Debug, Clone)]
pub struct Owner {
    /// Organizations with their descendants; `None` = all organizations of the tenant.
    organizations: Option<Vec<Uuid>>,
}

impl Owner {
    /// Returns the user, if they are active and visible to the caller.
    ///
    /// # Errors
    /// [`Error::UnknownReference`].
    pub async fn find(tx: &mut Tx<'_>, user: Uuid) -> Result<Self> {
        let found = find_tenant_users(tx, &[user]).await?.pop();
        Self::from_user(tx, found.filter(|found| found.is_visible)).await
    }

    /// Returns the user, if they are active. The caller need not see them.
    async fn find_restored(tx: &mut Tx<'_>, user: Uuid) -> Result<Self> {
        let found = find_tenant_users(tx, &[user]).await?.pop();
        Self::from_user(tx, found).await
    }

    async fn from_user(tx: &mut Tx<'_>, found: Option<TenantUser>) -> Result<Self> {
        let Some(found) = found.filter(|found| found.is_active) else {
            return Err(Error::UnknownReference("ownerUserId").into());
        };
        let organizations = match found.organizations {
            Some(roots) => Some(tx.expand_organizations(&roots).await?),
            None => None,
        };
        Ok(Self { organizations })
    }

    /// Checks that the user may own records of this organization.
    ///
    /// # Errors
    /// [`Error::OwnerOutOfScope`].
    pub fn may_own_in(&self, organization: Uuid) -> Result<(), Error> {
        match &self.organizations {
            Some(organizations) if !organizations.contains(&organization) => Err(Error::OwnerOutOfScope),
            _ => Ok(()),
        }
    }
}

/// Rejects a new owner who may not own records of this organization; the owner `before` and `None` are always accepted.
pub(crate) async fn check(
    tx: &mut Tx<'_>,
    before: Option<Uuid>,
    owner: Option<Uuid>,
    organization: Uuid,
) -> Result<()> {
    if let Some(owner) = owner.filter(|owner| before != Some(*owner)) {
        Owner::find(tx, owner).await?.may_own_in(organization)?;
    }
    Ok(())
}

/// Rejects an owner whom an undo or redo brings back, unless they may own records of this organization. The caller need not see them, because the
/// record returns to a state that it had.
pub(crate) async fn check_restored(tx: &mut Tx<'_>, owner: Uuid, organization: Uuid) -> Result<()> {
    Owner::find_restored(tx, owner).await?.may_own_in(organization)?;
    Ok(())
}
