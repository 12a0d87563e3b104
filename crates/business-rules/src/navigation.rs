//! Navigation entries of this module.

use backoffice_core::{NavContext, NavEntry, NavTitles};

use crate::acl;

const AUTOMATION: NavContext = NavContext::Settings {
    section: "automation",
    title: "Automation",
};

/// Rules and their executions, in the settings.
pub(crate) const NAVIGATION: &[NavEntry] = &[
    NavEntry {
        id: "business-rules",
        href: "business-rules/rules",
        title: "Business rules",
        features: &[acl::VIEW],
        context: AUTOMATION,
        order: 10,
    },
    NavEntry {
        id: "business-rule-logs",
        href: "business-rules/logs",
        title: "Executions of rules",
        features: &[acl::VIEW_LOGS],
        context: AUTOMATION,
        order: 20,
    },
];

/// Translated titles.
pub(crate) const NAV_TITLES: NavTitles = NavTitles {
    entries: &[
        (
            "business-rules",
            &[
                ("pl", "Reguły biznesowe"),
                ("es", "Reglas de negocio"),
                ("de", "Geschäftsregeln"),
            ],
        ),
        (
            "business-rule-logs",
            &[
                ("pl", "Wykonania reguł"),
                ("es", "Ejecuciones de reglas"),
                ("de", "Ausführungen der Regeln"),
            ],
        ),
    ],
    groups: &[(
        "automation",
        &[
            ("pl", "Automatyzacja"),
            ("es", "Automatización"),
            ("de", "Automatisierung"),
        ],
    )],
};
