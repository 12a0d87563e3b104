//! Updates a deal.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Feature, Result, Timestamp};
use uuid::Uuid;

use super::write::{changed, replace};
use super::{DealFields, locked_one};
use crate::acl;
use crate::model::Deal;

/// Updates a deal and returns its `updatedAt`.
#[derive(Debug, Clone)]
pub struct UpdateDeal {
    id: Uuid,
    fields: DealFields,
}

impl UpdateDeal {
    /// Validates the fields, as far as possible without the stored deal.
    ///
    /// # Errors
    /// 400 that names the invalid fields.
    pub fn new(id: Uuid, fields: DealFields) -> Result<Self> {
        let mut validator = Validator::default();
        fields.validate_update(&mut validator);
        validator.check()?;
        Ok(Self { id, fields })
    }
}

impl Command for UpdateDeal {
    const ID: &'static str = "customers.deal.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update deal";
    const FEATURES: &'static [Feature] = &[acl::DEALS_MANAGE];
    type Entity = Deal;
    type Output = Timestamp;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Timestamp> {
        let before = locked_one(tx, self.id).await?;
        let (mut row, sets) = changed(tx, &self.fields, &before).await?;
        if row == before && sets.are_unchanged() {
            return Ok(before.updated_at);
        }
        row.updated_at = tx.now();
        replace(tx, &row, &sets).await?;
        Ok(row.updated_at)
    }
}
