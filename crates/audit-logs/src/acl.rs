//! The features of this module.

use backoffice_core::{DefaultGrant, Feature};

/// Allows reading own entries.
pub const VIEW_SELF: Feature = Feature::new("audit_logs.view_self", "View own log entries");
/// Allows reading all entries.
pub const VIEW_TENANT: Feature = Feature::new("audit_logs.view_tenant", "View all log entries");
/// Allows undoing own actions.
pub const UNDO_SELF: Feature = Feature::new("audit_logs.undo_self", "Undo own actions");
/// Allows undoing the actions of others.
pub const UNDO_TENANT: Feature = Feature::new("audit_logs.undo_tenant", "Undo actions of others");
/// Allows redoing own actions.
pub const REDO_SELF: Feature = Feature::new("audit_logs.redo_self", "Redo own actions");
/// Allows redoing the actions of others.
pub const REDO_TENANT: Feature = Feature::new("audit_logs.redo_tenant", "Redo actions of others");

pub(crate) const FEATURES: &[Feature] = &[VIEW_SELF, VIEW_TENANT, UNDO_SELF, UNDO_TENANT, REDO_SELF, REDO_TENANT];

pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[
    DefaultGrant {
        role: "admin",
        grants: &["audit_logs.*"],
    },
    DefaultGrant {
        role: "employee",
        grants: &["audit_logs.view_self", "audit_logs.undo_self", "audit_logs.redo_self"],
    },
];
