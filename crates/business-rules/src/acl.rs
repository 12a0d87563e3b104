//! Features, and the roles that have them by default.

use backoffice_core::{DefaultGrant, Feature};

/// View rules.
pub const RULES_VIEW: Feature = Feature::new("business_rules.rules.view", "View rules");
/// Create, update and delete rules.
pub const RULES_MANAGE: Feature = Feature::new("business_rules.rules.manage", "Manage rules");

pub(crate) const FEATURES: &[Feature] = &[RULES_VIEW, RULES_MANAGE];

pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[DefaultGrant {
    role: "admin",
    grants: &["business_rules.*"],
}];
