//! The entries that this module adds to the navigation.

use backoffice_core::{NavContext, NavEntry, NavTitles};

use crate::acl;

/// The library, and the partitions in the settings.
pub(crate) const NAVIGATION: &[NavEntry] = &[
    NavEntry {
        id: "files",
        href: "attachments/library",
        title: "Files",
        features: &[acl::VIEW],
        context: NavContext::Main {
            group: "files",
            title: "Files",
        },
        order: 10,
    },
    NavEntry {
        id: "partitions",
        href: "attachments/partitions",
        title: "Partitions",
        features: &[acl::PARTITIONS_MANAGE],
        context: NavContext::Settings {
            section: "attachments",
            title: "Files",
        },
        order: 10,
    },
];

/// Titles in the other languages of the administration.
pub(crate) const NAV_TITLES: NavTitles = NavTitles {
    entries: &[
        ("files", &[("de", "Dateien"), ("es", "Archivos"), ("pl", "Pliki")]),
        (
            "partitions",
            &[("de", "Ablagen"), ("es", "Particiones"), ("pl", "Partycje")],
        ),
    ],
    groups: &[
        ("files", &[("de", "Dateien"), ("es", "Archivos"), ("pl", "Pliki")]),
        ("attachments", &[("de", "Dateien"), ("es", "Archivos"), ("pl", "Pliki")]),
    ],
};
