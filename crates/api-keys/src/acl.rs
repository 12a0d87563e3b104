//! The features of this module.

use backoffice_core::{DefaultGrant, Feature};

/// See API keys.
pub const VIEW: Feature = Feature::new("api_keys.view", "View API keys");
/// Create API keys.
pub const CREATE: Feature = Feature::new("api_keys.create", "Create API keys");
/// Delete API keys.
pub const DELETE: Feature = Feature::new("api_keys.delete", "Delete API keys");

pub(crate) const FEATURES: &[Feature] = &[VIEW, CREATE, DELETE];

/// Default grants of seeded roles.
pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[DefaultGrant {
    role: "admin",
    grants: &["api_keys.*"],
}];
