//! Navigation entries of this module.

use backoffice_core::{NavContext, NavEntry, NavTitles};

use crate::acl;

/// The list of keys, next to users and roles.
pub(crate) const NAVIGATION: &[NavEntry] = &[NavEntry {
    id: "api-keys",
    href: "api-keys",
    title: "API keys",
    features: &[acl::VIEW],
    context: NavContext::Settings {
        section: "auth",
        title: "Users & access",
    },
    order: 30,
}];

/// Translated titles.
pub(crate) const NAV_TITLES: NavTitles = NavTitles {
    entries: &[(
        "api-keys",
        &[("pl", "Klucze API"), ("es", "Claves de API"), ("de", "API-Schlüssel")],
    )],
    groups: &[],
};
