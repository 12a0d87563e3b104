//! The entries that this module adds to the navigation.

use backoffice_core::{NavContext, NavEntry, NavTitles};

use crate::acl;

/// Availability, the working calendar, and the caller's feeds.
pub(crate) const NAVIGATION: &[NavEntry] = &[
    NavEntry {
        id: "availability",
        href: "calendar/availability",
        title: "Availability",
        features: &[acl::VIEW],
        context: NavContext::Main {
            group: "dispatch",
            title: "Dispatch",
        },
        order: 40,
    },
    NavEntry {
        id: "working-calendar",
        href: "calendar/working-calendar",
        title: "Working calendar",
        features: &[acl::MANAGE],
        context: NavContext::Settings {
            section: "dispatch",
            title: "Dispatch",
        },
        order: 10,
    },
    NavEntry {
        id: "calendar-feeds",
        href: "calendar/feeds",
        title: "Calendar feeds",
        features: &[acl::VIEW],
        context: NavContext::Profile {
            section: "account",
            title: "Account",
        },
        order: 50,
    },
];

/// The titles in other languages.
pub(crate) const NAV_TITLES: NavTitles = NavTitles {
    entries: &[
        (
            "availability",
            &[("pl", "Dostępność"), ("es", "Disponibilidad"), ("de", "Verfügbarkeit")],
        ),
        (
            "working-calendar",
            &[
                ("pl", "Kalendarz pracy"),
                ("es", "Calendario laboral"),
                ("de", "Arbeitskalender"),
            ],
        ),
        (
            "calendar-feeds",
            &[
                ("pl", "Kanały kalendarza"),
                ("es", "Suscripciones de calendario"),
                ("de", "Kalender-Abonnements"),
            ],
        ),
    ],
    groups: &[(
        "dispatch",
        &[("pl", "Dyspozytornia"), ("es", "Planificación"), ("de", "Disposition")],
    )],
};
