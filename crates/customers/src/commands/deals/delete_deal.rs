//! Deletes a deal.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::acl;
use crate::model::Deal;

/// Deletes a deal and its links; the linked people and companies remain.
#[derive(Debug, Clone, Copy)]
pub struct DeleteDeal {
    /// The deal.
    pub id: Uuid,
}

impl Command for DeleteDeal {
    const ID: &'static str = "customers.deal.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete deal";
    const FEATURES: &'static [Feature] = &[acl::DEALS_MANAGE];
    type Entity = Deal;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        Deal::remove(tx, &[self.id]).await
    }
}
