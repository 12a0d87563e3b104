//! The features of this module, and the roles of the dispatch modules.

use backoffice_core::{DefaultGrant, Feature, SeededRole};

/// See users.
pub const USERS_VIEW: Feature = Feature::new("access.users.view", "View dispatch users");
/// Invite users, change their roles, deactivate and reactivate them.
pub const USERS_MANAGE: Feature = Feature::new("access.users.manage", "Manage dispatch users");

pub(crate) const FEATURES: &[Feature] = &[USERS_VIEW, USERS_MANAGE];

/// The name of the role that plans.
pub const DISPATCHER: &str = "dispatcher";
/// The name of the role that only reads.
pub const VIEWER: &str = "viewer";

/// The roles of dispatch teams.
pub(crate) const ROLES: &[SeededRole] = &[SeededRole { name: DISPATCHER }, SeededRole { name: VIEWER }];

/// Default grants of seeded roles. The grants of the two roles of this module are listed here for all modules; those of modules that are not enabled
/// are left out.
pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[
    DefaultGrant {
        role: "admin",
        grants: &["access.*"],
    },
    DefaultGrant {
        role: DISPATCHER,
        grants: &[
            "access.users.view",
            "alerts.manage",
            "alerts.view",
            "attachments.manage",
            "attachments.view",
            "audit_logs.redo_self",
            "audit_logs.undo_self",
            "audit_logs.view_self",
            "calendar.manage",
            "calendar.view",
            "devices.manage",
            "devices.view",
            "dispatch.manage",
            "dispatch.view",
        ],
    },
    DefaultGrant {
        role: VIEWER,
        grants: &[
            "alerts.view",
            "attachments.view",
            "calendar.view",
            "devices.manage",
            "devices.view",
            "dispatch.view",
        ],
    },
];
