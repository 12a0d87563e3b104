//! Creates, updates and deletes pipelines.

use backoffice_core::command::Tx;
use backoffice_core::crud::{self, CommandName, Create, Delete, Record, Update};
use backoffice_core::db::{KeyColumn, PreparedIf, ReplaceRow};
use backoffice_core::input::{Input, Validator, rules};
use backoffice_core::{Error, Feature, Patch, Placement, RequestContext, Result, Timestamp};
use diesel::{QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::documented::CustomerName;
use crate::error::in_use;
use crate::model::Pipeline;
use crate::schema::customers_pipelines as pipelines;
use crate::values::{keep_organization, only_null};
use crate::{acl, query};

/// Creates a pipeline without stages.
pub type CreatePipeline = Create<Pipeline>;
/// Renames a pipeline.
pub type UpdatePipeline = Update<Pipeline>;
/// Deletes a pipeline with its stages, unless deals are in it.
pub type DeletePipeline = Delete<Pipeline>;

/// Fields of a pipeline: absent fields keep their values.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PipelineFields {
    /// The organization of a new pipeline, by default the selected one or the caller's own. It cannot be changed later.
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Patch<Uuid>,
    /// 1 to 200 characters, unique in the organization regardless of case; required for a new pipeline.
    #[schema(value_type = CustomerName, required = true)]
    pub name: Patch<String>,
}

impl Input for PipelineFields {
    fn organization(&self) -> Patch<Uuid> {
        only_null(self.organization_id)
    }

    fn require(&self, validator: &mut Validator) {
        validator.require("name", &self.name);
    }

    fn validate(&self, validator: &mut Validator) {
        crud::validate::<Pipeline>(self, validator);
    }
}

impl Record for Pipeline {
    type Input = PipelineFields;
    const CREATE: CommandName = CommandName::new("customers.pipeline.create", "Create pipeline");
    const UPDATE: CommandName = CommandName::new("customers.pipeline.update", "Update pipeline");
    const DELETE: CommandName = CommandName::new("customers.pipeline.delete", "Delete pipeline");
    const MANAGE: &'static [Feature] = &[acl::PIPELINES_MANAGE];

    fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            name: String::new(),
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

    fn fill(&mut self, input: &PipelineFields, validator: &mut Validator) {
        validator.text("name", &input.name, &mut self.name, rules::line(200));
    }

    async fn placement(ctx: &RequestContext, input: &PipelineFields) -> Result<Placement> {
        Placement::for_new(ctx, input.organization_id.value())
    }

    async fn place(&mut self, tx: &mut Tx<'_>, _input: &PipelineFields) -> Result<()> {
        Placement::lock(tx, self.organization_id).await
    }

    async fn check(&mut self, _tx: &mut Tx<'_>, input: &PipelineFields, _before: Option<&Self>) -> Result<bool> {
        keep_organization(input.organization_id, self.organization_id)?;
        Ok(false)
    }

    async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = query::pipelines::of_tenant(tx.tenant()).filter(pipelines::id.one_of(ids));
        Ok(rows.select(Self::as_select()).load(tx.conn()).await?)
    }

    async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<Vec<Self>> {
        let statement = insert_into(pipelines::table)
            .values(rows)
            .on_conflict((pipelines::tenant_id, pipelines::id))
            .do_update()
            .set(ReplaceRow::<pipelines::table>::default())
            .returning(Self::as_returning());
        Ok(PreparedIf(statement, rows.len() == 1).get_results(tx.conn()).await?)
    }

    fn rejection(error: Error) -> Error {
        match error.violated_constraint() {
            Some("customers_pipelines_tenant_id_organization_id_name_key") => crate::Error::NameInUse.into(),
            _ => in_use(error),
        }
    }
}
