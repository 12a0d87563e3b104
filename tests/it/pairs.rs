//! Rights are pairs of a feature and an organization (accounts specification, 4.1), and principals with more rights are protected (4.4): over all
//! modules, for every way to read or change a record.

use std::time::Duration;

use actix_web::http::Method;
use backoffice_test_support::TestResponse;
use serde_json::{Value, json};
use tokio::time::timeout;
use uuid::Uuid;

use crate::customers::{self, Customer};
use crate::fixture::{Account, Fixture, PASSWORD, TenantFixture, id, text};
use crate::history::UNDO;

const ACL: &str = "/auth/roles/acl";
const DEALS: &str = "/customers/deals";
const KEYS: &str = "/api_keys/keys";
const ROLES: &str = "/auth/roles";
const USERS: &str = "/auth/users";
const ORGANIZATIONS: &str = "/directory/organizations";

/// The features of a user who manages accounts; none of the customers.
const MANAGER: [&str; 5] = ["auth.*", "api_keys.*", "audit_logs.*", "catalog.*", "progress.*"];

async fn send(fixture: &Fixture, token: &str, method: Method, path: &str, body: Value) -> TestResponse {
    fixture.app.request(method, path).bearer(token).json(&body).send().await
}

async fn ids(fixture: &Fixture, token: &str, path: &str) -> Vec<Uuid> {
    let (status, body) = fixture.app.get(token, path).await;
    assert_eq!(status, 200, "{path}: {body}");
    let items = body["items"].as_array().expect("a list");
    items.iter().map(|item| id(&item["id"])).collect()
}

/// Creates a deal in this organization as the admin.
async fn deal(fixture: &Fixture, tenant_fixture: &TenantFixture, organization: Uuid) -> (Uuid, TestResponse) {
    let request = fixture
        .app
        .request(Method::POST, DEALS)
        .bearer(&tenant_fixture.tenant_admin.token);
    let body = json!({"title": "A deal", "organizationId": organization});
    let response = request.json(&body).send().await;
    assert_eq!(response.status, 201, "{}", response.text());
    (id(&response.json()["id"]), response)
}

/// Creates a user with the deals of `parent` and the other features, including those of the log, in the whole tenant.
async fn split(fixture: &Fixture) -> Account {
    let tenant_fixture = &fixture.a;
    fixture
        .role(
            tenant_fixture,
            "Deals",
            &["customers.deals.*"],
            Some(&[tenant_fixture.parent]),
        )
        .await;
    let wide = ["catalog.products.view", "audit_logs.*", "progress.*", "auth.users.list"];
    fixture.role(tenant_fixture, "Wide", &wide, None).await;
    fixture
        .account(tenant_fixture, "split@alpha.test", &["Deals", "Wide"])
        .await
}

#[actix_web::test]
async fn acc_41_a_feature_counts_in_the_organizations_of_its_own_acl() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    crate::catalog::seed(&fixture, tenant_fixture).await;
    let who = split(&fixture).await;
    let (inside, _) = deal(&fixture, tenant_fixture, tenant_fixture.child).await;
    let (outside, _) = deal(&fixture, tenant_fixture, tenant_fixture.other).await;

    assert_eq!(ids(&fixture, &who.token, DEALS).await, [inside]);
    assert_eq!(ids(&fixture, &who.token, "/catalog/products").await.len(), 3);

    let write = |deal: Uuid| json!({"id": deal, "title": "Changed"});
    assert_eq!(
        send(&fixture, &who.token, Method::PUT, DEALS, write(inside))
            .await
            .status,
        200
    );
    assert_eq!(
        send(&fixture, &who.token, Method::PUT, DEALS, write(outside))
            .await
            .status,
        404
    );
    let elsewhere = json!({"title": "New", "organizationId": tenant_fixture.other});
    let rejected = send(&fixture, &who.token, Method::POST, DEALS, elsewhere).await.status;
    assert!((400..=404).contains(&rejected), "{rejected}");

    let selecting = |organization: Uuid, path: &'static str| {
        let request = fixture.app.request(Method::GET, path).bearer(&who.token);
        request.header("X-Organization-Id", &organization.to_string())
    };
    let rejected = selecting(tenant_fixture.other, DEALS).send().await;
    assert_eq!(rejected.status, 403);
    assert_eq!(rejected.json()["requiredFeatures"], json!(["customers.deals.view"]));
    assert_eq!(
        selecting(tenant_fixture.other, "/catalog/products").send().await.status,
        200
    );
    assert_eq!(selecting(tenant_fixture.child, DEALS).send().await.status, 200);

    let nav =
        async |organization| selecting(organization, "/auth/admin/nav").send().await.json()["grantedFeatures"].clone();
    let holds = |granted: &Value, feature: &str| granted.as_array().expect("a list").contains(&json!(feature));
    let (here, there) = (nav(tenant_fixture.parent).await, nav(tenant_fixture.other).await);
    assert!(holds(&here, "customers.deals.view") && holds(&here, "catalog.products.view"));
    assert!(!holds(&there, "customers.deals.view") && holds(&there, "catalog.products.view"));

    let question = json!({"features": ["customers.deals.view", "customers.deals.*", "catalog.products.view"]});
    let asked = fixture
        .app
        .request(Method::POST, "/auth/feature-check")
        .bearer(&who.token);
    let asked = asked.header("X-Organization-Id", &tenant_fixture.other.to_string());
    let reported = asked.json(&question).send().await.json();
    assert_eq!(
        (&reported["ok"], &reported["granted"]),
        (&json!(false), &json!(["catalog.products.view"]))
    );
}

#[actix_web::test]
async fn acc_41_by_key_log_and_undo_a_feature_stays_where_it_is_granted() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    let who = split(&fixture).await;
    let (inside, created_inside) = deal(&fixture, tenant_fixture, tenant_fixture.child).await;
    let (outside, created_outside) = deal(&fixture, tenant_fixture, tenant_fixture.other).await;

    // The user sees the log of the whole tenant, but an undo needs the features of the command in the organization where it ran.
    let undo = async |created: &TestResponse| {
        let reported = created.operation().expect("it can be undone");
        send(
            &fixture,
            &who.token,
            Method::POST,
            UNDO,
            json!({"undoToken": reported["undoToken"]}),
        )
        .await
    };
    let rejected = undo(&created_outside).await;
    assert_eq!(rejected.status, 403, "{}", rejected.text());
    let undone = undo(&created_inside).await;
    assert_eq!(undone.status, 200, "{}", undone.text());
    assert_eq!(
        ids(&fixture, &tenant_fixture.tenant_admin.token, DEALS).await,
        [outside]
    );

    // The feature to see other users' entries has organizations of its own.
    fixture
        .role(tenant_fixture, "Own log", &["audit_logs.view_self"], None)
        .await;
    fixture
        .role(
            tenant_fixture,
            "Log of other",
            &["audit_logs.view_tenant"],
            Some(&[tenant_fixture.other]),
        )
        .await;
    let reader = fixture
        .account(tenant_fixture, "reader@alpha.test", &["Own log", "Log of other"])
        .await;
    let log = "/audit_logs/audit-logs/actions?pageSize=200";
    let (_, seen) = fixture.app.get(&reader.token, log).await;
    let organizations: Vec<&Value> = seen["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["organizationId"])
        .collect();
    assert!(!organizations.is_empty());
    assert!(
        organizations.iter().all(|one| **one == json!(tenant_fixture.other)),
        "{organizations:?}"
    );
    let export = fixture
        .app
        .request(Method::GET, "/audit_logs/audit-logs/actions/export?format=csv")
        .bearer(&reader.token);
    let exported = export.send().await.text();
    assert!(
        exported.contains(&outside.to_string()) && !exported.contains(&inside.to_string()),
        "{exported}"
    );

    let body = json!({"name": "Split", "roles": ["Deals", "Wide"], "organizationId": null});
    let (status, key) = fixture.app.post(&tenant_fixture.tenant_admin.token, KEYS, body).await;
    assert_eq!(status, 201, "{key}");
    let by_key = async |path: &str| {
        let request = fixture
            .app
            .request(Method::GET, path)
            .header("X-Api-Key", &text(&key["secret"]));
        request.send().await.json()["items"].as_array().map(Vec::len)
    };
    assert_eq!((by_key(DEALS).await, by_key(USERS).await.is_some()), (Some(0), true));
}

#[actix_web::test]
async fn acc_41_a_stream_carries_the_organizations_of_its_feature() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    let who = split(&fixture).await;
    let mut stream = fixture
        .app
        .request(Method::GET, "/events/stream")
        .bearer(&who.token)
        .open_events()
        .await;

    let (_, _) = deal(&fixture, tenant_fixture, tenant_fixture.other).await;
    let (inside, _) = deal(&fixture, tenant_fixture, tenant_fixture.child).await;

    let reported = async {
        loop {
            let (_, name, data) = stream.event().await;
            if name == "customers.deal.created" {
                return id(&data["payload"]["id"]);
            }
        }
    };
    let reported = timeout(Duration::from_secs(10), reported).await.expect("an event");
    assert_eq!(reported, inside);
}

#[actix_web::test]
async fn acc_41_a_job_changes_what_its_features_reach() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    customers::seed(&fixture, tenant_fixture).await;
    let (inside, _) = deal(&fixture, tenant_fixture, tenant_fixture.child).await;
    let who = split(&fixture).await;
    let body = json!({"ids": [inside, Customer::BareDeal.of(tenant_fixture)], "ownerUserId": null});

    let (status, started) = fixture
        .app
        .post(&who.token, "/customers/deals/bulk-update-owner", body)
        .await;
    fixture.app.run_jobs().await;

    let owner = format!(
        "select owner_user_id from customers_deals where id = '{}'",
        Customer::BareDeal.of(tenant_fixture)
    );
    let kept = fixture.app.rows(&owner).await;
    assert_eq!(
        id(&kept[0]["owner_user_id"]),
        tenant_fixture.tenant_admin.id,
        "{status} {started}"
    );
}

#[actix_web::test]
async fn acc_41_f7_a_role_of_one_organization_opens_no_other_one_to_its_holder() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    fixture
        .role(
            tenant_fixture,
            "Deals",
            &["customers.deals.*"],
            Some(&[tenant_fixture.parent]),
        )
        .await;
    let target = fixture.account(tenant_fixture, "target@alpha.test", &["Deals"]).await;
    let manager = ["auth.*", "catalog.*"];
    fixture
        .role(
            tenant_fixture,
            "Manager of other",
            &manager,
            Some(&[tenant_fixture.other]),
        )
        .await;
    let limited = fixture
        .account(tenant_fixture, "limited@alpha.test", &["Manager of other"])
        .await;
    fixture
        .app
        .sql(&format!(
            "update auth_users set organization_id = '{}' where id = '{}'",
            tenant_fixture.other, target.id
        ))
        .await;
    let (outside, _) = deal(&fixture, tenant_fixture, tenant_fixture.other).await;

    let created = fixture.app.post(&limited.token, ROLES, json!({"name": "Basic"})).await;
    let role = id(&created.1["id"]);
    let acl = json!({"roleId": role, "features": ["catalog.products.view"], "organizations": [tenant_fixture.other]});
    assert_eq!(fixture.app.put(&limited.token, ACL, acl).await.0, 200);
    let assigned = fixture
        .app
        .put(
            &limited.token,
            USERS,
            json!({"id": target.id, "roles": ["Deals", role]}),
        )
        .await;

    // The manager does not cover the rights of the target. If the tenant admin assigns the role instead, it grants no access to `outside`:
    assert_eq!(
        (assigned.0, &assigned.1["code"]),
        (403, &json!("grant_exceeds_rights")),
        "{}",
        assigned.1
    );
    let assigned = fixture
        .app
        .put(
            &tenant_fixture.tenant_admin.token,
            USERS,
            json!({"id": target.id, "roles": ["Deals", role]}),
        )
        .await;
    assert_eq!(assigned.0, 200, "{}", assigned.1);
    assert!(!ids(&fixture, &target.token, DEALS).await.contains(&outside));
}

/// Tries every way in which a weaker manager could gain access to an administrator.
#[actix_web::test]
async fn acc_42_stronger_principals_are_protected() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    fixture.role(tenant_fixture, "Manager", &MANAGER, None).await;
    let manager = fixture
        .account(tenant_fixture, "manager@alpha.test", &["Manager"])
        .await;
    let admin = fixture.account(tenant_fixture, "second@alpha.test", &["admin"]).await;
    let deleted = fixture.account(tenant_fixture, "gone@alpha.test", &["admin"]).await;
    let off = fixture.account(tenant_fixture, "off@alpha.test", &["admin"]).await;
    let invited = tenant_fixture.invited;
    let tenant_admin = &tenant_fixture.tenant_admin.token;
    assert_eq!(
        fixture
            .app
            .put(tenant_admin, USERS, json!({"id": invited, "roles": ["admin"]}))
            .await
            .0,
        200
    );
    assert_eq!(
        fixture
            .app
            .put(tenant_admin, USERS, json!({"id": off.id, "isActive": false}))
            .await
            .0,
        200
    );
    let path = format!("{USERS}?id={}", deleted.id);
    let deleted = send(&fixture, tenant_admin, Method::DELETE, &path, Value::Null).await;
    let undo = json!({"undoToken": deleted.operation().expect("it can be undone")["undoToken"]});
    let (_, roles) = fixture.app.get(tenant_admin, ROLES).await;
    let role = roles["items"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|role| role["name"] == "admin");
    let role = role.expect("seeded")["id"].clone();
    let body = json!({"name": "Of the administrator", "roles": ["admin"], "organizationId": null});
    let (_, key) = fixture.app.post(tenant_admin, KEYS, body).await;

    let (put, post, delete) = (Method::PUT, Method::POST, Method::DELETE);
    let tries = [
        (put.clone(), USERS.to_owned(), json!({"id": admin.id, "roles": []})),
        (
            put.clone(),
            format!("{USERS}/acl"),
            json!({"userId": admin.id, "features": ["catalog.*"], "organizations": null}),
        ),
        (
            put.clone(),
            ACL.to_owned(),
            json!({"roleId": role, "features": ["catalog.*"]}),
        ),
        (
            put.clone(),
            ACL.to_owned(),
            json!({"roleId": role, "organizations": []}),
        ),
        (delete.clone(), format!("{ROLES}?id={}", text(&role)), Value::Null),
        (
            put.clone(),
            USERS.to_owned(),
            json!({"id": admin.id, "password": "Taken-12345678"}),
        ),
        (
            put.clone(),
            USERS.to_owned(),
            json!({"id": admin.id, "email": "taken@alpha.test"}),
        ),
        (
            put.clone(),
            USERS.to_owned(),
            json!({"id": admin.id, "isActive": false}),
        ),
        (put.clone(), USERS.to_owned(), json!({"id": off.id, "isActive": true})),
        (delete.clone(), format!("{USERS}?id={}", admin.id), Value::Null),
        (post.clone(), UNDO.to_owned(), undo.clone()),
        (post.clone(), format!("{USERS}/resend-invite"), json!({"id": invited})),
        (delete, format!("{KEYS}?id={}", text(&key["id"])), Value::Null),
    ];
    for (method, path, body) in tries {
        let before = fixture.app.snapshot().await;
        let outcome = send(&fixture, &manager.token, method, &path, body.clone()).await;
        assert_eq!(outcome.status, 403, "{path} {body}: {}", outcome.text());
        assert_eq!(fixture.app.snapshot().await, before, "{path} {body}");
    }
    assert!(
        fixture
            .app
            .post("", "/auth/login", json!({"email": admin.email, "password": PASSWORD}))
            .await
            .0
            == 200
    );

    // The name grants no access; callers with equal rights may change it.
    let renamed = fixture
        .app
        .put(&manager.token, USERS, json!({"id": admin.id, "name": "Somebody"}))
        .await;
    assert_eq!(renamed.0, 200, "{}", renamed.1);
    let equal = &tenant_fixture.admin.token;
    for body in [
        json!({"id": admin.id, "roles": ["Dispatcher", "admin"]}),
        json!({"id": off.id, "isActive": true}),
        json!({"id": admin.id, "password": "Given-12345678"}),
    ] {
        let outcome = fixture.app.put(equal, USERS, body.clone()).await;
        assert_eq!(outcome.0, 200, "{body}: {}", outcome.1);
    }
    let undone = send(&fixture, tenant_admin, post, UNDO, undo).await;
    assert_eq!(undone.status, 200, "{}", undone.text());
}

#[actix_web::test]
async fn acc_42_callers_change_themselves_and_weaker_principals() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    fixture.role(tenant_fixture, "Manager", &MANAGER, None).await;
    let manager = fixture
        .account(tenant_fixture, "manager@alpha.test", &["Manager"])
        .await;

    let own = json!({"password": "Another-12345678", "currentPassword": PASSWORD, "name": "Me"});
    assert_eq!(fixture.app.put(&manager.token, "/auth/profile", own).await.0, 200);
    for body in [
        json!({"id": tenant_fixture.plain.id, "password": "Given-12345678"}),
        json!({"id": tenant_fixture.plain.id, "roles": ["Dispatcher"]}),
        json!({"id": tenant_fixture.plain.id, "isActive": false}),
        json!({"id": tenant_fixture.plain.id, "isActive": true}),
    ] {
        let outcome = fixture.app.put(&manager.token, USERS, body.clone()).await;
        assert_eq!(outcome.0, 200, "{body}: {}", outcome.1);
    }
}

#[actix_web::test]
async fn acc_42_an_acl_for_no_organization_grants_nothing_beside_another_one() {
    let fixture = Fixture::new().await;
    let tenant_fixture = &fixture.a;
    fixture
        .role(tenant_fixture, "Nowhere", &["customers.deals.*"], Some(&[]))
        .await;
    fixture.role(tenant_fixture, "Users", &["auth.users.list"], None).await;
    let who = fixture
        .account(tenant_fixture, "who@alpha.test", &["Nowhere", "Users"])
        .await;

    assert_eq!(fixture.app.get(&who.token, USERS).await.0, 200);
    let (status, body) = fixture.app.get(&who.token, DEALS).await;
    assert_eq!(
        (status, &body["requiredFeatures"]),
        (403, &json!(["customers.deals.view"]))
    );
}

#[actix_web::test]
async fn acc_43_f13_a_key_ends_with_the_key_that_created_it() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.tenant_admin.token;
    let ends = fixture.app.now().after(backoffice_test_support::Duration::minutes(5));
    let body = json!({"name": "First", "roles": ["Keeper"], "organizationId": null, "expiresAt": ends});
    let (_, first) = fixture.app.post(token, KEYS, body).await;
    let by = async |key: &Value, method: Method, body: Value| {
        let request = fixture
            .app
            .request(method, KEYS)
            .header("X-Api-Key", &text(&key["secret"]));
        let response = request.json(&body).send().await;
        (response.status, response.json())
    };
    let requested = |name: &str| json!({"name": name, "roles": ["Keeper"], "organizationId": null});
    let get = async |key: &Value| {
        let request = fixture
            .app
            .request(Method::GET, KEYS)
            .header("X-Api-Key", &text(&key["secret"]));
        request.send().await.status
    };

    let (status, second) = by(&first, Method::POST, requested("Second")).await;
    assert_eq!((status, &second["expiresAt"]), (201, &json!(ends)), "{second}");
    let mut later = requested("Later");
    later["expiresAt"] = json!(ends.after(backoffice_test_support::Duration::seconds(1)));
    assert_eq!(by(&first, Method::POST, later).await.0, 400);
    let (_, third) = by(&second, Method::POST, requested("Third")).await;
    assert_eq!((get(&second).await, get(&third).await), (200, 200));

    // Deleting a key rejects at once the key that was created with it, and the key created with that one.
    let (_, other) = fixture.app.post(token, KEYS, requested("Other")).await;
    let (_, created) = by(&other, Method::POST, requested("Made")).await;
    let (_, below) = by(&created, Method::POST, requested("Below")).await;
    assert_eq!((get(&created).await, get(&below).await), (200, 200));
    let path = format!("{KEYS}?id={}", text(&other["id"]));
    assert_eq!(fixture.app.delete(token, &path, Value::Null).await.0, 200);
    assert_eq!(
        (get(&other).await, get(&created).await, get(&below).await),
        (401, 401, 401)
    );

    fixture.app.advance(backoffice_test_support::Duration::minutes(5));
    assert_eq!(
        (get(&first).await, get(&second).await, get(&third).await),
        (401, 401, 401)
    );
}

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
        send(
            &fixture,
            &tenant_fixture.plain.token,
            Method::PUT,
            "/auth/profile",
            body,
        )
        .await
    };
    let renamed = change(json!({"name": "New name"})).await;
    let undo = json!({"undoToken": renamed.operation().expect("it can be undone")["undoToken"]});

    let rejected = send(&fixture, &log.token, Method::POST, UNDO, undo.clone()).await;
    assert_eq!(rejected.status, 403, "{}", rejected.text());
    assert_eq!(rejected.json()["requiredFeatures"], json!(["auth.users.edit"]));
    let undone = send(&fixture, &tenant_fixture.tenant_admin.token, Method::POST, UNDO, undo).await;
    assert_eq!(undone.status, 200, "{}", undone.text());

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
    let deleted = send(
        &fixture,
        &tenant_fixture.local.token,
        Method::DELETE,
        &path,
        Value::Null,
    )
    .await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());

    let undo = json!({"undoToken": deleted.operation().expect("it can be undone")["undoToken"]});
    let outcome = send(&fixture, &tenant_fixture.local.token, Method::POST, UNDO, undo.clone()).await;
    assert_eq!(
        (outcome.status, &outcome.json()["fields"]),
        (400, &json!(["companyId"])),
        "{}",
        outcome.text()
    );
    assert_eq!(
        send(&fixture, &tenant_fixture.tenant_admin.token, Method::POST, UNDO, undo)
            .await
            .status,
        200
    );
}
