//! Creates a deal.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Feature, Placement, RequestContext, Result};
use uuid::Uuid;

use super::DealFields;
use super::write::{changed, insert};
use crate::acl;
use crate::model::Deal;

/// Creates a deal and returns its id.
#[derive(Debug, Clone)]
pub struct CreateDeal {
    placement: Placement,
    id: Uuid,
    fields: DealFields,
}

impl CreateDeal {
    /// Validates the fields.
    ///
    /// # Errors
    /// 400 that names the invalid fields, or when the organization of the deal is not known; 403 when it is outside of the caller's scope.
    pub fn new(ctx: &RequestContext, fields: DealFields) -> Result<Self> {
        let mut validator = Validator::default();
        fields.validate_new(&mut validator);
        validator.check()?;
        let placement = Placement::for_new(ctx, fields.organization_id.value())?;
        Ok(Self {
            placement,
            id: ctx.new_id(),
            fields,
        })
    }
}

impl Command for CreateDeal {
    const ID: &'static str = "customers.deal.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create deal";
    const FEATURES: &'static [Feature] = &[acl::DEALS_MANAGE];
    type Entity = Deal;
    type Output = Uuid;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.placement.tenant,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        Placement::lock(tx, self.placement.organization).await?;
        let blank = Deal::blank(self.placement, self.id, tx.now());
        let (row, sets) = changed(tx, &self.fields, &blank).await?;
        insert(tx, &row, &sets).await?;
        Ok(self.id)
    }
}
