//! Navigation entries of this module.

use backoffice_core::{NavContext, NavEntry, NavTitles};

use crate::acl;

/// The open alerts, beside the board of assignments.
pub(crate) const NAVIGATION: &[NavEntry] = &[NavEntry {
    id: "alerts",
    href: "alerts",
    title: "Alerts",
    features: &[acl::VIEW],
    context: NavContext::Main {
        group: "dispatch",
        title: "Dispatch",
    },
    order: 50,
}];

/// Translated titles.
pub(crate) const NAV_TITLES: NavTitles = NavTitles {
    entries: &[("alerts", &[("pl", "Alerty"), ("es", "Alertas"), ("de", "Warnungen")])],
    groups: &[(
        "dispatch",
        &[("pl", "Dyspozytornia"), ("es", "Planificación"), ("de", "Disposition")],
    )],
};
