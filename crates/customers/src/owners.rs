//! Who may own a record: an active user of the tenant whom the caller sees, and whose own organizations hold the record's.

use backoffice_auth::find_members;
use backoffice_core::Result;
use backoffice_core::db::Tx;
use uuid::Uuid;

use crate::Error;

/// A user who may own something. Finding it costs a constant number of statements; what it may own costs none.
#[derive(Debug, Clone)]
pub struct Owner {
    /// Organizations with their descendants; `None` = all of the tenant.
    visible_tenants: Option<Vec<Uuid>>,
}

impl Owner {
    /// The user, unless it does not exist for the caller or may not sign in.
    ///
    /// # Errors
    /// [`Error::UnknownReferences`].
    pub async fn find(tx: &mut Tx<'_>, user: Uuid) -> Result<Self> {
        let field = find_members(tx, &[user]).await?.pop();
        let Some(field) = field.filter(|field| field.is_active && field.is_visible) else {
            return Err(Error::UnknownReferences(vec!["ownerUserId"]).into());
        };
        let visible_tenants = match field.organizations {
            Some(roots) => Some(tx.expand_organizations(&roots).await?),
            None => None,
        };
        Ok(Self { visible_tenants })
    }

    /// Whether it may own records of this organization.
    ///
    /// # Errors
    /// [`Error::OwnerOutOfScope`].
    pub fn may_own_in(&self, organization: Uuid) -> Result<(), Error> {
        match &self.visible_tenants {
            Some(visible_tenants) if !visible_tenants.contains(&organization) => Err(Error::OwnerOutOfScope),
            _ => Ok(()),
        }
    }
}

/// Refuses an owner who may not own a record of this organization; no owner is always right.
pub(crate) async fn check(tx: &mut Tx<'_>, owner: Option<Uuid>, organization: Uuid) -> Result<()> {
    if let Some(owner) = owner {
        Owner::find(tx, owner).await?.may_own_in(organization)?;
    }
    Ok(())
}
