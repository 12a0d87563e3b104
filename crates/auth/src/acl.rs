//! The features of this module.

use backoffice_core::{DefaultGrant, Feature};

/// See users.
pub const USERS_LIST: Feature = Feature::new("auth.users.list", "List users");
/// Create users.
pub const USERS_CREATE: Feature = Feature::new("auth.users.create", "Create users");
/// Change users.
pub const USERS_EDIT: Feature = Feature::new("auth.users.edit", "Edit users");
/// Delete users.
pub const USERS_DELETE: Feature = Feature::new("auth.users.delete", "Delete users");
/// See roles.
pub const ROLES_LIST: Feature = Feature::new("auth.roles.list", "List roles");
/// Create, change and delete roles.
pub const ROLES_MANAGE: Feature = Feature::new("auth.roles.manage", "Manage roles");
/// See and change the ACLs of roles and users.
pub const ACL_MANAGE: Feature = Feature::new("auth.acl.manage", "Manage access control lists");
/// Change sidebar settings.
pub const SIDEBAR_MANAGE: Feature = Feature::new("auth.sidebar.manage", "Customise the sidebar");

pub(crate) const FEATURES: &[Feature] = &[
    USERS_LIST,
    USERS_CREATE,
    USERS_EDIT,
    USERS_DELETE,
    ROLES_LIST,
    ROLES_MANAGE,
    ACL_MANAGE,
    SIDEBAR_MANAGE,
];

/// Default grants of seeded roles.
pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[DefaultGrant {
    role: "admin",
    grants: &["auth.*"],
}];
