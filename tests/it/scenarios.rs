//! Every command that can be undone, as requests on a world with rich state. A command without a scenario fails the tests.

mod catalog;
mod customers;

use std::collections::BTreeSet;

use actix_web::http::Method;
use backoffice_core::Platform;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::call::Call;
use crate::world::{Account, House, PASSWORD, World};

const ORGANIZATIONS: &str = "/directory/organizations";
const ROLES: &str = "/auth/roles";
const ROLE_ACL: &str = "/auth/roles/acl";
const PREFERENCES: &str = "/auth/sidebar/preferences";
const USERS: &str = "/auth/users";
const USER_ACL: &str = "/auth/users/acl";
const VARIANTS: &str = "/auth/sidebar/variants";

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
        arrange(&world, house).await;
        crate::customers::furnish(&world, house).await;
        crate::catalog::furnish(&world, house).await;
        let logo = json!({"id": house.leaf, "logoUrl": "https://example.test/logo.png"});
        run(&world, &house.keeper, &Call::put(ORGANIZATIONS, logo)).await;
    }
    world
}

/// Sidebars: the keeper's variants have the ids of organizations, `child` the active one and `leaf` the other.
async fn arrange(world: &World, house: &House) {
    let settings = json!({"groupOrder": ["auth"], "hiddenItems": ["roles"]});
    for (id, user, is_active) in [
        (house.child, house.keeper.id, true),
        (house.leaf, house.keeper.id, false),
        (house.other, house.colleague.id, true),
    ] {
        let variant = format!(
            "insert into auth_sidebar_variants (tenant_id, id, user_id, locale, name, name_norm, settings, is_active, \
                 created_at, updated_at) \
             values ('{0}', '{id}', '{user}', 'en', 'V {id}', 'v {id}', '{1}', {is_active}, '2026-11-20T07:00:00Z', \
                 '2026-11-20T07:00:00Z')",
            house.tenant,
            json!({"version": 3, "groupOrder": [], "groupLabels": {}, "itemLabels": {}, "hiddenItems": ["users"], "itemOrder": {}})
        );
        assert_eq!(world.app.sql(&variant).await, 1);
    }
    let own = format!(
        "insert into auth_sidebar_preferences (tenant_id, id, user_id, locale, settings, created_at, updated_at) \
         values ('{0}', '{1}', '{1}', 'pl', '{2}', '2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z')",
        house.tenant,
        house.colleague.id,
        json!({"version": 1, "groupOrder": ["x"], "groupLabels": {}, "itemLabels": {}, "hiddenItems": [], "itemOrder": {}})
    );
    assert_eq!(world.app.sql(&own).await, 1);
    let applied = json!({"settings": settings, "applyToRoles": [house.spare_role]});
    run(world, &house.keeper, &Call::put(PREFERENCES, applied)).await;
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
    all.extend(sidebars());
    all.extend(customers::scenarios());
    all.extend(catalog::scenarios());
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

fn sidebars() -> Vec<Scenario> {
    let own = |command, state, call| Scenario {
        by_anybody: false,
        ..scenario(command, state, call)
    };
    vec![
        scenario("auth.sidebar_preference.update", "own", |_| {
            Call::put(PREFERENCES, json!({"itemLabels": {"users": "People"}}))
        }),
        own("auth.sidebar_preference.update", "with roles", |house| {
            let body = json!({"settings": {"groupOrder": ["b"]}, "applyToRoles": [house.role],
                "clearRoleIds": [house.spare_role]});
            Call::put(PREFERENCES, body)
        }),
        own("auth.role_sidebar_preference.update", "made", |house| {
            let scope = json!({"type": "role", "roleId": house.role});
            Call::put(PREFERENCES, json!({"scope": scope, "hiddenItems": ["users"]}))
        }),
        own("auth.role_sidebar_preference.update", "changed", |house| {
            let scope = json!({"type": "role", "roleId": house.spare_role});
            Call::put(PREFERENCES, json!({"scope": scope, "version": 2}))
        }),
        own("auth.role_sidebar_preference.delete", "as it is", |house| {
            Call::new(Method::DELETE, PREFERENCES).with_query("roleId", &house.spare_role.to_string())
        }),
        scenario("auth.sidebar_variant.create", "without a name", |_| {
            Call::post(VARIANTS, json!({}))
        }),
        scenario("auth.sidebar_variant.create", "in place of the active one", |_| {
            Call::post(
                VARIANTS,
                json!({"name": " Made ", "isActive": true, "settings": {"groupOrder": ["a"]}}),
            )
        }),
        own("auth.sidebar_variant.update", "activated", |house| {
            Call::put(&variant(house.leaf), json!({"isActive": true, "name": "RENAMED"}))
        }),
        own("auth.sidebar_variant.update", "switched off", |house| {
            Call::put(&variant(house.child), json!({"isActive": false, "settings": {}}))
        }),
        own("auth.sidebar_variant.delete", "active", |house| {
            Call::new(Method::DELETE, &variant(house.child))
        }),
        own("auth.sidebar_variant.delete", "not active", |house| {
            Call::new(Method::DELETE, &variant(house.leaf))
        }),
    ]
}

fn variant(id: Uuid) -> String {
    format!("{VARIANTS}/{id}")
}
