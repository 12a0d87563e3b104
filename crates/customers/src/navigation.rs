//! The entries that this module adds to the navigation.

use backoffice_core::{NavContext, NavEntry, NavTitles};

use crate::acl;

const CUSTOMERS: NavContext = NavContext::Main {
    group: "customers",
    title: "Customers",
};

/// People, companies, deals and pipelines.
pub(crate) const NAVIGATION: &[NavEntry] = &[
    NavEntry {
        id: "people",
        href: "customers/people",
        title: "People",
        features: &[acl::PEOPLE_VIEW],
        context: CUSTOMERS,
        order: 10,
    },
    NavEntry {
        id: "companies",
        href: "customers/companies",
        title: "Companies",
        features: &[acl::COMPANIES_VIEW],
        context: CUSTOMERS,
        order: 20,
    },
    NavEntry {
        id: "deals",
        href: "customers/deals",
        title: "Deals",
        features: &[acl::DEALS_VIEW],
        context: CUSTOMERS,
        order: 30,
    },
    NavEntry {
        id: "pipelines",
        href: "customers/pipelines",
        title: "Pipelines",
        features: &[acl::PIPELINES_VIEW],
        context: CUSTOMERS,
        order: 40,
    },
];

/// The titles in other languages.
pub(crate) const NAV_TITLES: NavTitles = NavTitles {
    entries: &[
        ("people", &[("pl", "Osoby"), ("es", "Personas"), ("de", "Personen")]),
        ("companies", &[("pl", "Firmy"), ("es", "Empresas"), ("de", "Firmen")]),
        (
            "deals",
            &[("pl", "Szanse sprzedaży"), ("es", "Oportunidades"), ("de", "Geschäfte")],
        ),
        (
            "pipelines",
            &[("pl", "Lejki sprzedaży"), ("es", "Embudos"), ("de", "Pipelines")],
        ),
    ],
    groups: &[("customers", &[("pl", "Klienci"), ("es", "Clientes"), ("de", "Kunden")])],
};
