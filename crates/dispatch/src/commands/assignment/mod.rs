//! Commands on assignments.

mod alerts;
mod bulk_create;
mod create;
mod delete;
mod fields;
mod resolve;
mod time;
mod update;

pub use alerts::{AlertsOf, FindAlerts};
pub use bulk_create::{AssignmentsWritten, BulkCreateAssignments, NewAssignments};
pub use create::{AssignmentWritten, CreateAssignment};
pub use delete::DeleteAssignment;
pub use fields::{AssignmentChanges, AssignmentFields, NewAssignment};
pub use update::UpdateAssignment;
