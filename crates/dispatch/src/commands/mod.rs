//! Commands.

pub mod assignment;
mod job_site;
mod resource;

use backoffice_core::registry::Registry;

pub use assignment::{
    AssignmentChanges, AssignmentFields, AssignmentWritten, AssignmentsWritten, BulkCreateAssignments,
    CreateAssignment, DeleteAssignment, NewAssignment, NewAssignments, UpdateAssignment,
};
pub use job_site::{CreateJobSite, DeleteJobSite, JobSiteChanges, JobSiteFields, NewJobSite, UpdateJobSite};
pub use resource::{CreateResource, DeleteResource, NewResource, ResourceChanges, ResourceFields, UpdateResource};

use crate::model::{Assignment, JobSite, Resource};

pub(crate) fn register(registry: &mut Registry) {
    registry
        .entity::<JobSite>()
        .command::<CreateJobSite>()
        .command::<UpdateJobSite>()
        .command::<DeleteJobSite>()
        .entity::<Resource>()
        .command::<CreateResource>()
        .command::<UpdateResource>()
        .command::<DeleteResource>()
        .entity::<Assignment>()
        .command::<CreateAssignment>()
        .command::<BulkCreateAssignments>()
        .command::<UpdateAssignment>()
        .command::<DeleteAssignment>();
}
