//! What this module adds.

use backoffice_core::{NavContext, NavEntry, NavTitles};

use crate::acl;

/// The keys, beside users and roles.
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

/// The same in other languages.
pub(crate) const NAV_TITLES: NavTitles = NavTitles {
    entries: &[(
        "api-keys",
        &[("pl", "Klucze API"), ("es", "Claves de API"), ("de", "API-Schlüssel")],
    )],
    groups: &[],
};
