//! The features of this module. Callers need none for their own jobs.

use backoffice_core::{DefaultGrant, Feature};

/// Allows reading the jobs of others.
pub const VIEW_TENANT: Feature = Feature::new("progress.view_tenant", "View everybody's jobs");
/// Allows cancelling the jobs of others.
pub const MANAGE: Feature = Feature::new("progress.manage", "Manage everybody's jobs");

/// All features.
pub(crate) const FEATURES: &[Feature] = &[VIEW_TENANT, MANAGE];

/// The grants of seeded roles.
pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[DefaultGrant {
    role: "admin",
    grants: &["progress.*"],
}];
