//! Updates a stage.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, update};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::{StageFields, label_is_taken};
use crate::model::{Stage, StageRow};
use crate::schema::customers_pipeline_stages as stages;
use crate::{Error, acl, query};

/// Updates label and color of a stage and returns its `updatedAt`.
#[derive(Debug, Clone)]
pub struct UpdateStage {
    id: Uuid,
    fields: StageFields,
}

impl UpdateStage {
    /// Checks the fields.
    ///
    /// # Errors
    /// 400 that names the invalid fields.
    pub fn new(id: Uuid, fields: StageFields) -> Result<Self> {
        Ok(Self {
            id,
            fields: fields.checked()?,
        })
    }
}

impl Command for UpdateStage {
    const ID: &'static str = "customers.pipeline_stage.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update pipeline stage";
    const FEATURES: &'static [Feature] = &[acl::PIPELINES_MANAGE];
    type Entity = Stage;
    type Output = Timestamp;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Timestamp> {
        let own = query::stages::of_tenant(tx.tenant()).filter(stages::id.eq(self.id));
        let present: StageRow = own.select(StageRow::as_select()).first(tx.conn()).await?;
        Error::keeps_organization(self.fields.organization_id, present.organization_id)?;
        if self
            .fields
            .pipeline_id
            .flatten()
            .is_some_and(|id| id != present.pipeline_id)
        {
            return Err(Error::Invalid {
                path: "pipelineId",
                rule: "does not change",
            }
            .into());
        }
        let mut row = present.clone();
        if let Some(Some(label)) = &self.fields.label {
            row.label.clone_from(label);
        }
        if let Some(color) = &self.fields.color {
            row.color.clone_from(color);
        }
        if row == present {
            return Ok(present.updated_at);
        }
        let now = tx.now();
        let updated = update(own)
            .set((
                stages::label.eq(row.label),
                stages::color.eq(row.color),
                stages::updated_at.eq(now),
            ))
            .execute(tx.conn())
            .await;
        updated.map_err(label_is_taken)?;
        Ok(now)
    }
}
