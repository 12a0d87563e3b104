//! The features of the directory.

use backoffice_core::{DefaultGrant, Feature};

/// See tenants.
pub const TENANTS_VIEW: Feature = Feature::new("directory.tenants.view", "View tenants");
/// Create and change tenants.
pub const TENANTS_MANAGE: Feature = Feature::new("directory.tenants.manage", "Manage tenants");
/// See organizations.
pub const ORGANIZATIONS_VIEW: Feature = Feature::new("directory.organizations.view", "View organizations");
/// Create, change and delete organizations.
pub const ORGANIZATIONS_MANAGE: Feature = Feature::new("directory.organizations.manage", "Manage organizations");

pub(crate) const FEATURES: &[Feature] = &[TENANTS_VIEW, TENANTS_MANAGE, ORGANIZATIONS_VIEW, ORGANIZATIONS_MANAGE];

pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[DefaultGrant {
    role: "admin",
    grants: &["directory.organizations.*"],
}];
