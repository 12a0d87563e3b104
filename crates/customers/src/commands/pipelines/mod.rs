//! Commands on pipelines.

mod create_pipeline;
mod delete_pipeline;
mod update_pipeline;

use backoffice_core::registry::Registry;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

pub use create_pipeline::CreatePipeline;
pub use delete_pipeline::DeletePipeline;
pub use update_pipeline::UpdatePipeline;

use crate::Error;
use crate::documented::CustomerName;
use crate::model::Pipeline;
use crate::values::{Given, Rules};

pub(crate) fn register(registry: &mut Registry) {
    registry
        .entity::<Pipeline>()
        .command::<CreatePipeline>()
        .command::<UpdatePipeline>()
        .command::<DeletePipeline>();
}

/// Fields of a pipeline: absent fields keep their values.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PipelineFields {
    /// The organization of a new pipeline, by default the selected one or the caller's own. It cannot be changed later.
    #[serde(default, deserialize_with = "backoffice_core::http::present")]
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Given<Uuid>,
    /// 1 to 200 characters, unique in the organization regardless of case; required for a new pipeline.
    #[serde(default, deserialize_with = "backoffice_core::http::present")]
    #[schema(value_type = CustomerName, required = true)]
    pub name: Given<String>,
}

impl PipelineFields {
    fn checked(mut self) -> backoffice_core::Result<Self> {
        let mut rules = Rules::default();
        self.organization_id = rules.not_null("organizationId", self.organization_id).map(Some);
        self.name = rules.name("name", self.name, 200).map(Some);
        rules.check()?;
        Ok(self)
    }
}

/// Maps a violated unique key to the error for a name that is in use in the organization.
fn name_is_taken(error: diesel::result::Error) -> backoffice_core::Error {
    let error = backoffice_core::Error::from(error);
    match error.violated_constraint() {
        Some("customers_pipelines_tenant_id_organization_id_name_key") => Error::NameInUse.into(),
        _ => error,
    }
}
