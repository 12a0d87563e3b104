//! The entries that this module adds to the navigation.

use backoffice_core::{NavContext, NavEntry, NavTitles};

use crate::acl;

const CATALOG: NavContext = NavContext::Main {
    group: "catalog",
    title: "Catalog",
};

/// Products and categories.
pub(crate) const NAVIGATION: &[NavEntry] = &[
    NavEntry {
        id: "products",
        href: "catalog/products",
        title: "Products",
        features: &[acl::PRODUCTS_VIEW],
        context: CATALOG,
        order: 10,
    },
    NavEntry {
        id: "product-categories",
        href: "catalog/categories",
        title: "Categories",
        features: &[acl::CATEGORIES_VIEW],
        context: CATALOG,
        order: 20,
    },
];

/// The titles in other languages.
pub(crate) const NAV_TITLES: NavTitles = NavTitles {
    entries: &[
        (
            "products",
            &[("pl", "Produkty"), ("es", "Productos"), ("de", "Produkte")],
        ),
        (
            "product-categories",
            &[("pl", "Kategorie"), ("es", "Categorías"), ("de", "Kategorien")],
        ),
    ],
    groups: &[(
        "catalog",
        &[
            ("pl", "Katalog produktów"),
            ("es", "Catálogo"),
            ("de", "Produktkatalog"),
        ],
    )],
};
