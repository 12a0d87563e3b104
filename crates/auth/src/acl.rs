//! The rights that this module declares.

use backoffice_core::{DefaultGrant, Feature};

/// See users.
pub const USERS_LIST: Feature = Feature::new("auth.users.list", "List users");
/// Make users.
pub const USERS_CREATE: Feature = Feature::new("auth.users.create", "Create users");
/// Change users.
pub const USERS_EDIT: Feature = Feature::new("auth.users.edit", "Edit users");
/// Remove users.
pub const USERS_DELETE: Feature = Feature::new("auth.users.delete", "Delete users");
/// See roles.
pub const ROLES_LIST: Feature = Feature::new("auth.roles.list", "List roles");
/// Make, change and remove roles.
pub const ROLES_MANAGE: Feature = Feature::new("auth.roles.manage", "Manage roles");
/// See and change what roles and users may do.
pub const ACL_MANAGE: Feature = Feature::new("auth.acl.manage", "Manage access control lists");
/// Change the sidebar of others.
pub const SIDEBAR_MANAGE: Feature = Feature::new("auth.sidebar.manage", "Customise the sidebar");

/// All of them.
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

/// What seeded roles are granted.
pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[DefaultGrant {
    role: "admin",
    grants: &["auth.*"],
}];
