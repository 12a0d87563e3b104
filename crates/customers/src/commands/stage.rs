//! Creates, updates and deletes stages of pipelines.

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{KeyColumn, Prepared, PreparedIf};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Error, Feature, Patch, Placement, Rejection, RequestContext, Result, Timestamp};
use diesel::sql_types::{Integer, Text, Uuid as SqlUuid};
use diesel::upsert::excluded;
use diesel::{
    ExpressionMethods, OptionalExtension, QueryDsl, QueryableByName, SelectableHelper, insert_into, sql_query,
};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::documented::{CustomerColor, CustomerName};
use crate::error::{Rejections, in_use};
use crate::model::{PIPELINE, STAGE, Stage};
use crate::schema::{customers_pipeline_stages as stages, customers_pipelines as pipelines};
use crate::values::{fixed, keep_organization, only_null};
use crate::{acl, query};

/// Appends a stage to a pipeline.
pub type CreateStage = Create<Stage>;
/// Updates label and color of a stage.
pub type UpdateStage = Update<Stage>;
/// Deletes a stage, unless deals are in it. The other stages keep their positions.
pub type DeleteStage = Delete<Stage>;

/// Fields of a stage: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StageFields {
    /// Must be the organization of the pipeline. An update may omit it, but not set it to null.
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Patch<Uuid>,
    /// A pipeline that is visible to the caller; required for a new stage, cannot be changed later.
    #[schema(value_type = Uuid, required = true)]
    pub pipeline_id: Patch<Uuid>,
    /// 1 to 200 characters, unique in the pipeline regardless of case; required for a new stage.
    #[schema(value_type = CustomerName, required = true)]
    pub label: Patch<String>,
    /// The display color.
    #[schema(value_type = Option<CustomerColor>)]
    pub color: Patch<String>,
}

impl Input for StageFields {
    fn organization(&self) -> Patch<Uuid> {
        only_null(self.organization_id)
    }

    fn require(&self, validator: &mut Validator) {
        validator.require("pipelineId", &self.pipeline_id);
        validator.require("label", &self.label);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Stage>(self, validator);
    }
}

impl Record for Stage {
    type Input = StageFields;
    const CREATE: CommandName = CommandName::new("customers.pipeline_stage.create", "Create pipeline stage");
    const UPDATE: CommandName = CommandName::new("customers.pipeline_stage.update", "Update pipeline stage");
    const DELETE: CommandName = CommandName::new("customers.pipeline_stage.delete", "Delete pipeline stage");
    const MANAGE: &'static [Feature] = &[acl::PIPELINES_MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            pipeline_id: Uuid::nil(),
            label: String::new(),
            position: 0,
            color: None,
            created_at: now,
            updated_at: now,
        }
    }

    fn key(&self) -> (Uuid, Uuid) {
        (self.tenant_id, self.id)
    }

    fn organization(&self) -> Option<Uuid> {
        Some(self.organization_id)
    }

    fn updated_at(&mut self) -> &mut Timestamp {
        &mut self.updated_at
    }

    fn fill(&mut self, input: &StageFields, validator: &mut Validator) {
        validator.value("pipelineId", &input.pipeline_id, &mut self.pipeline_id, rules::any);
        validator.text("label", &input.label, &mut self.label, rules::line(200));
        validator.optional_text("color", &input.color, &mut self.color, rules::color);
    }

    /// Returns the placement of the pipeline. An organization that is not visible to the caller is rejected before the pipeline is looked up.
    async fn placement(ctx: &RequestContext, input: &StageFields) -> Result<Placement> {
        let named = input.organization_id.value();
        if named.is_some() && !ctx.scope().reads_organization(named) {
            return Err(Rejection::organization_out_of_scope().into());
        }
        let pipeline = input.pipeline_id.value().unwrap_or_default();
        let found: Option<(Uuid, Uuid)> = query::pipelines::in_scope(ctx.scope())
            .filter(pipelines::id.eq(pipeline))
            .select((pipelines::tenant_id, pipelines::organization_id))
            .first(&mut *ctx.read().await?)
            .await
            .optional()?;
        let (tenant, organization) = found.ok_or_else(unknown_pipeline)?;
        Ok(Placement { tenant, organization })
    }

    /// Locks the pipeline, so that commands append and reorder its stages one at a time, and appends the stage to it.
    async fn place(&mut self, tx: &mut Tx<'_>, input: &StageFields) -> Result<()> {
        let found: Option<Uuid> = query::pipelines::in_scope(tx.scope())
            .filter(pipelines::tenant_id.eq(self.tenant_id))
            .filter(pipelines::id.eq(self.pipeline_id))
            .select(pipelines::organization_id)
            .for_no_key_update()
            .first(tx.conn())
            .await
            .optional()?;
        self.organization_id = found.ok_or_else(unknown_pipeline)?;
        keep_organization(input.organization_id, self.organization_id)?;
        self.position = next_position(tx, self.tenant_id, self.pipeline_id).await?;
        Ok(())
    }

    async fn check(&mut self, _tx: &mut Tx<'_>, input: &StageFields, before: Option<&Self>) -> Result<bool> {
        let mut rejections = Rejections::default();
        rejections.keep(keep_organization(input.organization_id, self.organization_id))?;
        if before.is_some_and(|before| before.pipeline_id != self.pipeline_id) {
            rejections.keep::<()>(Err(fixed("pipelineId").into()))?;
        }
        rejections.check()?;
        Ok(false)
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = query::stages::of_tenant(tx.tenant()).filter(stages::id.one_of(ids));
        Ok(rows.select(Self::as_select()).load(tx.conn()).await?)
    }

    /// Inserts stages, or replaces their labels and colors: an assignment to a column of a key that others refer to, or to the position, would
    /// wait for deals that enter the stage.
    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(stages::table)
            .values(rows)
            .on_conflict((stages::tenant_id, stages::id))
            .do_update()
            .set((
                stages::label.eq(excluded(stages::label)),
                stages::color.eq(excluded(stages::color)),
                stages::updated_at.eq(excluded(stages::updated_at)),
            ))
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }

    fn rejection(error: Error) -> Error {
        match error.violated_constraint() {
            Some("customers_pipeline_stages_tenant_id_pipeline_id_label_key") => crate::Error::NameInUse.into(),
            _ => in_use(error),
        }
    }
}

/// The position after those of all stages of a pipeline, and of those that exist only in entries of the log: an undo or redo that restores such a stage
/// needs its position. It is one statement, because a stage that is being deleted turns from a row into an entry.
const NEXT_POSITION: &str = "\
select coalesce(max(known.position), 0) + 1 as position
from (
    select s.position from customers_pipeline_stages s where s.tenant_id = $1 and s.pipeline_id = $2
    union all
    select (coalesce(l.snapshot_before, l.snapshot_after) ->> 'position')::integer
    from audit_action_logs l
    where l.tenant_id = $1 and l.parent_resource_kind = $3 and l.parent_resource_id = $4 and l.resource_kind = $5
) known (position)";

#[derive(QueryableByName)]
struct NextPosition {
    #[diesel(sql_type = Integer)]
    position: i32,
}

/// Returns the position of a new stage.
async fn next_position(tx: &mut Tx<'_>, tenant: Uuid, pipeline: Uuid) -> Result<i32> {
    let statement = sql_query(NEXT_POSITION)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(pipeline)
        .bind::<Text, _>(PIPELINE)
        .bind::<Text, _>(pipeline.to_string())
        .bind::<Text, _>(STAGE);
    let next: NextPosition = Prepared(statement).get_result(tx.conn()).await?;
    Ok(next.position)
}

fn unknown_pipeline() -> Error {
    crate::Error::UnknownReference("pipelineId").into()
}
