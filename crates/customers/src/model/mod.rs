//! Deals, pipelines, stages, companies and people as other modules and the command bus see them.

mod company;
mod deal;
mod person;
mod pipeline;
mod stage;

/// Kind of deals.
pub const DEAL: &str = "customers.deal";
/// Kind of pipelines.
pub const PIPELINE: &str = "customers.pipeline";
/// Kind of stages.
pub const STAGE: &str = "customers.pipeline_stage";
/// Kind of companies.
pub const COMPANY: &str = "customers.company";
/// Kind of people.
pub const PERSON: &str = "customers.person";
