//! Features, and the roles that have them by default.

use backoffice_core::{DefaultGrant, Feature};

/// See windows, series, working calendars and reasons, and subscribe to feeds.
pub const VIEW: Feature = Feature::new("calendar.view", "View calendars and unavailability");
/// Change windows, series and working calendars.
pub const MANAGE: Feature = Feature::new("calendar.manage", "Manage calendars and unavailability");

pub(crate) const FEATURES: &[Feature] = &[VIEW, MANAGE];

/// Default grants of the roles of the platform; those of the roles of dispatch teams are listed in the module that creates these roles.
pub(crate) const DEFAULT_GRANTS: &[DefaultGrant] = &[
    DefaultGrant {
        role: "admin",
        grants: &["calendar.*"],
    },
    DefaultGrant {
        role: "employee",
        grants: &["calendar.view"],
    },
];
