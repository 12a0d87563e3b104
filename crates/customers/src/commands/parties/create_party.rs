use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, RequestContext, Result};
use uuid::Uuid;

use super::{check_references, company_is_deleted};
use crate::Placement;
use crate::model::{Fields, Party, PartyEntity};

/// Creates a company or a person and returns its id.
#[derive(Debug, Clone)]
pub struct CreateParty<P>(P);

impl<P: Party> CreateParty<P> {
    /// Checks the input.
    ///
    /// # Errors
    /// 400 for invalid fields, or when the organization is not known.
    pub fn new(ctx: &RequestContext, fields: P::Fields) -> Result<Self> {
        let fields = fields.of_new().checked()?;
        let place = Placement::of_new(ctx, fields.organization().flatten())?;
        let mut row = P::blank(ctx.new_id(), place, ctx.now());
        fields.change(&mut row);
        Ok(Self(row))
    }
}

impl<P: Party> Command for CreateParty<P> {
    const ID: &'static str = P::VERBS.create.0;
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = P::VERBS.create.1;
    const FEATURES: &'static [Feature] = P::MANAGE;
    type Entity = PartyEntity<P>;
    type Output = Uuid;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.0.place().tenant,
            id: self.0.id(),
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        let row = &self.0;
        row.place().check(tx).await?;
        check_references(tx, None, row).await?;
        P::write(tx, std::slice::from_ref(row))
            .await
            .map_err(company_is_deleted)?;
        Ok(row.id())
    }
}
