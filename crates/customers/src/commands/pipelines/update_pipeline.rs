//! Renames a pipeline.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Result, Timestamp};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, update};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::{PipelineFields, name_is_taken};
use crate::model::{Pipeline, PipelineRow};
use crate::schema::customers_pipelines as pipelines;
use crate::{Error, acl, query};

/// Renames a pipeline and returns its `updatedAt`.
#[derive(Debug, Clone)]
pub struct UpdatePipeline {
    id: Uuid,
    fields: PipelineFields,
}

impl UpdatePipeline {
    /// Checks the fields.
    ///
    /// # Errors
    /// 400 that names the invalid fields.
    pub fn new(id: Uuid, fields: PipelineFields) -> Result<Self> {
        Ok(Self {
            id,
            fields: fields.checked()?,
        })
    }
}

impl Command for UpdatePipeline {
    const ID: &'static str = "customers.pipeline.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update pipeline";
    const FEATURES: &'static [Feature] = &[acl::PIPELINES_MANAGE];
    type Entity = Pipeline;
    type Output = Timestamp;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Timestamp> {
        let own = query::pipelines::of_tenant(tx.tenant()).filter(pipelines::id.eq(self.id));
        let present: PipelineRow = own.select(PipelineRow::as_select()).first(tx.conn()).await?;
        Error::keeps_organization(self.fields.organization_id, present.organization_id)?;
        let Some(Some(name)) = self
            .fields
            .name
            .as_ref()
            .filter(|name| **name != Some(present.name.clone()))
        else {
            return Ok(present.updated_at);
        };
        let now = tx.now();
        let updated = update(own)
            .set((pipelines::name.eq(name), pipelines::updated_at.eq(now)))
            .execute(tx.conn())
            .await;
        updated.map_err(name_is_taken)?;
        Ok(now)
    }
}
