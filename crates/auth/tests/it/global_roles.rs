//! Global roles, written by super administrators who selected a tenant.

use std::collections::BTreeSet;

use actix_web::http::Method;
use backoffice_test_support::{REDO, TestResponse, UNDO};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, account, id_of};

async fn in_tenant(fixture: &Fixture, method: Method, path: &str, body: Option<Value>) -> TestResponse {
    let request = fixture.app.request(method, path).bearer(&fixture.root);
    let request = request.header("X-Tenant-Id", &fixture.a.id.to_string());
    match body {
        Some(body) => request.json(&body).send().await,
        None => request.send().await,
    }
}

#[actix_web::test]
async fn acc_30_a_global_role_is_written_whatever_tenant_is_selected_and_each_step_can_be_undone() {
    let fixture = Fixture::new().await;
    let created = in_tenant(&fixture, Method::POST, "/auth/roles", Some(json!({"name": "Auditor"}))).await;
    let id = id_of(&created.json());
    let snapshot = async || {
        let query = "select r.name, r.tenant_id, a.features from auth_roles r \
             left join auth_role_acls a on a.tenant_id = r.tenant_id and a.role_id = r.id";
        fixture.app.rows(&format!("{query} where r.id = '{id}'")).await
    };
    let acl = json!({"roleId": id, "features": ["auth.users.list"]});

    for (method, path, body) in [
        (
            Method::PUT,
            "/auth/roles".to_owned(),
            Some(json!({"id": id, "name": "Inspector"})),
        ),
        (Method::PUT, "/auth/roles/acl".to_owned(), Some(acl)),
        (Method::DELETE, format!("/auth/roles?id={id}"), None),
    ] {
        let before = snapshot().await;
        let written = in_tenant(&fixture, method.clone(), &path, body.clone()).await;
        let after = snapshot().await;
        assert_eq!(written.status, 200, "{method} {path}: {}", written.text());
        assert_ne!(after, before, "{method} {path}");

        // The log entry belongs to the platform; it is found with any selection, like the role.
        let (undone, why) = fixture.app.undo(&fixture.root, &written).await;
        assert_eq!(undone, 200, "{method} {path}: {why}");
        assert_eq!(snapshot().await, before, "{method} {path}");
        let (redone, why) = fixture.app.redo(&fixture.root, &written).await;
        assert_eq!(redone, 200, "{method} {path}: {why}");
        assert_eq!(snapshot().await, after, "{method} {path}");
    }
}

#[actix_web::test]
async fn acc_30_a_selected_tenant_does_not_keep_a_super_administrator_from_undoing_a_global_role() {
    let fixture = Fixture::new().await;
    let created = in_tenant(&fixture, Method::POST, "/auth/roles", Some(json!({"name": "Auditor"}))).await;
    let write = created.undoable_write();
    let undo = json!({"undoToken": write.token});
    let count = format!("auth_roles where id = '{}'", id_of(&created.json()));
    let before = fixture.app.snapshot().await;

    let (status, rejected) = fixture.app.post(&fixture.a.token, UNDO, undo.clone()).await;

    assert_eq!(
        (status, &rejected["error"]),
        (400, &json!("Undo token not available")),
        "an administrator of a tenant"
    );
    assert_eq!(fixture.app.snapshot().await, before);
    let undone = in_tenant(&fixture, Method::POST, UNDO, Some(undo)).await;
    assert_eq!(undone.status, 200, "{}", undone.text());
    assert_eq!(fixture.app.count(&count).await, 0);
    let redo = json!({"logId": write.log_id});
    let (status, rejected) = fixture.app.post(&fixture.a.token, REDO, redo.clone()).await;
    assert_eq!((status, &rejected["error"]), (400, &json!("Redo target not available")));
    let redone = in_tenant(&fixture, Method::POST, REDO, Some(redo)).await;
    assert_eq!(redone.status, 200, "{}", redone.text());
    assert_eq!(fixture.app.count(&count).await, 1);
    // Entries and events are the platform's, as those of the creation.
    let tenants = format!(
        "select tenant_id from audit_action_logs where resource_id = '{}' \
         union select tenant_id from core_outbox_events where name like 'audit_logs.action.%'",
        id_of(&created.json())
    );
    assert_eq!(fixture.app.rows(&tenants).await, [json!({"tenant_id": Uuid::nil()})]);
}

#[actix_web::test]
async fn an_entry_of_another_tenant_than_the_selected_one_stays_out_of_reach() {
    let fixture = Fixture::new().await;
    let foreign = fixture
        .app
        .send(
            &fixture.b.token,
            Method::POST,
            "/auth/roles",
            json!({"name": "Foreign"}),
        )
        .await;
    let undo = json!({"undoToken": foreign.undoable_write().token});

    let rejected = in_tenant(&fixture, Method::POST, UNDO, Some(undo)).await;

    assert_eq!(
        (rejected.status, &rejected.json()["error"]),
        (400, &json!("Undo token not available"))
    );
}

#[actix_web::test]
async fn acc_30_roles_of_other_tenants_than_the_selected_one_stay_out_of_reach() {
    let fixture = Fixture::new().await;
    let (_, created) = fixture
        .app
        .post(&fixture.b.token, "/auth/roles", json!({"name": "Foreign"}))
        .await;
    let id = id_of(&created);

    let renamed = in_tenant(
        &fixture,
        Method::PUT,
        "/auth/roles",
        Some(json!({"id": id, "name": "Mine"})),
    )
    .await;
    let acl = in_tenant(
        &fixture,
        Method::PUT,
        "/auth/roles/acl",
        Some(json!({"roleId": id, "features": []})),
    )
    .await;
    let deleted = in_tenant(&fixture, Method::DELETE, &format!("/auth/roles?id={id}"), None).await;

    assert_eq!((renamed.status, acl.status, deleted.status), (404, 404, 404));
}

#[actix_web::test]
async fn acc_30_the_role_superadmin_stays_as_it_is() {
    let fixture = Fixture::new().await;
    let role = id_of(
        &fixture
            .app
            .rows("select id from auth_roles where name = 'superadmin'")
            .await[0],
    );
    let name = |name: &str| Some(json!({"id": role, "name": name}));

    for (method, path, body, error) in [
        (
            Method::POST,
            "/auth/roles",
            Some(json!({"name": "SUPERADMIN"})),
            "Role name is reserved",
        ),
        (Method::PUT, "/auth/roles", name("Gods"), "Role name is reserved"),
        (Method::PUT, "/auth/roles", name("Auditor"), "Role name is reserved"),
        (Method::DELETE, &format!("/auth/roles?id={role}"), None, "Invalid input"),
    ] {
        fixture
            .app
            .post(&fixture.root, "/auth/roles", json!({"name": "Auditor"}))
            .await;
        let response = in_tenant(&fixture, method.clone(), path, body).await;
        assert_eq!(
            (response.status, &response.json()["error"]),
            (400, &json!(error)),
            "{method} {path}"
        );
    }
}

#[actix_web::test]
async fn acc_30_a_global_role_occurs_once_in_the_list_of_the_platform() {
    let fixture = Fixture::new().await;
    let created = in_tenant(&fixture, Method::POST, "/auth/roles", Some(json!({"name": "Auditor"}))).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let path = format!("/auth/roles?pageSize=100&tenantId={}", Uuid::nil());

    let (status, body) = fixture.app.get(&fixture.root, &path).await;

    assert_eq!(status, 200, "{body}");
    let ids: Vec<&Value> = body["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|role| &role["id"])
        .collect();
    let distinct: BTreeSet<String> = ids.iter().map(ToString::to_string).collect();
    assert_eq!(ids.len(), distinct.len(), "{body}");
    assert!(ids.contains(&&json!(id_of(&created.json()))), "{body}");
    assert_eq!(body["total"], json!(ids.len()));
}

#[actix_web::test]
async fn the_users_of_a_global_role_are_counted_in_the_visible_tenants() {
    let fixture = Fixture::new().await;
    let role = fixture
        .app
        .create(&fixture.root, "/auth/roles", json!({"name": "Auditor"}))
        .await;
    for (tenant, email) in [
        (&fixture.a, "ann@alpha.test"),
        (&fixture.a, "bob@alpha.test"),
        (&fixture.b, "cid@beta.test"),
    ] {
        let (tenant, organization) = (Some(tenant.id), Some(tenant.organization));
        account(&fixture.app, tenant, organization, email, &["Auditor"], false).await;
    }
    let path = format!("/auth/roles?id={role}");
    let users = async |token: &str| {
        let (status, body) = fixture.app.get(token, &path).await;
        assert_eq!(status, 200, "{body}");
        body["items"][0]["usersCount"].clone()
    };

    assert_eq!(users(&fixture.a.token).await, 2);
    assert_eq!(users(&fixture.b.token).await, 1);
    assert_eq!(users(&fixture.root).await, 3);
    let selected = in_tenant(&fixture, Method::GET, &path, None).await;
    assert_eq!(selected.json()["items"][0]["usersCount"], 2, "{}", selected.text());
    let index = "pg_indexes where tablename = 'auth_user_roles' \
                 and indexdef like '%(role_tenant_id, role_id, tenant_id, user_id)'";
    assert_eq!(fixture.app.count(index).await, 1);
}
