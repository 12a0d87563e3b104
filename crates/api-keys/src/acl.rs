//! The rights that this module declares.

use backoffice_core::{DefaultGrant, Feature};

/// See API keys.
pub const VIEW: Feature = Feature::new("api_keys.view", "View API keys");
/// Make API keys.
pub const CREATE: Feature = Feature::new("api_keys.create", "Create API keys");
/// Remove API keys.
pub const DELETE: Feature = Feature::new("api_keys.delete", "Delete API keys");

/// All of them.
pub(crate) const FEATURES: &[Feature] = &[VIEW, CREATE, DELETE];

/// What seeded roles are granted.
pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[DefaultGrant {
    role: "admin",
    grants: &["api_keys.*"],
}];
