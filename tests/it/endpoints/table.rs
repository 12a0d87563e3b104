//! The entries.

use actix_web::http::Method;
use backoffice_test_support::{REDO, UNDO};
use serde_json::json;

use super::{Entry, Kind, MakeCall, Sender, Target, accounts};
use crate::call::{Call, Place};
use crate::composed::COMPOSED;
use crate::fixture::PASSWORD;
use crate::history::{ACCESS, ACTIONS, EXPORT};

const KEYS: &str = "/api_keys/keys";
const ORGANIZATIONS: &str = "/directory/organizations";
const SWITCHER: &str = "/directory/organization-switcher";
const TENANTS: &str = "/directory/tenants";

/// The table.
pub(crate) fn table() -> Vec<Entry> {
    let mut table = public();
    table.extend(accounts::accounts());
    table.extend(accounts::roles());
    table.extend(accounts::users());
    table.extend(accounts::sidebar());
    table.extend(keys());
    table.extend(directory());
    table.extend(actions());
    table.extend(events());
    table.extend(COMPOSED.iter().flat_map(|composed| (composed.endpoints)()));
    table
}

fn public() -> Vec<Entry> {
    let get = |path, call| entry(Method::GET, path, [], call);
    vec![
        entry(Method::POST, "/auth/login", [], |tenant_fixture, _| {
            Call::post(
                "/auth/login",
                json!({"email": tenant_fixture.user.email, "password": PASSWORD, "remember": "no", "redirect": "/x",
                    "tenantId": tenant_fixture.tenant}),
            )
        }),
        entry(Method::POST, "/auth/session/refresh", [], |tenant_fixture, _| {
            Call::post(
                "/auth/session/refresh",
                json!({"refreshToken": tenant_fixture.user.refresh_token}),
            )
        }),
        get("/auth/session/refresh", |_, _| {
            Call::get("/auth/session/refresh").with_query("redirect", "/x")
        }),
        get("/auth/autologin", |_, _| {
            Call::get("/auth/autologin").with_query("redirect", "/x")
        }),
        get("/auth/locale", |_, _| {
            Call::get("/auth/locale").with_query("locale", "en")
        }),
        entry(Method::POST, "/auth/locale", [], |_, _| {
            Call::post("/auth/locale", json!({"locale": "en"}))
        }),
        entry(Method::POST, "/auth/reset", [], |tenant_fixture, _| {
            Call::post("/auth/reset", json!({"email": tenant_fixture.user.email}))
        }),
        entry(Method::POST, "/auth/reset/validate", [], |_, history| {
            Call::post("/auth/reset/validate", json!({"token": history.reset_token}))
        }),
        entry(Method::POST, "/auth/reset/confirm", [], |_, history| {
            Call::post(
                "/auth/reset/confirm",
                json!({"token": history.reset_token, "password": "another long secret"}),
            )
        }),
        get("/directory/tenants/lookup", |tenant_fixture, _| {
            Call::get("/directory/tenants/lookup").with_query("tenantId", &tenant_fixture.tenant.to_string())
        }),
        get("/directory/organizations/lookup", |_, _| {
            Call::get("/directory/organizations/lookup").with_query("slug", "parent")
        }),
        get("/version", |_, _| Call::get("/version")),
        get("/openapi.json", |_, _| Call::get("/openapi.json")),
        get("/docs", |_, _| Call::get("/docs")),
        get("/docs/", |_, _| Call::get("/docs/")),
        get("/docs/{file}", |_, _| Call::get("/docs/swagger-ui.css")),
    ]
}

fn keys() -> Vec<Entry> {
    vec![
        entry(Method::GET, KEYS, [at(Place::QueryList("ids"), Kind::Key)], |_, _| {
            Call::get(KEYS).with_query("search", "bo_")
        }),
        entry(
            Method::POST,
            KEYS,
            [
                // An organization that is out of scope and one that does not exist are both rejected with 403 and the same message.
                at(Place::Body("organizationId"), Kind::Organization),
                at(Place::BodyList("roles"), Kind::Role),
            ],
            |tenant_fixture, _| {
                Call::post(
                    KEYS,
                    json!({"name": "Made", "description": "Of the dock", "organizationId": tenant_fixture.child, "roles": ["Local"],
                        "expiresAt": "2030-01-01T00:00:00Z"}),
                )
            },
        ),
        entry(
            Method::DELETE,
            KEYS,
            [at(Place::Query("id"), Kind::Key)],
            |tenant_fixture, _| Call::delete(KEYS, tenant_fixture.key),
        ),
    ]
}

fn directory() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            TENANTS,
            [at(Place::QueryList("ids"), Kind::Tenant)],
            |_, _| Call::get(TENANTS),
        ),
        Entry {
            sender: Sender::SuperAdmin,
            ..entry(Method::POST, TENANTS, [], |_, _| {
                Call::post(
                    TENANTS,
                    json!({"name": "Gamma", "organizationName": "First", "locales": ["en"]}),
                )
            })
        },
        entry(
            Method::PUT,
            TENANTS,
            [at(Place::Body("id"), Kind::Tenant)],
            |tenant_fixture, _| {
                Call::put(
                    TENANTS,
                    json!({"id": tenant_fixture.tenant, "name": "Renamed", "locales": ["en", "pl"]}),
                )
            },
        ),
        Entry {
            sender: Sender::SuperAdmin,
            ..entry(
                Method::DELETE,
                TENANTS,
                [at(Place::Query("id"), Kind::Tenant)],
                |tenant_fixture, _| Call::delete(TENANTS, tenant_fixture.tenant),
            )
        },
        entry(Method::GET, SWITCHER, [], |_, _| Call::get(SWITCHER)),
        entry(
            Method::GET,
            ORGANIZATIONS,
            [
                at(Place::Query("id"), Kind::Organization),
                at(Place::QueryList("ids"), Kind::Organization),
                at(Place::Query("parentId"), Kind::Parent),
            ],
            |_, _| Call::get(ORGANIZATIONS),
        ),
        entry(
            Method::POST,
            ORGANIZATIONS,
            [at(Place::Body("parentId"), Kind::Organization)],
            |tenant_fixture, _| {
                Call::post(
                    ORGANIZATIONS,
                    json!({"name": "Made", "slug": "made", "parentId": tenant_fixture.child, "isActive": true,
                        "logoUrl": "https://example.test/logo.png"}),
                )
            },
        ),
        entry(
            Method::PUT,
            ORGANIZATIONS,
            [
                at(Place::Body("id"), Kind::Organization),
                at(Place::Body("parentId"), Kind::Organization),
            ],
            |tenant_fixture, _| {
                Call::put(
                    ORGANIZATIONS,
                    json!({"id": tenant_fixture.leaf, "name": "Renamed", "slug": "renamed", "parentId": tenant_fixture.parent,
                        "isActive": true, "logoUrl": null}),
                )
            },
        ),
        entry(
            Method::DELETE,
            ORGANIZATIONS,
            [at(Place::Query("id"), Kind::Organization)],
            |tenant_fixture, _| Call::delete(ORGANIZATIONS, tenant_fixture.leaf),
        ),
    ]
}

fn events() -> Vec<Entry> {
    vec![entry(Method::GET, "/events/stream", [], |_, _| {
        Call::get("/events/stream").with_query("names", "auth.*")
    })]
}

fn actions() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            ACCESS,
            [
                at(Place::Query("organizationId"), Kind::Organization),
                at(Place::Query("actorUserId"), Kind::User),
            ],
            |_, _| Call::get(ACCESS),
        ),
        entry(
            Method::GET,
            EXPORT,
            [
                at(Place::QueryList("ids"), Kind::Undone),
                at(Place::Query("organizationId"), Kind::Organization),
                at(Place::QueryList("actorUserId"), Kind::User),
                Target {
                    strict: false,
                    ..at(Place::Query("resourceId"), Kind::Role)
                },
            ],
            |_, _| Call::get(EXPORT),
        ),
        entry(
            Method::GET,
            ACTIONS,
            [
                at(Place::QueryList("ids"), Kind::Undone),
                at(Place::Query("organizationId"), Kind::Organization),
                at(Place::QueryList("actorUserId"), Kind::User),
                Target {
                    strict: false,
                    ..at(Place::Query("resourceId"), Kind::Role)
                },
            ],
            |_, _| Call::get(ACTIONS),
        ),
        entry(
            Method::POST,
            UNDO,
            [at(Place::Body("undoToken"), Kind::Token)],
            |_, history| Call::post(UNDO, json!({"undoToken": history.done.token})),
        ),
        entry(
            Method::POST,
            REDO,
            [at(Place::Body("logId"), Kind::Undone)],
            |_, history| Call::post(REDO, json!({"logId": history.undone.log_id})),
        ),
    ]
}

pub(super) const fn at(place: Place, kind: Kind) -> Target {
    Target {
        place,
        kind,
        strict: true,
    }
}

pub(super) fn entry<const N: usize>(method: Method, path: &'static str, targets: [Target; N], call: MakeCall) -> Entry {
    let sender = Sender::Admin;
    let mut targets = targets.to_vec();
    // Every list with `ids` also takes one `id`.
    let ids = targets.iter().find(|target| target.place == Place::QueryList("ids"));
    targets.extend(ids.map(|ids| at(Place::Query("id"), ids.kind)));
    Entry {
        method,
        path,
        call,
        targets,
        sender,
    }
}
