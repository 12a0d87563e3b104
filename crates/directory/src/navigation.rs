//! Navigation entries of this module.

use backoffice_core::{NavContext, NavEntry, NavTitles};

use crate::acl;

const DIRECTORY: NavContext = NavContext::Settings {
    section: "directory",
    title: "Directory",
};

/// The lists of organizations and of tenants.
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

/// Translated titles.
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
