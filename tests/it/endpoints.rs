//! A valid request for every endpoint, and the ids that it takes. An endpoint without an entry fails the tests that walk the table.

use actix_web::http::Method;
use backoffice_core::command::UndoToken;
use backoffice_core::http::EndpointInfo;
use serde_json::json;
use uuid::Uuid;

use crate::call::{Call, Place};
use crate::history::{self, ACTIONS, Operation, REDO, UNDO};
use crate::world::{Account, House, PASSWORD, World};

const ORGANIZATIONS: &str = "/directory/organizations";
const ROLES: &str = "/auth/roles";
const ROLE_ACL: &str = "/auth/roles/acl";
const TENANTS: &str = "/directory/tenants";
const USERS: &str = "/auth/users";

/// A world in which the keeper of each house has done and undone something.
pub(crate) struct Setting {
    pub(crate) world: World,
    pub(crate) a: History,
    pub(crate) b: History,
}

/// What a keeper did.
pub(crate) struct History {
    pub(crate) done: Operation,
    pub(crate) undone: Operation,
}

/// What an id is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tenant,
    Organization,
    User,
    Role,
    /// A token that undoes an action.
    Token,
    /// The entry of an action that was undone.
    Undone,
}

/// An id that a request takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) place: Place,
    pub(crate) kind: Kind,
    /// Whether something that is no id is refused.
    pub(crate) strict: bool,
}

const fn at(place: Place, kind: Kind) -> Target {
    Target {
        place,
        kind,
        strict: true,
    }
}

/// Who may send the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sender {
    Keeper,
    SuperAdmin,
    /// Somebody whose session may end.
    Plain,
}

type MakeCall = fn(&House, &History) -> Call;

/// An entry of the table.
pub(crate) struct Entry {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) call: MakeCall,
    pub(crate) targets: Vec<Target>,
    pub(crate) sender: Sender,
}

fn entry<const N: usize>(method: Method, path: &'static str, targets: [Target; N], call: MakeCall) -> Entry {
    let sender = Sender::Keeper;
    Entry {
        method,
        path,
        call,
        targets: targets.to_vec(),
        sender,
    }
}

/// The table.
pub(crate) fn table() -> Vec<Entry> {
    let mut table = public();
    table.extend(accounts());
    table.extend(roles());
    table.extend(users());
    table.extend(directory());
    table.extend(actions());
    table
}

fn public() -> Vec<Entry> {
    let get = |path, call| entry(Method::GET, path, [], call);
    vec![
        entry(Method::POST, "/auth/login", [], |house, _| {
            Call::post(
                "/auth/login",
                json!({"email": house.user.email, "password": PASSWORD, "remember": "no", "redirect": "/x",
                    "tenantId": house.tenant}),
            )
        }),
        entry(Method::POST, "/auth/session/refresh", [], |house, _| {
            Call::post(
                "/auth/session/refresh",
                json!({"refreshToken": house.user.refresh_token}),
            )
        }),
        get("/directory/tenants/lookup", |house, _| {
            Call::get("/directory/tenants/lookup").with_query("tenantId", &house.tenant.to_string())
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

fn accounts() -> Vec<Entry> {
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
        entry(Method::POST, "/auth/feature-check", [], |_, _| {
            Call::post("/auth/feature-check", json!({"features": ["auth.users.list"]}))
        }),
        entry(Method::GET, "/auth/features", [], |_, _| Call::get("/auth/features")),
    ]
}

fn roles() -> Vec<Entry> {
    const ID: [Target; 1] = [at(Place::Query("id"), Kind::Role)];
    vec![
        entry(Method::GET, ROLES, ID, |house, _| {
            Call::get(ROLES).with_query("id", &house.role.to_string())
        }),
        entry(Method::POST, ROLES, [], |_, _| {
            Call::post(ROLES, json!({"name": "Made"}))
        }),
        entry(Method::PUT, ROLES, [at(Place::Body("id"), Kind::Role)], |house, _| {
            Call::put(ROLES, json!({"id": house.role, "name": "Renamed"}))
        }),
        entry(
            Method::GET,
            ROLE_ACL,
            [at(Place::Query("roleId"), Kind::Role)],
            |house, _| Call::get(ROLE_ACL).with_query("roleId", &house.role.to_string()),
        ),
        entry(
            Method::PUT,
            ROLE_ACL,
            [
                at(Place::Body("roleId"), Kind::Role),
                at(Place::BodyList("organizations"), Kind::Organization),
            ],
            |house, _| {
                Call::put(
                    ROLE_ACL,
                    json!({"roleId": house.role, "features": ["auth.users.list", "auth.roles.list"],
                        "organizations": [house.child], "isSuperAdmin": false}),
                )
            },
        ),
        entry(Method::DELETE, ROLES, ID, |house, _| {
            Call::delete(ROLES, house.spare_role)
        }),
    ]
}

fn users() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            USERS,
            [
                at(Place::Query("id"), Kind::User),
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
            |house, _| {
                Call::post(
                    USERS,
                    json!({"email": "made@house.test", "name": "Made", "organizationId": house.child, "roles": ["Local"],
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
            |house, _| {
                Call::put(
                    USERS,
                    json!({"id": house.colleague.id, "email": "renamed@house.test", "name": "Renamed",
                        "organizationId": house.child, "password": "another long secret", "roles": ["Local"],
                        "isActive": true}),
                )
            },
        ),
        entry(
            Method::DELETE,
            USERS,
            [at(Place::Query("id"), Kind::User)],
            |house, _| Call::delete(USERS, house.colleague.id),
        ),
    ]
}

fn directory() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            TENANTS,
            [at(Place::Query("id"), Kind::Tenant)],
            |house, _| Call::get(TENANTS).with_query("id", &house.tenant.to_string()),
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
            Method::GET,
            ORGANIZATIONS,
            [
                at(Place::Query("id"), Kind::Organization),
                at(Place::QueryList("ids"), Kind::Organization),
                at(Place::Query("parentId"), Kind::Organization),
            ],
            |_, _| Call::get(ORGANIZATIONS),
        ),
        entry(
            Method::POST,
            ORGANIZATIONS,
            [at(Place::Body("parentId"), Kind::Organization)],
            |house, _| {
                Call::post(
                    ORGANIZATIONS,
                    json!({"name": "Made", "slug": "made", "parentId": house.child, "isActive": true,
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
            |house, _| {
                Call::put(
                    ORGANIZATIONS,
                    json!({"id": house.leaf, "name": "Renamed", "slug": "renamed", "parentId": house.parent,
                        "isActive": true, "logoUrl": null}),
                )
            },
        ),
        entry(
            Method::DELETE,
            ORGANIZATIONS,
            [at(Place::Query("id"), Kind::Organization)],
            |house, _| Call::delete(ORGANIZATIONS, house.leaf),
        ),
    ]
}

fn actions() -> Vec<Entry> {
    vec![
        entry(
            Method::GET,
            ACTIONS,
            [
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

impl Setting {
    pub(crate) async fn new(world: World) -> Self {
        let a = Self::history(&world, &world.a).await;
        let b = Self::history(&world, &world.b).await;
        Self { world, a, b }
    }

    async fn history(world: &World, house: &House) -> History {
        let make = async |name: &str| {
            let call = Call::post(ROLES, json!({"name": name}));
            history::operation(&call.send(&world.app, &house.keeper.token).await)
        };
        let (done, undone) = (make("Done").await, make("Undone").await);
        let (status, body) = history::undo(&world.app, &house.keeper, &undone.token).await;
        assert_eq!(status, 200, "{body}");
        History { done, undone }
    }

    /// Every endpoint that the platform serves, with its entry.
    pub(crate) fn endpoints(&self) -> Vec<(EndpointInfo, Entry)> {
        let mut table = table();
        let endpoints = self.world.app.platform().endpoints();
        let found = endpoints.into_iter().map(|info| {
            let index = table
                .iter()
                .position(|entry| entry.method == info.method && entry.path == info.path);
            let index = index.unwrap_or_else(|| panic!("{} {} has no entry in the table", info.method, info.path));
            (info, table.remove(index))
        });
        found.collect()
    }

    /// The endpoints that need somebody who is signed in.
    pub(crate) fn private(&self) -> Vec<(EndpointInfo, Entry)> {
        let mut endpoints = self.endpoints();
        endpoints.retain(|(info, _)| info.access != backoffice_core::http::Access::Public);
        endpoints
    }

    /// A valid request to an endpoint about tenant A.
    pub(crate) fn call(&self, entry: &Entry) -> Call {
        (entry.call)(&self.world.a, &self.a)
    }

    /// Who may send it.
    pub(crate) fn sender(&self, entry: &Entry) -> &Account {
        match entry.sender {
            Sender::Keeper => &self.world.a.keeper,
            Sender::SuperAdmin => &self.world.root,
            Sender::Plain => &self.world.a.plain,
        }
    }
}

impl Target {
    /// Such an id of this house.
    pub(crate) fn of(self, house: &House, history: &History) -> String {
        match self.kind {
            Kind::Tenant => house.tenant.to_string(),
            Kind::Organization => house.other.to_string(),
            Kind::User => house.user.id.to_string(),
            Kind::Role => house.role.to_string(),
            Kind::Token => history.done.token.clone(),
            Kind::Undone => history.undone.log_id.to_string(),
        }
    }

    /// Such an id that nothing has.
    pub(crate) fn unknown(self) -> String {
        let id = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0042);
        match self.kind {
            Kind::Token => UndoToken::new(id, [7; 32]).to_string(),
            _ => id.to_string(),
        }
    }
}
