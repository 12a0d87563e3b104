//! Every undoable command, as requests on a fixture with rich state. A command without a scenario fails the tests.

pub(crate) mod access;
pub(crate) mod alerts;
pub(crate) mod attachments;
pub(crate) mod business_rules;
pub(crate) mod calendar;
pub(crate) mod catalog;
pub(crate) mod customers;
pub(crate) mod devices;
pub(crate) mod dispatch;
pub(crate) mod notifications;
pub(crate) mod onboarding;

use std::collections::BTreeSet;

use actix_web::http::Method;
use backoffice_core::Platform;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::call::Call;
use crate::composed::COMPOSED;
use crate::fixture::{Account, Fixture, PASSWORD, TenantFixture};

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
    pub(crate) call: fn(&TenantFixture) -> Call,
    /// Whether a super administrator can also send it without selecting a tenant.
    pub(crate) by_anybody: bool,
}

pub(crate) fn scenario(command: &'static str, state: &'static str, call: fn(&TenantFixture) -> Call) -> Scenario {
    Scenario {
        command,
        state,
        call,
        by_anybody: true,
    }
}

/// Returns the ids of the undoable commands.
pub(crate) fn undoable(platform: &Platform) -> BTreeSet<&'static str> {
    let commands = platform.registry().commands();
    commands
        .filter(|command| command.undoable)
        .map(|command| command.id)
        .collect()
}

/// Adds roles, ACLs, children and history to the records of the scenarios.
pub(crate) async fn rich(fixture: Fixture) -> Fixture {
    for tenant_fixture in [&fixture.a, &fixture.b] {
        // No endpoint sets it yet.
        let acl = format!(
            "insert into auth_user_acls (tenant_id, id, user_id, is_super_admin, features, organizations, created_at, updated_at) \
             values ('{0}', '{1}', '{1}', false, '{{auth.users.list}}', '{{{2}}}', '2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z')",
            tenant_fixture.tenant, tenant_fixture.colleague.id, tenant_fixture.child
        );
        assert_eq!(fixture.app.sql(&acl).await, 1);
        let roles = json!({"id": tenant_fixture.colleague.id, "roles": ["Clerk", "employee"]});
        run(&fixture, &tenant_fixture.tenant_admin, &Call::put(USERS, roles)).await;
        arrange(&fixture, tenant_fixture).await;
        crate::composed::seed(&fixture, tenant_fixture).await;
        let logo = json!({"id": tenant_fixture.leaf, "logoUrl": "https://example.test/logo.png"});
        run(&fixture, &tenant_fixture.tenant_admin, &Call::put(ORGANIZATIONS, logo)).await;
    }
    fixture
}

/// Creates sidebars: the admin's variants have the ids of organizations; `child` is the active one, `leaf` the other.
async fn arrange(fixture: &Fixture, tenant_fixture: &TenantFixture) {
    let settings = json!({"groupOrder": ["auth"], "hiddenItems": ["roles"]});
    for (id, user, is_active) in [
        (tenant_fixture.child, tenant_fixture.tenant_admin.id, true),
        (tenant_fixture.leaf, tenant_fixture.tenant_admin.id, false),
        (tenant_fixture.other, tenant_fixture.colleague.id, true),
    ] {
        let variant = format!(
            "insert into auth_sidebar_variants (tenant_id, id, user_id, locale, name, name_norm, settings, is_active, \
                 created_at, updated_at) \
             values ('{0}', '{id}', '{user}', 'en', 'V {id}', 'v {id}', '{1}', {is_active}, '2026-11-20T07:00:00Z', \
                 '2026-11-20T07:00:00Z')",
            tenant_fixture.tenant,
            json!({"version": 3, "groupOrder": [], "groupLabels": {}, "itemLabels": {}, "hiddenItems": ["users"], "itemOrder": {}})
        );
        assert_eq!(fixture.app.sql(&variant).await, 1);
    }
    let own = format!(
        "insert into auth_sidebar_preferences (tenant_id, id, user_id, locale, settings, created_at, updated_at) \
         values ('{0}', '{1}', '{1}', 'pl', '{2}', '2026-11-20T07:00:00Z', '2026-11-20T07:00:00Z')",
        tenant_fixture.tenant,
        tenant_fixture.colleague.id,
        json!({"version": 1, "groupOrder": ["x"], "groupLabels": {}, "itemLabels": {}, "hiddenItems": [], "itemOrder": {}})
    );
    assert_eq!(fixture.app.sql(&own).await, 1);
    let applied = json!({"settings": settings, "applyToRoles": [tenant_fixture.spare_role]});
    run(fixture, &tenant_fixture.tenant_admin, &Call::put(PREFERENCES, applied)).await;
}

/// Sends a request that must succeed.
pub(crate) async fn run(fixture: &Fixture, caller: &Account, call: &Call) -> Value {
    let response = call.send(&fixture.app, &caller.token).await;
    assert!(response.status < 400, "{call}: {} {}", response.status, response.text());
    response.json()
}

/// The table.
pub(crate) fn scenarios() -> Vec<Scenario> {
    let mut all = roles();
    all.extend(users());
    all.extend(organizations());
    all.extend(sidebars());
    all.extend(COMPOSED.iter().flat_map(|composed| (composed.scenarios)()));
    all
}

fn roles() -> Vec<Scenario> {
    vec![
        scenario("auth.role.create", "a new name", |_| {
            Call::post(ROLES, json!({"name": "  Made here "}))
        }),
        scenario("auth.role.update", "held, with an ACL", |tenant_fixture| {
            Call::put(ROLES, json!({"id": tenant_fixture.role, "name": "RENAMED"}))
        }),
        scenario("auth.role.update", "only another case", |tenant_fixture| {
            Call::put(ROLES, json!({"id": tenant_fixture.spare_role, "name": "SPARE"}))
        }),
        scenario("auth.role.delete", "with an ACL", |tenant_fixture| {
            Call::delete(ROLES, tenant_fixture.spare_role)
        }),
        scenario("auth.role_acl.update", "all members", |tenant_fixture| {
            let body = json!({"roleId": tenant_fixture.spare_role, "features": ["auth.users.*", "audit_logs.view_self"],
                "organizations": [tenant_fixture.child]});
            Call::put(ROLE_ACL, body)
        }),
        scenario("auth.role_acl.update", "wider", |tenant_fixture| {
            Call::put(
                ROLE_ACL,
                json!({"roleId": tenant_fixture.spare_role, "organizations": null}),
            )
        }),
        scenario("auth.role_acl.update", "emptied", |tenant_fixture| {
            Call::put(ROLE_ACL, json!({"roleId": tenant_fixture.role, "features": []}))
        }),
    ]
}

fn users() -> Vec<Scenario> {
    vec![
        scenario("auth.user.create", "with password and roles", |tenant_fixture| {
            let body = json!({"email": "Made@House.test", "name": "Made", "organizationId": tenant_fixture.child,
                "roles": ["Clerk", tenant_fixture.spare_role], "password": PASSWORD});
            Call::post(USERS, body)
        }),
        scenario("auth.user.create", "bare", |tenant_fixture| {
            let body = json!({"email": "bare@house.test", "organizationId": tenant_fixture.other, "isActive": false});
            Call::post(USERS, body)
        }),
        scenario("auth.user.update", "all members", |tenant_fixture| {
            let body = json!({"id": tenant_fixture.colleague.id, "email": "Renamed@House.test", "name": null,
                "organizationId": tenant_fixture.other, "roles": ["Local", tenant_fixture.role], "isActive": false});
            Call::put(USERS, body)
        }),
        scenario("auth.user.update", "no roles", |tenant_fixture| {
            Call::put(USERS, json!({"id": tenant_fixture.colleague.id, "roles": []}))
        }),
        scenario("auth.user_acl.update", "changed", |tenant_fixture| {
            let body = json!({"userId": tenant_fixture.colleague.id, "features": ["auth.users.list", "auth.roles.*"],
                "organizations": [tenant_fixture.child]});
            Call::put(USER_ACL, body)
        }),
        scenario("auth.user_acl.update", "removed", |tenant_fixture| {
            Call::put(USER_ACL, json!({"userId": tenant_fixture.colleague.id, "features": []}))
        }),
        scenario("auth.user_acl.update", "made", |tenant_fixture| {
            let body =
                json!({"userId": tenant_fixture.user.id, "features": ["auth.users.list"], "organizations": null});
            Call::put(USER_ACL, body)
        }),
        scenario("auth.user.delete", "with roles, ACL and password", |tenant_fixture| {
            Call::delete(USERS, tenant_fixture.colleague.id)
        }),
        scenario("auth.user.delete", "signed in", |tenant_fixture| {
            Call::delete(USERS, tenant_fixture.user.id)
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
        own("below another", |tenant_fixture| {
            let body = json!({"name": "Made", "parentId": tenant_fixture.leaf, "logoUrl": "/api/attachments/x", "isActive": false});
            Call::post(ORGANIZATIONS, body)
        }),
        own("at the top", |_| {
            Call::post(ORGANIZATIONS, json!({"name": "Ünïcode & more", "slug": "made"}))
        }),
        scenario(
            "directory.organization.update",
            "moved with children",
            |tenant_fixture| {
                let body = json!({"id": tenant_fixture.child, "name": "Renamed", "slug": "renamed", "parentId": tenant_fixture.other,
                "logoUrl": "https://example.test/x.png"});
                Call::put(ORGANIZATIONS, body)
            },
        ),
        scenario(
            "directory.organization.update",
            "to the top, switched off",
            |tenant_fixture| {
                let body = json!({"id": tenant_fixture.leaf, "parentId": null, "logoUrl": null, "isActive": false});
                Call::put(ORGANIZATIONS, body)
            },
        ),
        scenario("directory.organization.delete", "below another", |tenant_fixture| {
            Call::delete(ORGANIZATIONS, tenant_fixture.leaf)
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
        own("auth.sidebar_preference.update", "with roles", |tenant_fixture| {
            let body = json!({"settings": {"groupOrder": ["b"]}, "applyToRoles": [tenant_fixture.role],
                "clearRoleIds": [tenant_fixture.spare_role]});
            Call::put(PREFERENCES, body)
        }),
        own("auth.role_sidebar_preference.update", "made", |tenant_fixture| {
            let scope = json!({"type": "role", "roleId": tenant_fixture.role});
            Call::put(PREFERENCES, json!({"scope": scope, "hiddenItems": ["users"]}))
        }),
        own("auth.role_sidebar_preference.update", "changed", |tenant_fixture| {
            let scope = json!({"type": "role", "roleId": tenant_fixture.spare_role});
            Call::put(PREFERENCES, json!({"scope": scope, "version": 2}))
        }),
        own("auth.role_sidebar_preference.delete", "as it is", |tenant_fixture| {
            Call::new(Method::DELETE, PREFERENCES).with_query("roleId", &tenant_fixture.spare_role.to_string())
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
        own("auth.sidebar_variant.update", "activated", |tenant_fixture| {
            Call::put(
                &variant(tenant_fixture.leaf),
                json!({"isActive": true, "name": "RENAMED"}),
            )
        }),
        own("auth.sidebar_variant.update", "switched off", |tenant_fixture| {
            Call::put(
                &variant(tenant_fixture.child),
                json!({"isActive": false, "settings": {}}),
            )
        }),
        own("auth.sidebar_variant.delete", "active", |tenant_fixture| {
            Call::new(Method::DELETE, &variant(tenant_fixture.child))
        }),
        own("auth.sidebar_variant.delete", "not active", |tenant_fixture| {
            Call::new(Method::DELETE, &variant(tenant_fixture.leaf))
        }),
    ]
}

fn variant(id: Uuid) -> String {
    format!("{VARIANTS}/{id}")
}
