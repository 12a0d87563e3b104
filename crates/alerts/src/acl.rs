//! The features of this module.

use backoffice_core::{DefaultGrant, Feature};

/// See alerts, and mark them as read for oneself.
pub const VIEW: Feature = Feature::new("alerts.view", "View alerts");
/// Acknowledge alerts for everybody.
pub const MANAGE: Feature = Feature::new("alerts.manage", "Acknowledge alerts");
/// Be notified of critical alerts that no user has read or acknowledged.
pub const ESCALATIONS: Feature = Feature::new("alerts.escalations", "Receive escalated alerts");

pub(crate) const FEATURES: &[Feature] = &[VIEW, MANAGE, ESCALATIONS];

/// Default grants of seeded roles.
pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[
    DefaultGrant {
        role: "admin",
        grants: &["alerts.*"],
    },
    DefaultGrant {
        role: "dispatcher",
        grants: &["alerts.view", "alerts.manage"],
    },
    DefaultGrant {
        role: "viewer",
        grants: &["alerts.view"],
    },
    DefaultGrant {
        role: "employee",
        grants: &["alerts.view"],
    },
];
