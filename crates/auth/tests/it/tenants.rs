//! Effects of closing a tenant or organization on its users.

use actix_web::http::Method;
use backoffice_core::command::{Hook, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::{Module, Result};
use backoffice_test_accounts::ORGANIZATIONS;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, PASSWORD, account, login};

const TENANTS: &str = "/directory/tenants";

fn tenant_is(fixture: &Fixture, active: bool) -> Value {
    json!({"id": fixture.a.id, "isActive": active})
}

async fn root_id(fixture: &Fixture) -> Uuid {
    let (_, list) = fixture.app.get(&fixture.root, "/auth/users?search=root@").await;
    list["items"][0]["id"].as_str().expect("an id").parse().expect("a UUID")
}

/// A super administrator of tenant A who is the only one left.
async fn only_super_admin(fixture: &Fixture, organization: Uuid) -> String {
    account(
        &fixture.app,
        Some(fixture.a.id),
        Some(organization),
        "boss@alpha.test",
        &[],
        true,
    )
    .await;
    let token = login(&fixture.app, "boss@alpha.test").await;
    let path = format!("/auth/users?id={}", root_id(fixture).await);
    assert_eq!(fixture.app.delete(&token, &path, Value::Null).await.0, 200);
    token
}

#[actix_web::test]
async fn acc_8_users_of_a_closed_tenant_are_signed_out_for_good() {
    let fixture = Fixture::new().await;
    fixture.app.start_background();
    let signed_in = json!({"email": "admin@alpha.test", "password": PASSWORD});
    let (_, session) = fixture.app.post("", "/auth/login", signed_in.clone()).await;
    let refresh = json!({"refreshToken": session["refreshToken"]});
    let profile = || fixture.app.get(&fixture.a.token, "/auth/profile");
    assert_eq!(profile().await.0, 200);

    let (closed, _) = fixture
        .app
        .put(&fixture.root, TENANTS, tenant_is(&fixture, false))
        .await;
    let while_closed = (
        profile().await.0,
        fixture.app.post("", "/auth/session/refresh", refresh.clone()).await.0,
        fixture.app.post("", "/auth/login", signed_in.clone()).await.0,
        fixture.app.get(&fixture.b.token, "/auth/profile").await.0,
    );
    let (opened, _) = fixture.app.put(&fixture.root, TENANTS, tenant_is(&fixture, true)).await;

    assert_eq!((closed, opened), (200, 200));
    assert_eq!(while_closed, (401, 401, 401, 200), "the other tenant is not concerned");
    assert_eq!(profile().await.0, 401);
    assert_eq!(fixture.app.post("", "/auth/session/refresh", refresh).await.0, 401);
    assert_eq!(fixture.app.post("", "/auth/login", signed_in).await.0, 200);
}

#[actix_web::test]
async fn acc_8_users_of_a_deleted_tenant_are_signed_out_on_every_node() {
    let fixture = Fixture::new().await;
    let node = fixture.app.second_node().await;
    node.start_background();
    node.poll_revocations().await;
    assert_eq!(node.get(&fixture.a.token, "/auth/profile").await.0, 200);

    let path = format!("{TENANTS}?id={}", fixture.a.id);
    assert_eq!(fixture.app.delete(&fixture.root, &path, Value::Null).await.0, 200);

    assert_eq!(fixture.app.get(&fixture.a.token, "/auth/profile").await.0, 401);
    node.poll_revocations().await;
    assert_eq!(node.get(&fixture.a.token, "/auth/profile").await.0, 401);
    let ended = "select end_reason from auth_sessions where ended_at is not null";
    assert_eq!(fixture.app.rows(ended).await, [json!({"end_reason": "tenant_closed"})]);
}

#[actix_web::test]
async fn renaming_a_tenant_ends_no_session() {
    let fixture = Fixture::new().await;

    let (status, _) = fixture
        .app
        .put(&fixture.root, TENANTS, json!({"id": fixture.a.id, "name": "Renamed"}))
        .await;

    assert_eq!(status, 200);
    assert_eq!(fixture.app.get(&fixture.a.token, "/auth/profile").await.0, 200);
}

#[actix_web::test]
async fn acc_26_the_tenant_of_the_last_super_administrator_stays_open() {
    let fixture = Fixture::new().await;
    only_super_admin(&fixture, fixture.a.organization).await;
    let before = fixture.app.snapshot().await;
    let system = fixture.app.system_context();

    // No signed-in user can close their own tenant; the platform itself can.
    let patch: backoffice_directory::commands::TenantPatch =
        serde_json::from_value(tenant_is(&fixture, false)).expect("a patch");
    let update = backoffice_directory::commands::UpdateTenant::new(&system, patch).expect("valid");
    let closed = system.execute(&update, |()| backoffice_core::http::Json(())).await;
    let delete = backoffice_directory::commands::DeleteTenant::new(&system, fixture.a.id).expect("valid");
    let deleted = system.execute(&delete, |()| backoffice_core::http::Json(())).await;

    for rejected in [closed.err(), deleted.err()] {
        let rejection = rejected.expect("rejected").to_rejection();
        assert_eq!(
            (rejection.status.as_u16(), rejection.code.as_deref()),
            (400, Some("last_super_admin"))
        );
    }
    assert!(fixture.app.snapshot().await == before);
}

#[actix_web::test]
async fn acc_26_the_organization_of_the_last_super_administrator_stays_open() {
    let fixture = Fixture::new().await;
    let boss = only_super_admin(&fixture, fixture.a.organization).await;
    let close = json!({"id": fixture.a.organization, "isActive": false});
    let before = fixture.app.snapshot().await;

    // Also the tenant's own administrator, who sees neither that user nor other tenants.
    for token in [&boss, &fixture.a.token] {
        let (status, body) = fixture.app.put(token, ORGANIZATIONS, close.clone()).await;
        let expected = json!({"error": "The last super administrator cannot be removed.", "code": "last_super_admin"});
        assert_eq!((status, body), (400, expected));
    }
    assert!(fixture.app.snapshot().await == before);

    // With another super administrator elsewhere, every caller may close it, even one who does not see that administrator.
    account(
        &fixture.app,
        Some(fixture.b.id),
        Some(fixture.b.organization),
        "second@beta.test",
        &[],
        true,
    )
    .await;
    assert_eq!(fixture.app.put(&fixture.a.token, ORGANIZATIONS, close).await.0, 200);
}

#[actix_web::test]
async fn acc_26_undo_and_redo_do_not_lock_out_the_last_super_administrator_either() {
    let fixture = Fixture::new().await;
    let depot = fixture.organization("Depot", None).await;
    let put = async |active: bool| {
        let body = json!({"id": depot, "isActive": active});
        let response = fixture.app.send(&fixture.a.token, Method::PUT, ORGANIZATIONS, body);
        response.await.undoable_write()
    };
    // Closed and opened again by an undo, so that a redo would close it; opened by an edit, so that an undo would.
    let closed = put(false).await;
    let (undone, _) = fixture.app.undo(&fixture.a.token, &closed).await;
    assert_eq!(undone, 200);
    only_super_admin(&fixture, depot).await;

    let (redone, why) = fixture.app.redo(&fixture.a.token, &closed).await;

    assert_eq!((redone, why["code"].as_str()), (400, Some("last_super_admin")));
    let state = "select is_active from directory_organizations where name = 'Depot'";
    assert_eq!(fixture.app.rows(state).await, [json!({"is_active": true})]);
}

#[actix_web::test]
async fn acc_26_of_many_ways_to_remove_the_last_two_at_once_one_remains() {
    let fixture = Fixture::new().await;
    let (_, depot) = fixture
        .app
        .post(&fixture.a.token, ORGANIZATIONS, json!({"name": "Depot"}))
        .await;
    let depot: Uuid = depot["id"].as_str().expect("an id").parse().expect("a UUID");
    let boss = account(
        &fixture.app,
        Some(fixture.a.id),
        Some(depot),
        "boss@alpha.test",
        &[],
        true,
    )
    .await;
    let token = login(&fixture.app, "boss@alpha.test").await;
    let root = root_id(&fixture).await;
    let role = fixture
        .app
        .rows("select id from auth_roles where name = 'superadmin'")
        .await;
    let role = &role[0]["id"];

    let ways = (0..20).map(|number| {
        let (fixture, token) = (&fixture, &token);
        async move {
            match number % 9 {
                0 => {
                    fixture
                        .app
                        .put(&fixture.root, "/auth/users", json!({"id": boss, "isActive": false}))
                        .await
                }
                1 => {
                    fixture
                        .app
                        .put(&fixture.root, "/auth/users", json!({"id": boss, "roles": []}))
                        .await
                }
                2 => {
                    fixture
                        .app
                        .put(&fixture.a.token, ORGANIZATIONS, json!({"id": depot, "isActive": false}))
                        .await
                }
                3 => fixture.app.put(&fixture.root, TENANTS, tenant_is(fixture, false)).await,
                4 => {
                    let body = json!({"userId": boss, "features": ["auth.*"], "isSuperAdmin": false});
                    fixture.app.put(&fixture.root, "/auth/users/acl", body).await
                }
                5 => {
                    let body = json!({"roleId": role, "isSuperAdmin": false});
                    fixture.app.put(token, "/auth/roles/acl", body).await
                }
                6 => {
                    let path = format!("{TENANTS}?id={}", fixture.a.id);
                    fixture.app.delete(&fixture.root, &path, Value::Null).await
                }
                7 => {
                    let path = format!("{ORGANIZATIONS}?id={depot}");
                    fixture.app.delete(&fixture.root, &path, Value::Null).await
                }
                _ => {
                    fixture
                        .app
                        .delete(token, &format!("/auth/users?id={root}"), Value::Null)
                        .await
                }
            }
        }
    });
    let responses = futures_util::future::join_all(ways).await;

    assert!(responses.iter().any(|(status, _)| *status == 200), "{responses:?}");
    assert!(
        responses
            .iter()
            .all(|(status, _)| [200, 400, 401, 403, 404, 409].contains(status)),
        "{responses:?}"
    );
    let able = fixture
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
    assert_eq!(able.len(), 1, "{able:?} {responses:?}");
}

#[actix_web::test]
async fn a_super_administrator_who_selects_a_tenant_is_not_taken_for_the_last_one() {
    let fixture = Fixture::new().await;
    let (ann, _) = fixture.user("ann@alpha.test", &["employee"]).await;

    let request = fixture.app.request(Method::PUT, "/auth/users");
    let request = request
        .bearer(&fixture.root)
        .header("X-Tenant-Id", &fixture.a.id.to_string());
    let response = request.json(&json!({"id": ann, "isActive": false})).send().await;

    assert_eq!(response.status, 200, "{}", response.text());
}

#[actix_web::test]
async fn acc_26_the_last_super_administrator_is_not_moved_into_a_closed_organization() {
    let fixture = Fixture::new().await;
    let boss = only_super_admin(&fixture, fixture.a.organization).await;
    let closed = json!({"name": "Closed", "isActive": false});
    let (_, closed) = fixture.app.post(&fixture.a.token, ORGANIZATIONS, closed).await;
    let (_, list) = fixture.app.get(&boss, "/auth/users?search=boss@").await;

    let body = json!({"id": list["items"][0]["id"], "organizationId": closed["id"]});
    let (status, why) = fixture.app.put(&boss, "/auth/users", body).await;

    assert_eq!((status, why["code"].as_str()), (400, Some("last_super_admin")));
}

#[actix_web::test]
async fn a_super_administrator_selects_an_organization_of_an_inactive_tenant() {
    let fixture = Fixture::new().await;
    assert_eq!(
        fixture
            .app
            .put(&fixture.root, TENANTS, tenant_is(&fixture, false))
            .await
            .0,
        200
    );

    let request = fixture.app.request(Method::GET, ORGANIZATIONS);
    let request = request
        .bearer(&fixture.root)
        .header("X-Tenant-Id", &fixture.a.id.to_string())
        .header("X-Organization-Id", &fixture.a.organization.to_string());
    let response = request.send().await;

    assert_eq!((response.status, &response.json()["total"]), (200, &json!(1)));
}

/// Rejects every change of an organization and reports how many tenants the transaction sees after the guards have queried all tenants.
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

async fn count_tenants(tx: &mut Tx<'_>, attempt: &InterceptorContext<'_>) -> Result<Verdict> {
    use diesel_async::RunQueryDsl;

    if attempt.hook != Hook::AfterExecute {
        return Ok(Verdict::Continue);
    }
    let statement = diesel::sql_query("select count(*) as count from directory_tenants");
    let seen: Count = statement.get_result(tx.conn()).await?;
    Ok(Verdict::Reject {
        message: seen.count.to_string(),
        code: None,
        status: None,
        body: None,
    })
}

#[actix_web::test]
async fn looking_across_tenants_ends_with_the_question() {
    let fixture = Fixture::with_modules(&[&WITNESS]).await;
    let (_, depot) = fixture
        .app
        .post(&fixture.a.token, ORGANIZATIONS, json!({"name": "Depot"}))
        .await;

    let close = json!({"id": depot["id"], "isActive": false});
    let by_administrator = fixture.app.put(&fixture.a.token, ORGANIZATIONS, close.clone()).await;
    let by_super_admin = fixture.app.put(&fixture.root, ORGANIZATIONS, close).await;

    assert_eq!(by_administrator, (422, json!({"error": "1"})));
    assert_eq!(by_super_admin, (422, json!({"error": "2"})));
}
