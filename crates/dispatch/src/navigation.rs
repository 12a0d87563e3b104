//! The entries that this module adds to the navigation.

use backoffice_core::{NavContext, NavEntry, NavTitles};

use crate::acl;

const DISPATCH: NavContext = NavContext::Main {
    group: "dispatch",
    title: "Dispatch",
};

/// The board, job sites and resources.
pub(crate) const NAVIGATION: &[NavEntry] = &[
    NavEntry {
        id: "dispatch-board",
        href: "dispatch/board",
        title: "Board",
        features: &[acl::VIEW],
        context: DISPATCH,
        order: 10,
    },
    NavEntry {
        id: "job-sites",
        href: "dispatch/job-sites",
        title: "Job sites",
        features: &[acl::VIEW],
        context: DISPATCH,
        order: 20,
    },
    NavEntry {
        id: "resources",
        href: "dispatch/resources",
        title: "Resources",
        features: &[acl::VIEW],
        context: DISPATCH,
        order: 30,
    },
];

/// The titles in other languages.
pub(crate) const NAV_TITLES: NavTitles = NavTitles {
    entries: &[
        (
            "dispatch-board",
            &[("pl", "Tablica"), ("es", "Tablero"), ("de", "Plantafel")],
        ),
        (
            "job-sites",
            &[("pl", "Miejsca pracy"), ("es", "Obras"), ("de", "Einsatzorte")],
        ),
        (
            "resources",
            &[("pl", "Zasoby"), ("es", "Recursos"), ("de", "Ressourcen")],
        ),
    ],
    groups: &[(
        "dispatch",
        &[("pl", "Dyspozytornia"), ("es", "Planificación"), ("de", "Disposition")],
    )],
};
