//! The rights that this module declares. One's own jobs need none.

use backoffice_core::{DefaultGrant, Feature};

/// See other people's jobs.
pub const VIEW_TENANT: Feature = Feature::new("progress.view_tenant", "View everybody's jobs");
/// Cancel other people's jobs.
pub const MANAGE: Feature = Feature::new("progress.manage", "Manage everybody's jobs");

/// All of them.
pub(crate) const FEATURES: &[Feature] = &[VIEW_TENANT, MANAGE];

/// What seeded roles are granted.
pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[DefaultGrant {
    role: "admin",
    grants: &["progress.*"],
}];
