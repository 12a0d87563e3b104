//! Every command that can be undone, as requests on a world with rich state. A command without a scenario fails the tests.

use std::collections::BTreeSet;

use backoffice_core::Platform;
use serde_json::{Value, json};

use crate::call::Call;
use crate::world::{Account, House, PASSWORD, World};

const ORGANIZATIONS: &str = "/directory/organizations";
const ROLES: &str = "/auth/roles";
const ROLE_ACL: &str = "/auth/roles/acl";
const USERS: &str = "/auth/users";
const USER_ACL: &str = "/auth/users/acl";

/// A request that runs a command.
pub(crate) struct Scenario {
    pub(crate) command: &'static str,
    pub(crate) state: &'static str,
    pub(crate) call: fn(&House) -> Call,
    /// Whether a super administrator can send it too, without selecting a tenant.
    pub(crate) by_anybody: bool,
}

fn scenario(command: &'static str, state: &'static str, call: fn(&House) -> Call) -> Scenario {
    Scenario {
        command,
        state,
        call,
        by_anybody: true,
    }
}

/// Ids of the commands that can be undone.
pub(crate) fn undoable(platform: &Platform) -> BTreeSet<&'static str> {
    let commands = platform.registry().commands();
    commands
        .filter(|command| command.undoable)
        .map(|command| command.id)
        .collect()
}

/// A world where the ids of the scenarios have roles, ACLs, children and a past.
pub(crate) async fn rich(world: World) -> World {
    for house in [&world.a, &world.b] {
        // There is no endpoint for it yet.
        let acl = format!(
            "insert into auth_user_acls (tenant_id, id, user_id, is_super_admin, features, organizations, created_at, updated_at) \
             values ('{0}', '{1}', '{1}', false, '{{auth.users.list}}', '{{{2}}}', '2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z')",
            house.tenant, house.colleague.id, house.child
        );
        assert_eq!(world.app.sql(&acl).await, 1);
        let roles = json!({"id": house.colleague.id, "roles": ["Dispatcher", "employee"]});
        run(&world, &house.keeper, &Call::put(USERS, roles)).await;
        let logo = json!({"id": house.leaf, "logoUrl": "https://example.test/logo.png"});
        run(&world, &house.keeper, &Call::put(ORGANIZATIONS, logo)).await;
    }
    world
}

/// Sends a request that must succeed.
pub(crate) async fn run(world: &World, caller: &Account, call: &Call) -> Value {
    let response = call.send(&world.app, &caller.token).await;
    assert!(response.status < 400, "{call}: {} {}", response.status, response.text());
    response.json()
}

/// The table.
pub(crate) fn scenarios() -> Vec<Scenario> {
    let mut all = roles();
    all.extend(users());
    all.extend(organizations());
    all
}

fn roles() -> Vec<Scenario> {
    vec![
        scenario("auth.role.create", "a new name", |_| {
            Call::post(ROLES, json!({"name": "  Made here "}))
        }),
        scenario("auth.role.update", "held, with an ACL", |house| {
            Call::put(ROLES, json!({"id": house.role, "name": "RENAMED"}))
        }),
        scenario("auth.role.update", "only another case", |house| {
            Call::put(ROLES, json!({"id": house.spare_role, "name": "SPARE"}))
        }),
        scenario("auth.role.delete", "with an ACL", |house| {
            Call::delete(ROLES, house.spare_role)
        }),
        scenario("auth.role_acl.update", "all members", |house| {
            let body = json!({"roleId": house.spare_role, "features": ["auth.users.*", "audit_logs.view_self"],
                "organizations": [house.child]});
            Call::put(ROLE_ACL, body)
        }),
        scenario("auth.role_acl.update", "wider", |house| {
            Call::put(ROLE_ACL, json!({"roleId": house.spare_role, "organizations": null}))
        }),
        scenario("auth.role_acl.update", "emptied", |house| {
            Call::put(ROLE_ACL, json!({"roleId": house.role, "features": []}))
        }),
    ]
}

fn users() -> Vec<Scenario> {
    vec![
        scenario("auth.user.create", "with password and roles", |house| {
            let body = json!({"email": "Made@House.test", "name": "Made", "organizationId": house.child,
                "roles": ["Dispatcher", house.spare_role], "password": PASSWORD});
            Call::post(USERS, body)
        }),
        scenario("auth.user.create", "bare", |house| {
            let body = json!({"email": "bare@house.test", "organizationId": house.other, "isActive": false});
            Call::post(USERS, body)
        }),
        scenario("auth.user.update", "all members", |house| {
            let body = json!({"id": house.colleague.id, "email": "Renamed@House.test", "name": null,
                "organizationId": house.other, "roles": ["Local", house.role], "isActive": false});
            Call::put(USERS, body)
        }),
        scenario("auth.user.update", "no roles", |house| {
            Call::put(USERS, json!({"id": house.colleague.id, "roles": []}))
        }),
        scenario("auth.user_acl.update", "changed", |house| {
            let body = json!({"userId": house.colleague.id, "features": ["auth.users.list", "auth.roles.*"],
                "organizations": [house.child]});
            Call::put(USER_ACL, body)
        }),
        scenario("auth.user_acl.update", "removed", |house| {
            Call::put(USER_ACL, json!({"userId": house.colleague.id, "features": []}))
        }),
        scenario("auth.user_acl.update", "made", |house| {
            let body = json!({"userId": house.user.id, "features": ["auth.users.list"], "organizations": null});
            Call::put(USER_ACL, body)
        }),
        scenario("auth.user.delete", "with roles, ACL and password", |house| {
            Call::delete(USERS, house.colleague.id)
        }),
        scenario("auth.user.delete", "signed in", |house| {
            Call::delete(USERS, house.user.id)
        }),
        scenario("auth.profile.update", "name", |_| {
            Call::put("/auth/profile", json!({"name": "Another name"}))
        }),
        scenario("auth.profile.update", "address", |_| {
            let body = json!({"email": "other@house.test", "currentPassword": PASSWORD});
            Call::put("/auth/profile", body)
        }),
    ]
}

fn organizations() -> Vec<Scenario> {
    let own = |state, call| Scenario {
        by_anybody: false,
        ..scenario("directory.organization.create", state, call)
    };
    vec![
        own("below another", |house| {
            let body =
                json!({"name": "Made", "parentId": house.leaf, "logoUrl": "/api/attachments/x", "isActive": false});
            Call::post(ORGANIZATIONS, body)
        }),
        own("at the top", |_| {
            Call::post(ORGANIZATIONS, json!({"name": "Ünïcode & more", "slug": "made"}))
        }),
        scenario("directory.organization.update", "moved with children", |house| {
            let body = json!({"id": house.child, "name": "Renamed", "slug": "renamed", "parentId": house.other,
                "logoUrl": "https://example.test/x.png"});
            Call::put(ORGANIZATIONS, body)
        }),
        scenario("directory.organization.update", "to the top, switched off", |house| {
            let body = json!({"id": house.leaf, "parentId": null, "logoUrl": null, "isActive": false});
            Call::put(ORGANIZATIONS, body)
        }),
        scenario("directory.organization.delete", "below another", |house| {
            Call::delete(ORGANIZATIONS, house.leaf)
        }),
    ]
}
