//! Commands on stages of pipelines.

mod create_stage;
mod delete_stage;
mod reorder_stages;
mod update_stage;

use backoffice_core::registry::Registry;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

pub use create_stage::CreateStage;
pub use delete_stage::DeleteStage;
pub use reorder_stages::{ReorderStages, StageOrder};
pub use update_stage::UpdateStage;

use crate::Error;
use crate::documented::{CustomerColor, CustomerName};
use crate::model::Stage;
use crate::values::{Given, Rules};

pub(crate) fn register(registry: &mut Registry) {
    registry
        .entity::<Stage>()
        .command::<CreateStage>()
        .command::<UpdateStage>()
        .command::<DeleteStage>()
        .command::<ReorderStages>();
}

/// Fields of a stage: absent fields keep their values, null clears.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageFields {
    /// Must be the organization of the pipeline. An update may omit it, but not set it to null.
    #[serde(default, deserialize_with = "backoffice_core::http::present")]
    #[schema(value_type = Option<Uuid>)]
    pub organization_id: Given<Uuid>,
    /// A pipeline that is visible to the caller; required for a new stage, cannot be changed later.
    #[serde(default, deserialize_with = "backoffice_core::http::present")]
    #[schema(value_type = Uuid, required = true)]
    pub pipeline_id: Given<Uuid>,
    /// 1 to 200 characters, unique in the pipeline regardless of case; required for a new stage.
    #[serde(default, deserialize_with = "backoffice_core::http::present")]
    #[schema(value_type = CustomerName, required = true)]
    pub label: Given<String>,
    /// The display color.
    #[serde(default, deserialize_with = "backoffice_core::http::present")]
    #[schema(value_type = Option<CustomerColor>)]
    pub color: Given<String>,
}

impl StageFields {
    fn checked(mut self) -> backoffice_core::Result<Self> {
        let mut rules = Rules::default();
        self.organization_id = rules.not_null("organizationId", self.organization_id).map(Some);
        self.pipeline_id = rules.not_null("pipelineId", self.pipeline_id).map(Some);
        self.label = rules.name("label", self.label, 200).map(Some);
        self.color = rules.color("color", self.color);
        rules.check()?;
        Ok(self)
    }
}

/// Maps a violated unique key to the error for a label that is in use in the pipeline.
fn label_is_taken(error: diesel::result::Error) -> backoffice_core::Error {
    let error = backoffice_core::Error::from(error);
    match error.violated_constraint() {
        Some("customers_pipeline_stages_tenant_id_pipeline_id_label_key") => Error::NameInUse.into(),
        _ => error,
    }
}
