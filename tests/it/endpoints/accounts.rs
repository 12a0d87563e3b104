//! The entries of accounts: sessions, roles, users and the sidebar.

use actix_web::http::Method;
use serde_json::json;

use super::table::{at, entry};
use super::{Entry, History, Kind, Sender, Target};
use crate::call::{Call, Place};
use crate::fixture::PASSWORD;

const RESEND_INVITE: &str = "/auth/users/resend-invite";
const ROLES: &str = "/auth/roles";
const ROLE_ACL: &str = "/auth/roles/acl";
const PREFERENCES: &str = "/auth/sidebar/preferences";
const USERS: &str = "/auth/users";
const USER_ACL: &str = "/auth/users/acl";
const VARIANTS: &str = "/auth/sidebar/variants";

pub(super) fn accounts() -> Vec<Entry> {
    vec![
        Entry {
            sender: Sender::Plain,
            ..entry(Method::POST, "/auth/logout", [], |_, _| {
                Call::post("/auth/logout", json!({"all": false}))
            })
        },
        entry(Method::GET, "/auth/profile", [], |_, _| Call::get("/auth/profile")),
        entry(Method::PUT, "/auth/profile", [], |_, _| {
            Call::put(
                "/auth/profile",
                json!({"name": "Another name", "currentPassword": PASSWORD}),
            )
        }),
        entry(Method::GET, "/auth/profile/consents", [], |_, _| {
            Call::get("/auth/profile/consents")
        }),
        entry(Method::PUT, "/auth/profile/consents", [], |_, _| {
            Call::put(
                "/auth/profile/consents",
                json!({"consentType": "terms", "isGranted": true}),
            )
        }),
        entry(
            Method::GET,
            "/auth/users/consents",
            [at(Place::Query("userId"), Kind::User)],
            |tenant_fixture, _| {
                Call::get("/auth/users/consents").with_query("userId", &tenant_fixture.user.id.to_string())
            },
        ),
        entry(Method::POST, "/auth/feature-check", [], |_, _| {
            Call::post("/auth/feature-check", json!({"features": ["auth.users.list"]}))
        }),
        entry(Method::GET, "/auth/features", [], |_, _| Call::get("/auth/features")),
    ]
}

pub(super) fn roles() -> Vec<Entry> {
    const ID: [Target; 1] = [at(Place::Query("id"), Kind::Role)];
    const IDS: [Target; 1] = [at(Place::QueryList("ids"), Kind::Role)];
    vec![
        entry(Method::GET, ROLES, IDS, |_, _| Call::get(ROLES)),
        entry(Method::POST, ROLES, [], |_, _| {
            Call::post(ROLES, json!({"name": "Made"}))
        }),
        entry(
            Method::PUT,
            ROLES,
            [at(Place::Body("id"), Kind::Role)],
            |tenant_fixture, _| Call::put(ROLES, json!({"id": tenant_fixture.role, "name": "Renamed"})),
        ),
        entry(
            Method::GET,
            ROLE_ACL,
            [at(Place::Query("roleId"), Kind::Role)],
            |tenant_fixture, _| Call::get(ROLE_ACL).with_query("roleId", &tenant_fixture.role.to_string()),
        ),
        entry(
            Method::PUT,
            ROLE_ACL,
            [
                at(Place::Body("roleId"), Kind::Role),
                at(Place::BodyList("organizations"), Kind::Organization),
            ],
            |tenant_fixture, _| {
                Call::put(
                    ROLE_ACL,
                    json!({"roleId": tenant_fixture.role, "features": ["auth.users.list", "auth.roles.list"],
                        "organizations": [tenant_fixture.child], "isSuperAdmin": false}),
                )
            },
        ),
        entry(Method::DELETE, ROLES, ID, |tenant_fixture, _| {
            Call::delete(ROLES, tenant_fixture.spare_role)
        }),
    ]
}

pub(super) fn users() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            USERS,
            [
                at(Place::QueryList("ids"), Kind::User),
                at(Place::Query("organizationId"), Kind::Organization),
                at(Place::QueryList("roleIds"), Kind::Role),
            ],
            |_, _| Call::get(USERS),
        ),
        entry(
            Method::POST,
            USERS,
            [
                at(Place::Body("organizationId"), Kind::Organization),
                at(Place::BodyList("roles"), Kind::Role),
            ],
            |tenant_fixture, _| {
                Call::post(
                    USERS,
                    json!({"email": "made@house.test", "name": "Made", "organizationId": tenant_fixture.child, "roles": ["Local"],
                        "password": PASSWORD, "isActive": true, "sendInviteEmail": false}),
                )
            },
        ),
        entry(
            Method::PUT,
            USERS,
            [
                at(Place::Body("id"), Kind::User),
                at(Place::Body("organizationId"), Kind::Organization),
                at(Place::BodyList("roles"), Kind::Role),
            ],
            |tenant_fixture, _| {
                Call::put(
                    USERS,
                    json!({"id": tenant_fixture.colleague.id, "email": "renamed@house.test", "name": "Renamed",
                        "organizationId": tenant_fixture.child, "password": "another long secret", "roles": ["Local"],
                        "isActive": true}),
                )
            },
        ),
        entry(
            Method::POST,
            RESEND_INVITE,
            [at(Place::Body("id"), Kind::Invited)],
            |tenant_fixture, _| Call::post(RESEND_INVITE, json!({"id": tenant_fixture.invited})),
        ),
        entry(
            Method::GET,
            USER_ACL,
            [at(Place::Query("userId"), Kind::User)],
            |tenant_fixture, _| Call::get(USER_ACL).with_query("userId", &tenant_fixture.colleague.id.to_string()),
        ),
        entry(
            Method::PUT,
            USER_ACL,
            [
                at(Place::Body("userId"), Kind::User),
                at(Place::BodyList("organizations"), Kind::Organization),
            ],
            |tenant_fixture, _| {
                Call::put(
                    USER_ACL,
                    json!({"userId": tenant_fixture.colleague.id, "features": ["auth.users.list", "auth.roles.list"],
                        "organizations": [tenant_fixture.child], "isSuperAdmin": false}),
                )
            },
        ),
        entry(
            Method::DELETE,
            USERS,
            [at(Place::Query("id"), Kind::User)],
            |tenant_fixture, _| Call::delete(USERS, tenant_fixture.colleague.id),
        ),
    ]
}

pub(super) fn sidebar() -> Vec<Entry> {
    const VARIANT: &str = "/auth/sidebar/variants/{id}";
    // An invalid id is treated as a missing variant.
    const ID: [Target; 1] = [Target {
        strict: false,
        ..at(Place::Path, Kind::Variant)
    }];
    const ROLE: [Target; 1] = [at(Place::Query("roleId"), Kind::Role)];
    vec![
        entry(Method::GET, "/auth/admin/nav", [], |_, _| {
            Call::get("/auth/admin/nav").with_query("includeHidden", "true")
        }),
        entry(Method::GET, PREFERENCES, ROLE, |tenant_fixture, _| {
            Call::get(PREFERENCES).with_query("roleId", &tenant_fixture.role.to_string())
        }),
        entry(
            Method::PUT,
            PREFERENCES,
            [
                at(Place::BodyList("applyToRoles"), Kind::Role),
                at(Place::BodyList("clearRoleIds"), Kind::Role),
            ],
            |tenant_fixture, _| {
                Call::put(
                    PREFERENCES,
                    json!({"groupOrder": ["auth"], "itemLabels": {"users": "People"}, "hiddenItems": ["roles"],
                        "itemOrder": {"auth": ["roles"]}, "scope": {"type": "user"}, "applyToRoles": [tenant_fixture.role],
                        "clearRoleIds": [tenant_fixture.spare_role]}),
                )
            },
        ),
        entry(Method::DELETE, PREFERENCES, ROLE, |tenant_fixture, _| {
            Call::new(Method::DELETE, PREFERENCES).with_query("roleId", &tenant_fixture.role.to_string())
        }),
        entry(Method::GET, VARIANTS, [], |_, _| Call::get(VARIANTS)),
        entry(Method::POST, VARIANTS, [], |_, _| {
            Call::post(
                VARIANTS,
                json!({"name": "Made", "settings": {"groupOrder": ["auth"]}, "isActive": true}),
            )
        }),
        entry(Method::GET, VARIANT, ID, |_, history| Call::get(&variant(history))),
        entry(Method::PUT, VARIANT, ID, |_, history| {
            Call::put(
                &variant(history),
                json!({"name": "Renamed", "settings": {"version": 2}, "isActive": true}),
            )
        }),
        entry(Method::DELETE, VARIANT, ID, |_, history| {
            Call::new(Method::DELETE, &variant(history))
        }),
    ]
}

fn variant(history: &History) -> String {
    format!("{VARIANTS}/{}", history.variant)
}
