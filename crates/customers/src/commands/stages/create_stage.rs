//! Appends a stage to a pipeline.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, RequestContext, Result};
use diesel::dsl::max;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, insert_into};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::{StageFields, label_is_taken};
use crate::model::{Stage, StageRow};
use crate::schema::{customers_pipeline_stages as stages, customers_pipelines as pipelines};
use crate::values::Rules;
use crate::{Error, acl, query};

/// Appends a stage to a pipeline and returns its id.
#[derive(Debug, Clone)]
pub struct CreateStage {
    tenant: Uuid,
    id: Uuid,
    pipeline: Uuid,
    fields: StageFields,
}

impl CreateStage {
    /// Checks the fields and finds the tenant of the pipeline.
    ///
    /// # Errors
    /// 400 that names the invalid fields, or when the pipeline is not visible to the caller.
    pub async fn new(ctx: &RequestContext, mut fields: StageFields) -> Result<Self> {
        // Absent values are treated as null, which `checked` rejects.
        fields.pipeline_id.get_or_insert(None);
        fields.label.get_or_insert(None);
        fields.organization_id = Rules::new_place(fields.organization_id);
        let fields = fields.checked()?;
        let pipeline = fields.pipeline_id.flatten().unwrap_or_default();
        let tenant: Option<Uuid> = query::pipelines::in_scope(ctx.scope())
            .filter(pipelines::id.eq(pipeline))
            .select(pipelines::tenant_id)
            .first(&mut *ctx.read().await?)
            .await
            .optional()?;
        Ok(Self {
            tenant: tenant.ok_or_else(unknown_pipeline)?,
            id: ctx.new_id(),
            pipeline,
            fields,
        })
    }

    /// Locks the pipeline, so that commands append and reorder its stages one at a time, and returns its organization.
    async fn lock_pipeline(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        let scope = tx.scope();
        let found: Option<Uuid> = query::pipelines::in_scope(scope)
            .filter(pipelines::tenant_id.eq(self.tenant))
            .filter(pipelines::id.eq(self.pipeline))
            .select(pipelines::organization_id)
            .for_no_key_update()
            .first(tx.conn())
            .await
            .optional()?;
        found.ok_or_else(unknown_pipeline)
    }
}

fn unknown_pipeline() -> backoffice_core::Error {
    Error::UnknownReferences(vec!["pipelineId"]).into()
}

impl Command for CreateStage {
    const ID: &'static str = "customers.pipeline_stage.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create pipeline stage";
    const FEATURES: &'static [Feature] = &[acl::PIPELINES_MANAGE];
    type Entity = Stage;
    type Output = Uuid;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.tenant,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        let organization = self.lock_pipeline(tx).await?;
        Error::keeps_organization(self.fields.organization_id, organization)?;
        let last: Option<i32> = query::stages::of_tenant(self.tenant)
            .filter(stages::pipeline_id.eq(self.pipeline))
            .select(max(stages::position))
            .first(tx.conn())
            .await?;
        let row = StageRow {
            tenant_id: self.tenant,
            id: self.id,
            organization_id: organization,
            pipeline_id: self.pipeline,
            label: self.fields.label.clone().flatten().unwrap_or_default(),
            position: last.unwrap_or(0) + 1,
            color: self.fields.color.clone().flatten(),
            created_at: tx.now(),
            updated_at: tx.now(),
        };
        let inserted = insert_into(stages::table).values(&row).execute(tx.conn()).await;
        inserted.map_err(label_is_taken)?;
        Ok(self.id)
    }
}
