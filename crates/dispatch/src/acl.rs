//! Features, and the roles that have them by default.

use backoffice_core::{DefaultGrant, Feature};

/// View job sites, resources and assignments.
pub const VIEW: Feature = Feature::new("dispatch.view", "View job sites, resources and assignments");
/// Create, update and delete job sites, resources and assignments.
pub const MANAGE: Feature = Feature::new("dispatch.manage", "Manage job sites, resources and assignments");

pub(crate) const FEATURES: &[Feature] = &[VIEW, MANAGE];

pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[
    DefaultGrant {
        role: "admin",
        grants: &["dispatch.*"],
    },
    DefaultGrant {
        role: "dispatcher",
        grants: &["dispatch.view", "dispatch.manage"],
    },
    DefaultGrant {
        role: "viewer",
        grants: &["dispatch.view"],
    },
    DefaultGrant {
        role: "employee",
        grants: &["dispatch.view"],
    },
];
