//! Deletes a stage.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::model::{Stage, held_by_deals, remove_stages};
use crate::{Error, acl};

/// Deletes a stage, unless deals are in it. The other stages keep their positions.
#[derive(Debug, Clone, Copy)]
pub struct DeleteStage {
    /// The stage.
    pub id: Uuid,
}

impl Command for DeleteStage {
    const ID: &'static str = "customers.pipeline_stage.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete pipeline stage";
    const FEATURES: &'static [Feature] = &[acl::PIPELINES_MANAGE];
    type Entity = Stage;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let removed = remove_stages(tx, &[self.id]).await;
        removed.map_err(|error| held_by_deals(error).unwrap_or_else(|| Error::InUse.into()))
    }
}
