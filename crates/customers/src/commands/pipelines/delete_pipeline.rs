//! Deletes a pipeline.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::model::{Pipeline, held_by_deals, remove_pipelines};
use crate::{Error, acl};

/// Deletes a pipeline with its stages, unless deals are in it.
#[derive(Debug, Clone, Copy)]
pub struct DeletePipeline {
    /// The pipeline.
    pub id: Uuid,
}

impl Command for DeletePipeline {
    const ID: &'static str = "customers.pipeline.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete pipeline";
    const FEATURES: &'static [Feature] = &[acl::PIPELINES_MANAGE];
    type Entity = Pipeline;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let removed = remove_pipelines(tx, &[self.id]).await;
        removed.map_err(|error| held_by_deals(error).unwrap_or_else(|| Error::InUse.into()))
    }
}
