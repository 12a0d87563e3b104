//! Features, and the roles that have them by default.

use backoffice_core::{DefaultGrant, Feature};

/// View alerts.
pub const ALERTS_VIEW: Feature = Feature::new("alerts.alerts.view", "View alerts");
/// Create, update and delete alerts.
pub const ALERTS_MANAGE: Feature = Feature::new("alerts.alerts.manage", "Manage alerts");

pub(crate) const FEATURES: &[Feature] = &[ALERTS_VIEW, ALERTS_MANAGE];

pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[DefaultGrant {
    role: "admin",
    grants: &["alerts.*"],
}];
