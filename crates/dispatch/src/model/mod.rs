//! Rows and entities.

mod assignment;
mod job_site;
mod references;
mod resource;
mod stated;

pub use assignment::Assignment;
pub use job_site::JobSite;
pub use resource::Resource;
pub use stated::StatedAssignment;

pub(crate) use assignment::is_live;
pub(crate) use references::{LiveUse, keep_from_losing_assignments};

/// Kind of job sites.
pub const JOB_SITE: &str = "dispatch.job_site";
/// Kind of resources.
pub const RESOURCE: &str = "dispatch.resource";
/// Kind of assignments.
pub const ASSIGNMENT: &str = "dispatch.assignment";
