//! Features, and the roles that have them by default.

use backoffice_core::{DefaultGrant, Feature};

/// View windows.
pub const WINDOWS_VIEW: Feature = Feature::new("calendar.windows.view", "View windows");
/// Create, update and delete windows.
pub const WINDOWS_MANAGE: Feature = Feature::new("calendar.windows.manage", "Manage windows");

pub(crate) const FEATURES: &[Feature] = &[WINDOWS_VIEW, WINDOWS_MANAGE];

pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[DefaultGrant {
    role: "admin",
    grants: &["calendar.*"],
}];
