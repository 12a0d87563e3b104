use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, id_of};

#[actix_web::test]
async fn a_role_is_created_found_renamed_and_removed() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;

    let (created, body) = fixture
        .app
        .post(token, "/auth/roles", json!({"name": "  Dispatcher "}))
        .await;
    let id = id_of(&body);
    let (_, found) = fixture.app.get(token, "/auth/roles?search=dispa").await;
    let (renamed, _) = fixture
        .app
        .put(token, "/auth/roles", json!({"id": id, "name": "Planner"}))
        .await;
    let (_, after) = fixture.app.get(token, &format!("/auth/roles?id={id}")).await;
    let (deleted, _) = fixture
        .app
        .delete(token, &format!("/auth/roles?id={id}"), json!(null))
        .await;
    let (_, gone) = fixture.app.get(token, &format!("/auth/roles?id={id}")).await;

    assert_eq!((created, renamed, deleted), (201, 200, 200));
    assert_eq!(found["total"], 1);
    assert_eq!(found["items"][0]["name"], "Dispatcher");
    assert_eq!(found["items"][0]["tenantName"], "Alpha");
    assert_eq!(found["items"][0]["usersCount"], 0);
    assert_eq!(after["items"][0]["name"], "Planner");
    assert_eq!(
        gone,
        json!({"items": [], "total": 0, "page": 1, "pageSize": 50, "totalPages": 1})
    );
}

#[actix_web::test]
async fn acc_30_global_roles_belong_to_super_administrators() {
    let fixture = Fixture::new().await;

    let (_, body) = fixture
        .app
        .post(&fixture.root, "/auth/roles", json!({"name": "Auditor"}))
        .await;
    let global = id_of(&body);
    let (_, seen) = fixture
        .app
        .get(&fixture.b.token, &format!("/auth/roles?id={global}"))
        .await;
    let (renamed, text) = fixture
        .app
        .put(&fixture.a.token, "/auth/roles", json!({"id": global, "name": "Mine"}))
        .await;
    let (deleted, _) = fixture
        .app
        .delete(&fixture.a.token, &format!("/auth/roles?id={global}"), json!(null))
        .await;
    let (reserved, reserved_text) = fixture
        .app
        .post(&fixture.a.token, "/auth/roles", json!({"name": "SuperAdmin"}))
        .await;
    fixture
        .app
        .post(&fixture.a.token, "/auth/roles", json!({"name": "Twice"}))
        .await;
    let (duplicates, twice_text) = fixture
        .app
        .post(&fixture.a.token, "/auth/roles", json!({"name": "tWICE"}))
        .await;

    assert_eq!(seen["items"][0]["tenantId"], json!(null));
    assert_eq!(renamed, 403);
    assert_eq!(
        text["error"],
        "Global roles can only be changed by super administrators."
    );
    assert_eq!(deleted, 403);
    assert_eq!(
        (reserved, reserved_text["error"].as_str()),
        (400, Some("Role name is reserved"))
    );
    assert_eq!((duplicates, twice_text["code"].as_str()), (400, Some("duplicate_name")));
}

#[actix_web::test]
async fn acc_31_a_role_with_users_stays_and_one_without_comes_back_with_its_acl() {
    let fixture = Fixture::new().await;
    let role = fixture.role("Dispatcher", &["auth.users.list"], None).await;
    let path = format!("/auth/roles?id={role}");
    let (user, _) = fixture.user("ann@alpha.test", &["Dispatcher"]).await;

    let (held, text) = fixture.app.delete(&fixture.a.token, &path, json!(null)).await;
    fixture
        .app
        .put(&fixture.a.token, "/auth/users", json!({"id": user, "roles": []}))
        .await;
    let response = fixture
        .app
        .send(&fixture.a.token, Method::DELETE, &path, json!(null))
        .await;
    let (undone, _) = fixture.app.undo(&fixture.a.token, &response).await;
    let (_, acl) = fixture
        .app
        .get(&fixture.a.token, &format!("/auth/roles/acl?roleId={role}"))
        .await;

    assert_eq!((held, text["code"].as_str()), (400, Some("role_in_use")));
    assert_eq!((response.status, undone), (200, 200));
    assert_eq!(acl["features"], json!(["auth.users.list"]));
}

#[actix_web::test]
async fn a_stale_update_is_rejected_and_changes_nothing() {
    let fixture = Fixture::new().await;
    let (_, body) = fixture
        .app
        .post(&fixture.a.token, "/auth/roles", json!({"name": "Dispatcher"}))
        .await;
    let id = id_of(&body);
    let (_, list) = fixture.app.get(&fixture.a.token, &format!("/auth/roles?id={id}")).await;
    let read = list["items"][0]["updatedAt"].as_str().expect("a timestamp").to_owned();
    let put = |name: &str, expected: &str| {
        fixture
            .app
            .request(Method::PUT, "/auth/roles")
            .bearer(&fixture.a.token)
            .header("if-match", &format!("\"{expected}\""))
            .json(&json!({"id": id, "name": name}))
            .send()
    };

    let first = put("One", &read).await;
    let second = put("Two", &read).await;

    assert_eq!(first.status, 200);
    assert_eq!(second.status, 409);
    assert_eq!(second.json()["code"], "optimistic_lock_conflict");
    assert_eq!(second.json()["expectedUpdatedAt"], read);
    let (_, list) = fixture.app.get(&fixture.a.token, &format!("/auth/roles?id={id}")).await;
    assert_eq!(list["items"][0]["name"], "One");
}

#[actix_web::test]
async fn another_tenants_role_is_like_one_that_does_not_exist() {
    let fixture = Fixture::new().await;
    let role = fixture.role("Dispatcher", &[], None).await;
    let unknown = Uuid::from_u128(1);
    for id in [role, unknown] {
        let (status, body) = fixture
            .app
            .put(&fixture.b.token, "/auth/roles", json!({"id": id, "name": "Mine"}))
            .await;
        assert_eq!((status, body), (404, json!({"error": "Role not found"})));
        let (status, body) = fixture
            .app
            .delete(&fixture.b.token, &format!("/auth/roles?id={id}"), json!(null))
            .await;
        assert_eq!((status, body), (404, json!({"error": "Role not found"})));
    }
}

#[actix_web::test]
async fn an_idempotency_key_creates_one_role_however_often_it_is_sent() {
    let fixture = Fixture::new().await;
    let post = |name: &str| {
        let body = json!({"name": name});
        let request = fixture
            .app
            .request(Method::POST, "/auth/roles")
            .bearer(&fixture.a.token);
        request.header("idempotency-key", "key-1").json(&body).send()
    };

    let first = post("Dispatcher").await;
    let again = post("Dispatcher").await;
    let other = post("Planner").await;

    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.json(), again.json());
    assert_eq!(first.operation(), again.operation());
    assert_eq!(again.header("idempotency-replayed").as_deref(), Some("true"));
    assert_eq!(other.status, 422);
}

#[actix_web::test]
async fn acc_30_a_role_of_an_administrator_belongs_to_its_tenant() {
    let fixture = Fixture::new().await;
    let role = fixture.role("Local", &[], None).await;
    let path = format!("/auth/roles?id={role}");

    let (_, own) = fixture.app.get(&fixture.a.token, &path).await;
    let (_, foreign) = fixture.app.get(&fixture.b.token, &path).await;
    let elsewhere = json!({"name": "Elsewhere", "tenantId": fixture.b.id});
    let (rejected, _) = fixture
        .app
        .post(&fixture.a.token, "/auth/roles", elsewhere.clone())
        .await;
    let (created, body) = fixture.app.post(&fixture.root, "/auth/roles", elsewhere).await;
    let path = format!("/auth/roles?id={}", id_of(&body));
    let (_, seen) = fixture.app.get(&fixture.b.token, &path).await;

    assert_eq!(own["items"][0]["tenantId"], json!(fixture.a.id));
    assert_eq!(foreign["total"], 0);
    assert_eq!((rejected, created), (403, 201));
    assert_eq!(seen["items"][0]["tenantId"], json!(fixture.b.id));
}

#[actix_web::test]
async fn acc_31_undo_needs_the_rights_that_the_caller_has_now() {
    let features = [
        "auth.roles.list",
        "auth.roles.manage",
        "auth.users.list",
        "audit_logs.undo_self",
    ];
    for (lost, expected) in [
        (None, 200),
        (Some("auth.roles.manage"), 403),
        (Some("auth.users.list"), 403),
    ] {
        let fixture = Fixture::new().await;
        let own = fixture.role("Manager", &features, None).await;
        let (_, token) = fixture.user("manager@alpha.test", &["Manager"]).await;
        let role = fixture.role("Target", &["auth.users.list"], None).await;
        let path = format!("/auth/roles?id={role}");
        let response = fixture.app.send(&token, Method::DELETE, &path, json!(null)).await;
        assert_eq!(response.status, 200, "{}", response.text());
        let left: Vec<&str> = features.into_iter().filter(|one| Some(*one) != lost).collect();
        let acl = json!({"roleId": own, "features": left});
        assert_eq!(fixture.app.put(&fixture.root, "/auth/roles/acl", acl).await.0, 200);

        let (status, text) = fixture.app.undo(&token, &response).await;

        assert_eq!(status, expected, "{lost:?}: {text}");
        let query = format!("select id from auth_roles where id = '{role}'");
        let roles = fixture.app.rows(&query).await;
        assert_eq!(roles.len(), usize::from(expected == 200), "{lost:?}");
    }
}

#[actix_web::test]
async fn an_update_may_name_only_the_tenant_of_the_role() {
    let fixture = Fixture::new().await;
    let local = fixture.role("Local", &[], None).await;
    let (_, body) = fixture
        .app
        .post(&fixture.root, "/auth/roles", json!({"name": "Global"}))
        .await;
    let global = id_of(&body);
    let (none, alpha) = (Value::Null, json!(fixture.a.id));

    for (token, role, tenant, accepted) in [
        (&fixture.a.token, local, &none, false),
        (&fixture.root, local, &none, false),
        (&fixture.a.token, local, &alpha, true),
        (&fixture.root, local, &alpha, true),
        (&fixture.root, global, &alpha, false),
        (&fixture.root, global, &none, true),
    ] {
        let body = json!({"id": role, "name": "Planner", "tenantId": tenant});
        let (status, body) = fixture.app.put(token, "/auth/roles", body).await;
        let expected = match accepted {
            true => (200, json!({"ok": true})),
            false => (400, json!({"error": "A role cannot change its tenant"})),
        };
        assert_eq!((status, body), expected, "{role}, {tenant}");
    }
}

#[actix_web::test]
async fn a_role_to_which_a_module_refers_that_is_not_enabled_stays() {
    let fixture = Fixture::new().await;
    let role = fixture.role("Held", &["auth.users.list"], None).await;
    let table = "create table sample_holders (tenant_id uuid not null, role_id uuid not null, \
         constraint sample_holders_tenant_id_role_id_fkey \
             foreign key (tenant_id, role_id) references auth_roles (tenant_id, id))";
    fixture.app.sql(table).await;
    let row = format!("insert into sample_holders values ('{}', '{role}')", fixture.a.id);
    assert_eq!(fixture.app.sql(&row).await, 1);
    let path = format!("/auth/roles?id={role}");
    let delete = async || fixture.app.delete(&fixture.a.token, &path, json!(null)).await;

    let expected = json!({"error": "Role has assigned users", "code": "role_in_use"});
    assert_eq!(delete().await, (400, expected));
    assert_eq!(fixture.app.get(&fixture.a.token, &path).await.1["total"], 1);

    fixture.app.sql("delete from sample_holders").await;
    assert_eq!(delete().await.0, 200);
}
