//! Navigation entries of this module.

use backoffice_core::{NavContext, NavEntry, NavTitles};

use crate::acl;

/// The caller's devices, in their account.
pub(crate) const NAVIGATION: &[NavEntry] = &[NavEntry {
    id: "devices",
    href: "profile/devices",
    title: "Devices",
    features: &[acl::VIEW],
    context: NavContext::Profile {
        section: "account",
        title: "Account",
    },
    order: 40,
}];

/// Translated titles.
pub(crate) const NAV_TITLES: NavTitles = NavTitles {
    entries: &[(
        "devices",
        &[("pl", "Urządzenia"), ("es", "Dispositivos"), ("de", "Geräte")],
    )],
    groups: &[],
};
