//! What happens to people when their tenant or organization is closed.

use backoffice_core::command::{Attempt, Hook, Interceptor, Verdict};
use backoffice_core::db::Tx;
use backoffice_core::{Module, Result};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{PASSWORD, World, account, login};

const TENANTS: &str = "/directory/tenants";
const ORGANIZATIONS: &str = "/directory/organizations";

fn tenant_is(world: &World, active: bool) -> Value {
    json!({"id": world.a.id, "isActive": active})
}

async fn root_id(world: &World) -> Uuid {
    let (_, list) = world.app.get(&world.root, "/auth/users?search=root@").await;
    list["items"][0]["id"].as_str().expect("an id").parse().expect("a UUID")
}

/// A super administrator of tenant A who is the only one left.
async fn only_super_admin(world: &World, organization: Uuid) -> String {
    account(
        &world.app,
        Some(world.a.id),
        Some(organization),
        "boss@alpha.test",
        &[],
        true,
    )
    .await;
    let token = login(&world.app, "boss@alpha.test").await;
    let path = format!("/auth/users?id={}", root_id(world).await);
    assert_eq!(world.app.delete(&token, &path, Value::Null).await.0, 200);
    token
}

#[actix_web::test]
async fn acc_8_users_of_a_closed_tenant_are_signed_out_for_good() {
    let world = World::new().await;
    world.app.start_background();
    let signed_in = json!({"email": "admin@alpha.test", "password": PASSWORD});
    let (_, session) = world.app.post("", "/auth/login", signed_in.clone()).await;
    let refresh = json!({"refreshToken": session["refreshToken"]});
    let profile = || world.app.get(&world.a.token, "/auth/profile");
    assert_eq!(profile().await.0, 200);

    let (closed, _) = world.app.put(&world.root, TENANTS, tenant_is(&world, false)).await;
    let while_closed = (
        profile().await.0,
        world.app.post("", "/auth/session/refresh", refresh.clone()).await.0,
        world.app.post("", "/auth/login", signed_in.clone()).await.0,
        world.app.get(&world.b.token, "/auth/profile").await.0,
    );
    let (opened, _) = world.app.put(&world.root, TENANTS, tenant_is(&world, true)).await;

    assert_eq!((closed, opened), (200, 200));
    assert_eq!(while_closed, (401, 401, 401, 200), "the other tenant is not concerned");
    assert_eq!(profile().await.0, 401);
    assert_eq!(world.app.post("", "/auth/session/refresh", refresh).await.0, 401);
    assert_eq!(world.app.post("", "/auth/login", signed_in).await.0, 200);
}

#[actix_web::test]
async fn acc_8_users_of_a_deleted_tenant_are_signed_out_on_every_node() {
    let world = World::new().await;
    let node = world.app.second_node().await;
    node.start_background();
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert_eq!(node.get(&world.a.token, "/auth/profile").await.0, 200);

    let path = format!("{TENANTS}?id={}", world.a.id);
    assert_eq!(world.app.delete(&world.root, &path, Value::Null).await.0, 200);

    assert_eq!(world.app.get(&world.a.token, "/auth/profile").await.0, 401);
    tokio::time::sleep(std::time::Duration::from_millis(1000)).await;
    assert_eq!(node.get(&world.a.token, "/auth/profile").await.0, 401);
    let ended = "select end_reason from auth_sessions where ended_at is not null";
    assert_eq!(world.app.rows(ended).await, [json!({"end_reason": "tenant_closed"})]);
}

#[actix_web::test]
async fn renaming_a_tenant_signs_nobody_out() {
    let world = World::new().await;

    let (status, _) = world
        .app
        .put(&world.root, TENANTS, json!({"id": world.a.id, "name": "Renamed"}))
        .await;

    assert_eq!(status, 200);
    assert_eq!(world.app.get(&world.a.token, "/auth/profile").await.0, 200);
}

#[actix_web::test]
async fn acc_26_the_tenant_of_the_last_super_administrator_stays_open() {
    let world = World::new().await;
    only_super_admin(&world, world.a.organization).await;
    let before = world.app.image().await;
    let system = world.app.system_context();

    // Nobody who signs in closes its own tenant; the platform itself could.
    let patch: backoffice_directory::commands::TenantPatch =
        serde_json::from_value(tenant_is(&world, false)).expect("a patch");
    let update = backoffice_directory::commands::UpdateTenant::new(&system, patch).expect("valid");
    let closed = system.execute(&update, |()| backoffice_core::http::Json(())).await;
    let delete = backoffice_directory::commands::DeleteTenant::new(&system, world.a.id).expect("valid");
    let deleted = system.execute(&delete, |()| backoffice_core::http::Json(())).await;

    for refused in [closed.err(), deleted.err()] {
        let refusal = refused.expect("refused").to_refusal();
        assert_eq!(
            (refusal.status.as_u16(), refusal.code.as_deref()),
            (400, Some("last_super_admin"))
        );
    }
    assert!(world.app.image().await == before);
}

#[actix_web::test]
async fn acc_26_the_organization_of_the_last_super_administrator_stays_open() {
    let world = World::new().await;
    let boss = only_super_admin(&world, world.a.organization).await;
    let close = json!({"id": world.a.organization, "isActive": false});
    let before = world.app.image().await;

    // Also the tenant's own administrator, who sees neither that user nor other tenants.
    for token in [&boss, &world.a.token] {
        let (status, body) = world.app.put(token, ORGANIZATIONS, close.clone()).await;
        let expected = json!({"error": "The last super administrator cannot be removed.", "code": "last_super_admin"});
        assert_eq!((status, body), (400, expected));
    }
    assert!(world.app.image().await == before);

    // With another one elsewhere it may be closed, whoever can't see that one.
    account(
        &world.app,
        Some(world.b.id),
        Some(world.b.organization),
        "second@beta.test",
        &[],
        true,
    )
    .await;
    assert_eq!(world.app.put(&world.a.token, ORGANIZATIONS, close).await.0, 200);
}

#[actix_web::test]
async fn acc_26_undo_and_redo_do_not_lock_out_the_last_super_administrator_either() {
    let world = World::new().await;
    let made = json!({"name": "Depot"});
    let (_, depot) = world.app.post(&world.a.token, ORGANIZATIONS, made).await;
    let depot: Uuid = depot["id"].as_str().expect("an id").parse().expect("a UUID");
    let put = async |active: bool| {
        let request = world.app.request(actix_web::http::Method::PUT, ORGANIZATIONS);
        let request = request.bearer(&world.a.token);
        let response = request.json(&json!({"id": depot, "isActive": active})).send().await;
        response.operation().expect("undoable")
    };
    let history = |way: &str, body: Value| {
        let path = format!("/audit_logs/audit-logs/actions/{way}");
        async { world.app.post(&world.a.token, &{ path }, body).await }
    };
    // Closed and opened again by an undo, so that a redo would close it; opened by an edit, so that an undo would.
    let closed = put(false).await;
    let (undone, _) = history("undo", json!({"undoToken": closed["undoToken"]})).await;
    assert_eq!(undone, 200);
    only_super_admin(&world, depot).await;

    let (redone, why) = history("redo", json!({"logId": closed["id"]})).await;

    assert_eq!((redone, why["code"].as_str()), (400, Some("last_super_admin")));
    let state = "select is_active from directory_organizations where name = 'Depot'";
    assert_eq!(world.app.rows(state).await, [json!({"is_active": true})]);
}

#[actix_web::test]
async fn acc_26_of_many_ways_to_remove_the_last_two_at_once_one_remains() {
    let world = World::new().await;
    let (_, depot) = world
        .app
        .post(&world.a.token, ORGANIZATIONS, json!({"name": "Depot"}))
        .await;
    let depot: Uuid = depot["id"].as_str().expect("an id").parse().expect("a UUID");
    let boss = account(&world.app, Some(world.a.id), Some(depot), "boss@alpha.test", &[], true).await;
    let token = login(&world.app, "boss@alpha.test").await;
    let root = root_id(&world).await;
    let role = world
        .app
        .rows("select id from auth_roles where name = 'superadmin'")
        .await;
    let role = &role[0]["id"];

    let ways = (0..20).map(|number| {
        let (world, token) = (&world, &token);
        async move {
            match number % 9 {
                0 => {
                    world
                        .app
                        .put(&world.root, "/auth/users", json!({"id": boss, "isActive": false}))
                        .await
                }
                1 => {
                    world
                        .app
                        .put(&world.root, "/auth/users", json!({"id": boss, "roles": []}))
                        .await
                }
                2 => {
                    world
                        .app
                        .put(&world.a.token, ORGANIZATIONS, json!({"id": depot, "isActive": false}))
                        .await
                }
                3 => world.app.put(&world.root, TENANTS, tenant_is(world, false)).await,
                4 => {
                    let body = json!({"userId": boss, "features": ["auth.*"], "isSuperAdmin": false});
                    world.app.put(&world.root, "/auth/users/acl", body).await
                }
                5 => {
                    let body = json!({"roleId": role, "isSuperAdmin": false});
                    world.app.put(token, "/auth/roles/acl", body).await
                }
                6 => {
                    let path = format!("{TENANTS}?id={}", world.a.id);
                    world.app.delete(&world.root, &path, Value::Null).await
                }
                7 => {
                    let path = format!("{ORGANIZATIONS}?id={depot}");
                    world.app.delete(&world.root, &path, Value::Null).await
                }
                _ => {
                    world
                        .app
                        .delete(token, &format!("/auth/users?id={root}"), Value::Null)
                        .await
                }
            }
        }
    });
    let answers = futures_util::future::join_all(ways).await;

    assert!(answers.iter().any(|(status, _)| *status == 200), "{answers:?}");
    assert!(
        answers
            .iter()
            .all(|(status, _)| [200, 400, 401, 403, 404, 409].contains(status)),
        "{answers:?}"
    );
    let able = world
        .app
        .rows(
            "select u.email from auth_users u
             left join directory_tenants t on t.tenant_id = u.tenant_id
             left join directory_organizations o on o.tenant_id = u.tenant_id and o.id = u.organization_id
             join auth_user_roles l on l.tenant_id = u.tenant_id and l.user_id = u.id
             join auth_role_acls a on a.tenant_id = l.role_tenant_id and a.role_id = l.role_id and a.is_super_admin
             where u.deleted_at is null and u.is_active and coalesce(t.is_active, true) and coalesce(o.is_active, true)
               and t.deleted_at is null and o.deleted_at is null and not exists (
                   select 1 from auth_user_acls own where own.tenant_id = u.tenant_id and own.user_id = u.id)",
        )
        .await;
    assert_eq!(able.len(), 1, "{able:?} {answers:?}");
}

#[actix_web::test]
async fn a_super_administrator_who_selects_a_tenant_is_not_taken_for_the_last_one() {
    let world = World::new().await;
    let (ann, _) = world.user("ann@alpha.test", &["employee"]).await;

    let request = world.app.request(actix_web::http::Method::PUT, "/auth/users");
    let request = request
        .bearer(&world.root)
        .header("X-Tenant-Id", &world.a.id.to_string());
    let response = request.json(&json!({"id": ann, "isActive": false})).send().await;

    assert_eq!(response.status, 200, "{}", response.text());
}

#[actix_web::test]
async fn acc_26_the_last_super_administrator_is_not_moved_into_a_closed_organization() {
    let world = World::new().await;
    let boss = only_super_admin(&world, world.a.organization).await;
    let closed = json!({"name": "Closed", "isActive": false});
    let (_, closed) = world.app.post(&world.a.token, ORGANIZATIONS, closed).await;
    let (_, list) = world.app.get(&boss, "/auth/users?search=boss@").await;

    let body = json!({"id": list["items"][0]["id"], "organizationId": closed["id"]});
    let (status, why) = world.app.put(&boss, "/auth/users", body).await;

    assert_eq!((status, why["code"].as_str()), (400, Some("last_super_admin")));
}

#[actix_web::test]
async fn a_super_administrator_selects_an_organization_of_an_inactive_tenant() {
    let world = World::new().await;
    assert_eq!(
        world.app.put(&world.root, TENANTS, tenant_is(&world, false)).await.0,
        200
    );

    let request = world.app.request(actix_web::http::Method::GET, ORGANIZATIONS);
    let request = request
        .bearer(&world.root)
        .header("X-Tenant-Id", &world.a.id.to_string())
        .header("X-Organization-Id", &world.a.organization.to_string());
    let response = request.send().await;

    assert_eq!((response.status, &response.json()["total"]), (200, &json!(1)));
}

/// Refuses every change of an organization and says how many tenants the transaction shows, after the guards have asked across all.
static WITNESS: Module = Module {
    name: "witness",
    requires: &["auth"],
    register: |registry| {
        registry.interceptor(Interceptor {
            id: "witness.tenants",
            target: "directory.organization.update",
            priority: 300,
            run: |tx, attempt| Box::pin(count_tenants(tx, attempt)),
        });
    },
    ..Module::EMPTY
};

#[derive(diesel::QueryableByName)]
struct Count {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    count: i64,
}

async fn count_tenants(tx: &mut Tx<'_>, attempt: &Attempt<'_>) -> Result<Verdict> {
    use diesel_async::RunQueryDsl;

    if attempt.hook != Hook::AfterExecute {
        return Ok(Verdict::Continue);
    }
    let statement = diesel::sql_query("select count(*) as count from directory_tenants");
    let seen: Count = statement.get_result(tx.conn()).await?;
    Ok(Verdict::Refuse {
        message: seen.count.to_string(),
        code: None,
        status: None,
        body: None,
    })
}

#[actix_web::test]
async fn looking_across_tenants_ends_with_the_question() {
    let world = World::with_modules(&[&WITNESS]).await;
    let (_, depot) = world
        .app
        .post(&world.a.token, ORGANIZATIONS, json!({"name": "Depot"}))
        .await;

    let close = json!({"id": depot["id"], "isActive": false});
    let by_administrator = world.app.put(&world.a.token, ORGANIZATIONS, close.clone()).await;
    let by_super_admin = world.app.put(&world.root, ORGANIZATIONS, close).await;

    assert_eq!(by_administrator, (422, json!({"error": "1"})));
    assert_eq!(by_super_admin, (422, json!({"error": "2"})));
}
