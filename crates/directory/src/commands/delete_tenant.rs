//! Deletes a tenant.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, RequestContext, Result};
use uuid::Uuid;

use crate::model::Tenant;
use crate::{Error, acl};

/// Deletes a tenant: its users can no longer sign in. Its rows stay.
#[derive(Debug, Clone, Copy)]
pub struct DeleteTenant {
    id: Uuid,
}

impl DeleteTenant {
    /// Creates the command.
    ///
    /// # Errors
    /// 403 for callers who are not super administrators.
    pub fn new(ctx: &RequestContext, id: Uuid) -> Result<Self> {
        if ctx.rights().is_super_admin {
            Ok(Self { id })
        } else {
            Err(Error::SuperAdministratorsOnly.into())
        }
    }
}

impl Command for DeleteTenant {
    const ID: &'static str = "directory.tenant.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete tenant";
    const FEATURES: &'static [Feature] = &[acl::TENANTS_MANAGE];
    const UNDOABLE: bool = false;
    type Entity = Tenant;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        if tx.context().identity().tenant == self.id {
            return Err(Error::OwnTenant { deleting: true }.into());
        }
        Tenant::remove(tx, &[self.id]).await
    }
}
