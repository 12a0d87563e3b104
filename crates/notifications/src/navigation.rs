//! Navigation entries of this module.

use backoffice_core::{NavContext, NavEntry, NavTitles};

/// The caller's notifications, in their account.
pub(crate) const NAVIGATION: &[NavEntry] = &[NavEntry {
    id: "notifications",
    href: "profile/notifications",
    title: "Notifications",
    features: &[],
    context: NavContext::Profile {
        section: "account",
        title: "Account",
    },
    order: 30,
}];

/// Translated titles.
pub(crate) const NAV_TITLES: NavTitles = NavTitles {
    entries: &[(
        "notifications",
        &[
            ("pl", "Powiadomienia"),
            ("es", "Notificaciones"),
            ("de", "Benachrichtigungen"),
        ],
    )],
    groups: &[],
};
