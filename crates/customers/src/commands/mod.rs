//! The commands of this module.

pub mod deals;

mod company;
mod person;
mod pipeline;
mod reorder_stages;
mod stage;

use backoffice_core::registry::Registry;

pub use company::{CompanyFields, CreateCompany, DeleteCompany, UpdateCompany};
pub use person::{CreatePerson, DeletePerson, PersonFields, UpdatePerson};
pub use pipeline::{CreatePipeline, DeletePipeline, PipelineFields, UpdatePipeline};
pub use reorder_stages::{ReorderStages, StageOrder};
pub use stage::{CreateStage, DeleteStage, StageFields, UpdateStage};

use crate::model::{Company, Person, Pipeline, Stage};

pub(crate) fn register(registry: &mut Registry) {
    deals::register(registry);
    registry
        .entity::<Pipeline>()
        .command::<CreatePipeline>()
        .command::<UpdatePipeline>()
        .command::<DeletePipeline>();
    registry
        .entity::<Stage>()
        .command::<CreateStage>()
        .command::<UpdateStage>()
        .command::<DeleteStage>()
        .command::<ReorderStages>();
    registry
        .entity::<Company>()
        .command::<CreateCompany>()
        .command::<UpdateCompany>()
        .command::<DeleteCompany>();
    registry
        .entity::<Person>()
        .command::<CreatePerson>()
        .command::<UpdatePerson>()
        .command::<DeletePerson>();
}
