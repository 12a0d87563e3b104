//! Selected and named tenants, and the rights that undo and redo need.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{DEALS, ORGANIZATIONS, ROLES, USERS, ids};
use crate::customers;
use crate::customers::Customer;
use crate::fixture::{Fixture, PASSWORD, id, text};

#[actix_web::test]
async fn acc_46_f18_a_super_administrator_who_selected_nothing_works_in_its_own_tenant() {
    let fixture = Fixture::new().await;
    let (tenant_fixture, beta) = (&fixture.a, &fixture.b);
    customers::seed(&fixture, tenant_fixture).await;
    customers::seed(&fixture, beta).await;
    let boss = fixture.account(tenant_fixture, "boss@alpha.test", &["admin"]).await;
    let acl = json!({"userId": boss.id, "isSuperAdmin": true, "features": [], "organizations": null});
    assert_eq!(
        fixture
            .app
            .put(&fixture.root.token, &format!("{USERS}/acl"), acl)
            .await
            .0,
        200
    );

    let seen = ids(&fixture, &boss.token, DEALS).await;
    assert!(seen.contains(&Customer::Deal.of(tenant_fixture)) && !seen.contains(&Customer::Deal.of(beta)));
    assert_eq!(ids(&fixture, &fixture.root.token, DEALS).await, [] as [Uuid; 0]);
    let foreign = json!({"id": Customer::Deal.of(beta), "title": "Changed"});
    assert_eq!(fixture.app.put(&boss.token, DEALS, foreign.clone()).await.0, 404);
    let all = fixture.app.request(Method::PUT, DEALS).bearer(&boss.token);
    let all = all.header("X-Tenant-Id", &beta.tenant.to_string()).json(&foreign);
    assert_eq!(all.send().await.status, 200);
    // User administration covers all tenants.
    let (_, users) = fixture
        .app
        .get(&boss.token, &format!("{USERS}?id={}", beta.admin.id))
        .await;
    assert_eq!(users["total"], 1);
}

#[actix_web::test]
async fn acc_46_a_tenant_that_is_named_counts_more_than_the_selected_one() {
    let fixture = Fixture::new().await;
    let (alpha, beta) = (&fixture.a, &fixture.b);
    let post = async |path: &str, body: Value| {
        let request = fixture.app.request(Method::POST, path).bearer(&fixture.root.token);
        let request = request.header("X-Tenant-Id", &alpha.tenant.to_string());
        let response = request.json(&body).send().await;
        (response.status, response.json())
    };

    for (path, table) in [(ROLES, "auth_roles"), (ORGANIZATIONS, "directory_organizations")] {
        let (status, created) = post(path, json!({"name": "Named", "tenantId": beta.tenant})).await;
        assert_eq!(status, 201, "{path}: {created}");
        let rows = fixture
            .app
            .rows(&format!(
                "select tenant_id from {table} where id = '{}'",
                text(&created["id"])
            ))
            .await;
        assert_eq!(id(&rows[0]["tenant_id"]), beta.tenant, "{path}");
    }
    let unknown = post(ROLES, json!({"name": "Nobody's", "tenantId": Uuid::from_u128(7)})).await;
    assert_eq!(unknown.0, 400, "{}", unknown.1);
}

#[actix_web::test]
async fn f15_a_profile_is_put_back_by_those_who_may_edit_users() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    fixture.role(tenant_fixture, "Log", &["audit_logs.*"], None).await;
    let log = fixture.account(tenant_fixture, "log@alpha.test", &["Log"]).await;
    let change = async |body: Value| {
        fixture
            .app
            .send(&tenant_fixture.plain.token, Method::PUT, "/auth/profile", body)
            .await
    };
    let renamed = change(json!({"name": "New name"})).await;

    let rejected = fixture.app.undo(&log.token, &renamed).await;
    assert_eq!(rejected.0, 403, "{}", rejected.1);
    assert_eq!(rejected.1["requiredFeatures"], json!(["auth.users.edit"]));
    let undone = fixture.app.undo(&tenant_fixture.tenant_admin.token, &renamed).await;
    assert_eq!(undone.0, 200, "{}", undone.1);

    let moved = change(json!({"email": "moved@alpha.test", "currentPassword": PASSWORD})).await;
    assert_eq!(moved.status, 200, "{}", moved.text());
    assert!(moved.operation().is_none(), "an address needs the password");
}

#[actix_web::test]
async fn a_selection_that_went_stale_is_passed_over_where_the_session_is_at_stake() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    for stale in [
        tenant_fixture.other.to_string(),
        Uuid::from_u128(7).to_string(),
        "nonsense".to_owned(),
    ] {
        let ask = |path: &'static str, body: Value| {
            let request = fixture
                .app
                .request(Method::POST, path)
                .bearer(&tenant_fixture.local.token);
            request.cookie("selected_org", &stale).json(&body)
        };

        let reported = ask("/auth/feature-check", json!({"features": ["auth.users.list"]}))
            .send()
            .await;
        assert_eq!(
            (reported.status, &reported.json()["ok"]),
            (200, &json!(true)),
            "{stale}"
        );
        let rejected = ask(ROLES, json!({"name": "R"})).send().await;
        assert_eq!(
            (rejected.status, &rejected.json()["code"]),
            (403, &json!("selection_rejected")),
            "{stale}"
        );
    }
    let all = fixture
        .app
        .request(Method::GET, "/auth/admin/nav")
        .bearer(&tenant_fixture.local.token);
    let nav = all.header("X-Organization-Id", "all").send().await.json();
    assert_eq!(nav["currentOrganization"], Value::Null);

    let sign_out = fixture
        .app
        .request(Method::POST, "/auth/logout")
        .bearer(&tenant_fixture.local.token);
    let signed_out = sign_out.cookie("selected_org", "nonsense").send().await;
    assert_eq!(signed_out.status, 302, "{}", signed_out.text());
}

#[actix_web::test]
async fn f19_a_person_comes_back_to_no_company_that_the_caller_does_not_see() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    customers::seed(&fixture, tenant_fixture).await;
    let person = Customer::SparePerson.of(tenant_fixture);
    let company = Customer::Company.of(tenant_fixture);
    let tie = format!(
        "update customers_people set organization_id = '{}', company_id = '{company}' where id = '{person}'",
        tenant_fixture.child
    );
    assert_eq!(fixture.app.sql(&tie).await, 1);
    let path = format!("/customers/people?id={person}");
    let deleted = fixture
        .app
        .send(&tenant_fixture.local.token, Method::DELETE, &path, Value::Null)
        .await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());

    let outcome = fixture.app.undo(&tenant_fixture.local.token, &deleted).await;
    assert_eq!(
        (outcome.0, &outcome.1["fields"]),
        (400, &json!(["companyId"])),
        "{}",
        outcome.1
    );
    let undone = fixture.app.undo(&tenant_fixture.tenant_admin.token, &deleted).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
}
