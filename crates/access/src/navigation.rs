//! The entry that this module adds to the navigation.

use backoffice_core::{NavContext, NavEntry, NavTitles};

use crate::acl;

/// The users of the dispatch team.
pub(crate) const NAVIGATION: &[NavEntry] = &[NavEntry {
    id: "team",
    href: "access/users",
    title: "Team",
    features: &[acl::USERS_VIEW],
    context: NavContext::Main {
        group: "dispatch",
        title: "Dispatch",
    },
    order: 60,
}];

/// The titles in other languages.
pub(crate) const NAV_TITLES: NavTitles = NavTitles {
    entries: &[("team", &[("pl", "Zespół"), ("es", "Equipo"), ("de", "Team")])],
    groups: &[(
        "dispatch",
        &[("pl", "Dyspozytornia"), ("es", "Planificación"), ("de", "Disposition")],
    )],
};
