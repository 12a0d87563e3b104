//! Features, and the roles that have them by default.

use backoffice_core::{DefaultGrant, Feature};

/// View job sites.
pub const JOB_SITES_VIEW: Feature = Feature::new("dispatch.job_sites.view", "View job sites");
/// Create, update and delete job sites.
pub const JOB_SITES_MANAGE: Feature = Feature::new("dispatch.job_sites.manage", "Manage job sites");

pub(crate) const FEATURES: &[Feature] = &[JOB_SITES_VIEW, JOB_SITES_MANAGE];

pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[DefaultGrant {
    role: "admin",
    grants: &["dispatch.*"],
}];
