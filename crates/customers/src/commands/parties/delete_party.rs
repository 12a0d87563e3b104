use std::marker::PhantomData;

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::model::{Party, PartyEntity};

/// Deletes a company or a person. Links of deals to it are deleted, and people of a deleted company remain without one.
#[derive(Debug, Clone, Copy)]
pub struct DeleteParty<P> {
    id: Uuid,
    kind: PhantomData<fn() -> P>,
}

impl<P: Party> DeleteParty<P> {
    /// Creates the command for this record.
    #[must_use]
    pub fn new(id: Uuid) -> Self {
        Self { id, kind: PhantomData }
    }
}

impl<P: Party> Command for DeleteParty<P> {
    const ID: &'static str = P::VERBS.delete.0;
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = P::VERBS.delete.1;
    const FEATURES: &'static [Feature] = P::MANAGE;
    type Entity = PartyEntity<P>;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        PartyEntity::<P>::remove(tx, &[self.id]).await
    }
}
