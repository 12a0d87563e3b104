use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Rejection, Result, Timestamp};
use uuid::Uuid;

use super::{check_references, company_is_deleted};
use crate::Error;
use crate::model::{Fields, Party, PartyEntity};

/// Updates a company or a person and returns its `updatedAt`.
#[derive(Debug, Clone)]
pub struct UpdateParty<P: Party> {
    id: Uuid,
    fields: P::Fields,
}

impl<P: Party> UpdateParty<P> {
    /// Checks the input.
    ///
    /// # Errors
    /// 400 for invalid fields.
    pub fn new(id: Uuid, fields: P::Fields) -> Result<Self> {
        let fields = fields.checked()?;
        Ok(Self { id, fields })
    }
}

impl<P: Party> Command for UpdateParty<P> {
    const ID: &'static str = P::VERBS.update.0;
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = P::VERBS.update.1;
    const FEATURES: &'static [Feature] = P::MANAGE;
    type Entity = PartyEntity<P>;
    type Output = Timestamp;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Timestamp> {
        let present = P::read(tx, &[self.id]).await?.pop();
        let present = present.ok_or_else(|| Rejection::not_found(P::NOT_FOUND))?;
        let own = Some(present.place().organization);
        if self.fields.organization().is_some_and(|named| named != own) {
            return Err(Error::Invalid {
                path: "organizationId",
                rule: "does not change",
            }
            .into());
        }
        let mut requested = present.clone();
        self.fields.change(&mut requested);
        if requested == present {
            return Ok(present.updated_at());
        }
        check_references(tx, Some(&present), &requested).await?;
        P::write(tx, &[requested]).await.map_err(company_is_deleted)?;
        Ok(tx.now())
    }
}
