//! Sets the quota of a tenant.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, Rejection, Result};
use uuid::Uuid;

use crate::acl;
use crate::model::Quota;

/// Sets the bytes that the files of a tenant may have; the platform's operators do so.
#[derive(Debug, Clone, Copy)]
pub struct SetQuota {
    /// The tenant.
    pub tenant: Uuid,
    /// Bytes; `None` for that of the configuration.
    pub bytes: Option<i64>,
}

impl Command for SetQuota {
    const ID: &'static str = "attachments.quota.set";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Set quota of files";
    const FEATURES: &'static [Feature] = &[acl::PARTITIONS_MANAGE];
    const UNDOABLE: bool = false;
    type Entity = Quota;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.tenant)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        if !tx.context().rights().is_super_admin {
            return Err(Rejection::forbidden("Only super administrators set quotas").into());
        }
        match self.bytes {
            Some(bytes) => Quota::write(tx, &[(self.tenant, bytes)]).await,
            None => Quota::remove(tx, &[self.tenant]).await,
        }
    }
}
