//! Deletes an assignment.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::acl;
use crate::model::Assignment;

/// Deletes an assignment.
#[derive(Debug, Clone, Copy)]
pub struct DeleteAssignment {
    /// The assignment.
    pub id: Uuid,
}

impl Command for DeleteAssignment {
    const ID: &'static str = "dispatch.assignment.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete assignment";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    type Entity = Assignment;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        Assignment::remove(tx, &[self.id]).await
    }
}
