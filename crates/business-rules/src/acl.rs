//! Features, and the roles that have them by default.

use backoffice_core::{DefaultGrant, Feature};

/// View rules and sets.
pub const VIEW: Feature = Feature::new("business_rules.view", "View business rules");
/// Create, update and delete rules.
pub const MANAGE: Feature = Feature::new("business_rules.manage", "Manage business rules");
/// Create, update and delete sets of rules.
pub const MANAGE_SETS: Feature = Feature::new("business_rules.manage_sets", "Manage sets of business rules");
/// Execute rules and sets.
pub const EXECUTE: Feature = Feature::new("business_rules.execute", "Execute business rules");
/// View the log of executions.
pub const VIEW_LOGS: Feature = Feature::new("business_rules.view_logs", "View executions of business rules");

pub(crate) const FEATURES: &[Feature] = &[VIEW, MANAGE, MANAGE_SETS, EXECUTE, VIEW_LOGS];

pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[DefaultGrant {
    role: "admin",
    grants: &["business_rules.*"],
}];
