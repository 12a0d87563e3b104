//! The features of this module.

use backoffice_core::{DefaultGrant, Feature};

/// See one's own devices.
pub const VIEW: Feature = Feature::new("devices.view", "View own devices");
/// Register, change and deactivate one's own devices.
pub const MANAGE: Feature = Feature::new("devices.manage", "Manage own devices");
/// See and register the devices of other users.
pub const ADMIN: Feature = Feature::new("devices.admin", "Manage devices of users");

pub(crate) const FEATURES: &[Feature] = &[VIEW, MANAGE, ADMIN];

/// Default grants of seeded roles.
pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[
    DefaultGrant {
        role: "admin",
        grants: &["devices.*"],
    },
    DefaultGrant {
        role: "employee",
        grants: &["devices.view", "devices.manage"],
    },
];
