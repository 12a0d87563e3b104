//! Where the directory stands in the navigation of the administration.

use backoffice_core::{NavContext, NavEntry};

use crate::acl;

const SECTION: NavContext = NavContext::Settings {
    section: "directory",
    title: "Directory",
};

pub(crate) const NAVIGATION: &[NavEntry] = &[
    NavEntry {
        id: "organizations",
        href: "directory/organizations",
        title: "Organizations",
        features: &[acl::ORGANIZATIONS_VIEW],
        context: SECTION,
        order: 10,
    },
    NavEntry {
        id: "tenants",
        href: "directory/tenants",
        title: "Tenants",
        features: &[acl::TENANTS_VIEW],
        context: SECTION,
        order: 20,
    },
];
