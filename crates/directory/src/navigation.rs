//! What this module adds to the navigation of the administration.

use backoffice_core::{NavContext, NavEntry, NavTitles};

use crate::acl;

const DIRECTORY: NavContext = NavContext::Settings {
    section: "directory",
    title: "Directory",
};

/// Organizations, and the tenants for those who see them.
pub(crate) const NAVIGATION: &[NavEntry] = &[
    NavEntry {
        id: "organizations",
        href: "organizations",
        title: "Organizations",
        features: &[acl::ORGANIZATIONS_VIEW],
        context: DIRECTORY,
        order: 50,
    },
    NavEntry {
        id: "tenants",
        href: "tenants",
        title: "Tenants",
        features: &[acl::TENANTS_VIEW],
        context: DIRECTORY,
        order: 60,
    },
];

/// The same in other languages.
pub(crate) const NAV_TITLES: NavTitles = NavTitles {
    entries: &[
        (
            "organizations",
            &[
                ("pl", "Organizacje"),
                ("es", "Organizaciones"),
                ("de", "Organisationen"),
            ],
        ),
        (
            "tenants",
            &[("pl", "Dzierżawcy"), ("es", "Inquilinos"), ("de", "Mandanten")],
        ),
    ],
    groups: &[(
        "directory",
        &[("pl", "Katalog"), ("es", "Directorio"), ("de", "Verzeichnis")],
    )],
};
