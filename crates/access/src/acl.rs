//! Features, and the roles that have them by default.

use backoffice_core::{DefaultGrant, Feature};

/// View users.
pub const USERS_VIEW: Feature = Feature::new("access.users.view", "View users");
/// Create, update and delete users.
pub const USERS_MANAGE: Feature = Feature::new("access.users.manage", "Manage users");

pub(crate) const FEATURES: &[Feature] = &[USERS_VIEW, USERS_MANAGE];

pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[DefaultGrant {
    role: "admin",
    grants: &["access.*"],
}];
