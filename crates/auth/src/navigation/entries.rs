//! Navigation entries of this module.

use backoffice_core::{NavContext, NavEntry, NavTitles};

use crate::acl;

const ACCOUNTS: NavContext = NavContext::Settings {
    section: "auth",
    title: "Users & access",
};
const CUSTOMIZATION: NavContext = NavContext::Settings {
    section: "customization",
    title: "Customization",
};
const ACCOUNT: NavContext = NavContext::Profile {
    section: "account",
    title: "Account",
};

/// Users, roles, the sidebar, and the user's own password.
pub(crate) const NAVIGATION: &[NavEntry] = &[
    NavEntry {
        id: "users",
        href: "users",
        title: "Users",
        features: &[acl::USERS_LIST],
        context: ACCOUNTS,
        order: 10,
    },
    NavEntry {
        id: "roles",
        href: "roles",
        title: "Roles",
        features: &[acl::ROLES_LIST],
        context: ACCOUNTS,
        order: 20,
    },
    NavEntry {
        id: "sidebar",
        href: "sidebar-customization",
        title: "Sidebar",
        features: &[acl::SIDEBAR_MANAGE],
        context: CUSTOMIZATION,
        order: 90,
    },
    NavEntry {
        id: "change-password",
        href: "profile/change-password",
        title: "Change password",
        features: &[],
        context: ACCOUNT,
        order: 10,
    },
];

/// Translated titles.
pub(crate) const NAV_TITLES: NavTitles = NavTitles {
    entries: &[
        (
            "users",
            &[("pl", "Użytkownicy"), ("es", "Usuarios"), ("de", "Benutzer")],
        ),
        ("roles", &[("pl", "Role"), ("es", "Roles"), ("de", "Rollen")]),
        (
            "sidebar",
            &[("pl", "Panel boczny"), ("es", "Barra lateral"), ("de", "Seitenleiste")],
        ),
        (
            "change-password",
            &[
                ("pl", "Zmień hasło"),
                ("es", "Cambiar contraseña"),
                ("de", "Passwort ändern"),
            ],
        ),
    ],
    groups: &[
        (
            "auth",
            &[
                ("pl", "Użytkownicy i dostęp"),
                ("es", "Usuarios y acceso"),
                ("de", "Benutzer und Zugriff"),
            ],
        ),
        (
            "customization",
            &[("pl", "Personalizacja"), ("es", "Personalización"), ("de", "Anpassung")],
        ),
        ("account", &[("pl", "Konto"), ("es", "Cuenta"), ("de", "Konto")]),
    ],
};
