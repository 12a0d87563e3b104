//! The entities and rows of deals, pipelines, stages, companies and people.

mod amount;
mod cleared;
mod company;
mod day;
mod deal;
mod deal_invariants;
pub(crate) mod deal_sets;
mod party;
mod person;
mod pipeline;
mod restored_owners;
mod stage;
mod status;

pub use amount::Amount;
pub use cleared::ClearedReference;
pub use company::Company;
pub use day::Day;
pub use deal::Deal;
pub use deal_sets::DealSet;
pub use person::Person;
pub use pipeline::Pipeline;
pub use stage::Stage;
pub use status::DealStatus;

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
