//! Creates a deal.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, RequestContext, Result};
use uuid::Uuid;

use super::DealFields;
use super::write::{changed, insert};
use crate::model::{Deal, DealRow};
use crate::values::Rules;
use crate::{Placement, acl};

/// Creates a deal and returns its id.
#[derive(Debug, Clone)]
pub struct CreateDeal {
    place: Placement,
    id: Uuid,
    fields: DealFields,
}

impl CreateDeal {
    /// Checks the fields.
    ///
    /// # Errors
    /// 400 that names the invalid fields, or when the organization of the deal is not known.
    pub fn new(ctx: &RequestContext, mut fields: DealFields) -> Result<Self> {
        // An absent title is treated as null, which `checked` rejects.
        fields.title.get_or_insert(None);
        fields.organization_id = Rules::new_place(fields.organization_id);
        let fields = fields.checked()?;
        Ok(Self {
            place: Placement::of_new(ctx, fields.organization_id.flatten())?,
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
            tenant: self.place.tenant,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        self.place.check(tx).await?;
        let blank = DealRow::blank(self.id, self.place, tx.now());
        let (row, sets) = changed(tx, &self.fields, &blank).await?;
        insert(tx, &row, &sets).await?;
        Ok(self.id)
    }
}
