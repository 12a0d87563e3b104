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
mod stage;
mod status;

use backoffice_core::command::LockedRow;
use uuid::Uuid;

pub use amount::Amount;
pub use cleared::ClearedReference;
pub use company::{Company, CompanyRow};
pub use day::Day;
pub use deal::{Deal, DealRow};
pub use deal_sets::DealSet;
pub use party::{Fields, Party, PartyEntity, Verbs};
pub use person::{Person, PersonRow};
pub use pipeline::{Pipeline, PipelineRow};
pub(crate) use pipeline::{held_by_deals, remove_rows as remove_pipelines};
pub(crate) use stage::remove_rows as remove_stages;
pub use stage::{Stage, StageRow};
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

/// Converts the result of a locking statement: ids and tenants.
fn locked_rows(rows: Vec<(Uuid, Uuid)>) -> Vec<LockedRow> {
    rows.into_iter().map(|(id, tenant)| LockedRow { id, tenant }).collect()
}
