//! Rights are pairs of a feature and an organization (accounts specification, 4.1), and principals with more rights are protected (4.4):
//! over all modules, by every way by which something is read or changed.

use std::time::Duration;

use actix_web::http::Method;
use backoffice_test_support::TestResponse;
use serde_json::{Value, json};
use tokio::time::timeout;
use uuid::Uuid;

use crate::customers::{self, Customer};
use crate::history::UNDO;
use crate::world::{Account, House, PASSWORD, World, id, text};

const ACL: &str = "/auth/roles/acl";
const DEALS: &str = "/customers/deals";
const KEYS: &str = "/api_keys/keys";
const ROLES: &str = "/auth/roles";
const USERS: &str = "/auth/users";
const ORGANIZATIONS: &str = "/directory/organizations";

/// What a manager of people needs, in the CRM nothing.
const MANAGER: [&str; 5] = ["auth.*", "api_keys.*", "audit_logs.*", "catalog.*", "progress.*"];

async fn send(world: &World, token: &str, method: Method, path: &str, body: Value) -> TestResponse {
    world.app.request(method, path).bearer(token).json(&body).send().await
}

async fn ids(world: &World, token: &str, path: &str) -> Vec<Uuid> {
    let (status, body) = world.app.get(token, path).await;
    assert_eq!(status, 200, "{path}: {body}");
    let items = body["items"].as_array().expect("a list");
    items.iter().map(|item| id(&item["id"])).collect()
}

/// A deal of the keeper in this organization.
async fn deal(world: &World, house: &House, organization: Uuid) -> (Uuid, TestResponse) {
    let request = world.app.request(Method::POST, DEALS).bearer(&house.keeper.token);
    let body = json!({"title": "A deal", "organizationId": organization});
    let response = request.json(&body).send().await;
    assert_eq!(response.status, 201, "{}", response.text());
    (id(&response.json()["id"]), response)
}

/// Somebody with deals in `parent` and the rest of the rights, the log's among them, in the whole tenant.
async fn split(world: &World) -> Account {
    let house = &world.a;
    world
        .role(house, "Deals", &["customers.deals.*"], Some(&[house.parent]))
        .await;
    let wide = ["catalog.products.view", "audit_logs.*", "progress.*", "auth.users.list"];
    world.role(house, "Wide", &wide, None).await;
    world.account(house, "split@alpha.test", &["Deals", "Wide"]).await
}

#[actix_web::test]
async fn acc_41_a_feature_counts_in_the_organizations_of_its_own_acl() {
    let world = World::new().await;
    let house = &world.a;
    crate::catalog::furnish(&world, house).await;
    let who = split(&world).await;
    let (inside, _) = deal(&world, house, house.child).await;
    let (outside, _) = deal(&world, house, house.other).await;

    assert_eq!(ids(&world, &who.token, DEALS).await, [inside]);
    assert_eq!(ids(&world, &who.token, "/catalog/products").await.len(), 3);

    let write = |deal: Uuid| json!({"id": deal, "title": "Changed"});
    assert_eq!(
        send(&world, &who.token, Method::PUT, DEALS, write(inside)).await.status,
        200
    );
    assert_eq!(
        send(&world, &who.token, Method::PUT, DEALS, write(outside))
            .await
            .status,
        404
    );
    let elsewhere = json!({"title": "New", "organizationId": house.other});
    let refused = send(&world, &who.token, Method::POST, DEALS, elsewhere).await.status;
    assert!((400..=404).contains(&refused), "{refused}");

    let selecting = |organization: Uuid, path: &'static str| {
        let request = world.app.request(Method::GET, path).bearer(&who.token);
        request.header("X-Organization-Id", &organization.to_string())
    };
    let refused = selecting(house.other, DEALS).send().await;
    assert_eq!(refused.status, 403);
    assert_eq!(refused.json()["requiredFeatures"], json!(["customers.deals.view"]));
    assert_eq!(selecting(house.other, "/catalog/products").send().await.status, 200);
    assert_eq!(selecting(house.child, DEALS).send().await.status, 200);

    let nav =
        async |organization| selecting(organization, "/auth/admin/nav").send().await.json()["grantedFeatures"].clone();
    let holds = |granted: &Value, feature: &str| granted.as_array().expect("a list").contains(&json!(feature));
    let (here, there) = (nav(house.parent).await, nav(house.other).await);
    assert!(holds(&here, "customers.deals.view") && holds(&here, "catalog.products.view"));
    assert!(!holds(&there, "customers.deals.view") && holds(&there, "catalog.products.view"));

    let question = json!({"features": ["customers.deals.view", "customers.deals.*", "catalog.products.view"]});
    let asked = world
        .app
        .request(Method::POST, "/auth/feature-check")
        .bearer(&who.token);
    let asked = asked.header("X-Organization-Id", &house.other.to_string());
    let told = asked.json(&question).send().await.json();
    assert_eq!(
        (&told["ok"], &told["granted"]),
        (&json!(false), &json!(["catalog.products.view"]))
    );
}

#[actix_web::test]
async fn acc_41_by_key_log_and_undo_a_feature_stays_where_it_is_granted() {
    let world = World::new().await;
    let house = &world.a;
    let who = split(&world).await;
    let (inside, made_inside) = deal(&world, house, house.child).await;
    let (outside, made_outside) = deal(&world, house, house.other).await;

    // The log is seen in the whole tenant, but what is undone needs the features of the command where it was run.
    let undo = async |made: &TestResponse| {
        let told = made.operation().expect("it can be undone");
        send(
            &world,
            &who.token,
            Method::POST,
            UNDO,
            json!({"undoToken": told["undoToken"]}),
        )
        .await
    };
    let refused = undo(&made_outside).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    let undone = undo(&made_inside).await;
    assert_eq!(undone.status, 200, "{}", undone.text());
    assert_eq!(ids(&world, &house.keeper.token, DEALS).await, [outside]);

    // A right to see the log of others has organizations of its own.
    world.role(house, "Own log", &["audit_logs.view_self"], None).await;
    world
        .role(house, "Log of other", &["audit_logs.view_tenant"], Some(&[house.other]))
        .await;
    let reader = world
        .account(house, "reader@alpha.test", &["Own log", "Log of other"])
        .await;
    let log = "/audit_logs/audit-logs/actions?pageSize=200";
    let (_, seen) = world.app.get(&reader.token, log).await;
    let organizations: Vec<&Value> = seen["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["organizationId"])
        .collect();
    assert!(!organizations.is_empty());
    assert!(
        organizations.iter().all(|one| **one == json!(house.other)),
        "{organizations:?}"
    );
    let export = world
        .app
        .request(Method::GET, "/audit_logs/audit-logs/actions/export?format=csv")
        .bearer(&reader.token);
    let exported = export.send().await.text();
    assert!(
        exported.contains(&outside.to_string()) && !exported.contains(&inside.to_string()),
        "{exported}"
    );

    let body = json!({"name": "Split", "roles": ["Deals", "Wide"], "organizationId": null});
    let (status, key) = world.app.post(&house.keeper.token, KEYS, body).await;
    assert_eq!(status, 201, "{key}");
    let by_key = async |path: &str| {
        let request = world
            .app
            .request(Method::GET, path)
            .header("X-Api-Key", &text(&key["secret"]));
        request.send().await.json()["items"].as_array().map(Vec::len)
    };
    assert_eq!((by_key(DEALS).await, by_key(USERS).await.is_some()), (Some(0), true));
}

#[actix_web::test]
async fn acc_41_a_stream_tells_of_what_its_feature_reaches() {
    let world = World::new().await;
    let house = &world.a;
    let who = split(&world).await;
    let mut stream = world
        .app
        .request(Method::GET, "/events/stream")
        .bearer(&who.token)
        .open_events()
        .await;

    let (_, _) = deal(&world, house, house.other).await;
    let (inside, _) = deal(&world, house, house.child).await;

    let told = async {
        loop {
            let (_, name, data) = stream.event().await;
            if name == "customers.deal.created" {
                return id(&data["payload"]["id"]);
            }
        }
    };
    let told = timeout(Duration::from_secs(10), told).await.expect("an event");
    assert_eq!(told, inside);
}

#[actix_web::test]
async fn acc_41_a_job_changes_what_its_features_reach() {
    let world = World::new().await;
    let house = &world.a;
    customers::furnish(&world, house).await;
    let (inside, _) = deal(&world, house, house.child).await;
    let who = split(&world).await;
    let body = json!({"ids": [inside, Customer::BareDeal.of(house)], "ownerUserId": null});

    let (status, started) = world
        .app
        .post(&who.token, "/customers/deals/bulk-update-owner", body)
        .await;
    world.app.run_jobs().await;

    let owner = format!(
        "select owner_user_id from customers_deals where id = '{}'",
        Customer::BareDeal.of(house)
    );
    let kept = world.app.rows(&owner).await;
    assert_eq!(id(&kept[0]["owner_user_id"]), house.keeper.id, "{status} {started}");
}

#[actix_web::test]
async fn acc_41_f7_a_role_of_one_organization_opens_no_other_one_to_its_holder() {
    let world = World::new().await;
    let house = &world.a;
    world
        .role(house, "Deals", &["customers.deals.*"], Some(&[house.parent]))
        .await;
    let target = world.account(house, "target@alpha.test", &["Deals"]).await;
    let manager = ["auth.*", "catalog.*"];
    world
        .role(house, "Manager of other", &manager, Some(&[house.other]))
        .await;
    let limited = world.account(house, "limited@alpha.test", &["Manager of other"]).await;
    world
        .app
        .sql(&format!(
            "update auth_users set organization_id = '{}' where id = '{}'",
            house.other, target.id
        ))
        .await;
    let (outside, _) = deal(&world, house, house.other).await;

    let made = world.app.post(&limited.token, ROLES, json!({"name": "Basic"})).await;
    let role = id(&made.1["id"]);
    let acl = json!({"roleId": role, "features": ["catalog.products.view"], "organizations": [house.other]});
    assert_eq!(world.app.put(&limited.token, ACL, acl).await.0, 200);
    let assigned = world
        .app
        .put(
            &limited.token,
            USERS,
            json!({"id": target.id, "roles": ["Deals", role]}),
        )
        .await;

    // The manager does not cover what the target holds; and even where the whole tenant's administrator gives it the role:
    assert_eq!(
        (assigned.0, &assigned.1["code"]),
        (403, &json!("grant_exceeds_rights")),
        "{}",
        assigned.1
    );
    let assigned = world
        .app
        .put(
            &house.keeper.token,
            USERS,
            json!({"id": target.id, "roles": ["Deals", role]}),
        )
        .await;
    assert_eq!(assigned.0, 200, "{}", assigned.1);
    assert!(!ids(&world, &target.token, DEALS).await.contains(&outside));
}

/// Each way by which a weaker manager might get at an administrator.
#[actix_web::test]
async fn acc_42_whoever_holds_more_is_left_alone() {
    let world = World::new().await;
    let house = &world.a;
    world.role(house, "Manager", &MANAGER, None).await;
    let manager = world.account(house, "manager@alpha.test", &["Manager"]).await;
    let admin = world.account(house, "second@alpha.test", &["admin"]).await;
    let gone = world.account(house, "gone@alpha.test", &["admin"]).await;
    let off = world.account(house, "off@alpha.test", &["admin"]).await;
    let invited = house.invited;
    let keeper = &house.keeper.token;
    assert_eq!(
        world
            .app
            .put(keeper, USERS, json!({"id": invited, "roles": ["admin"]}))
            .await
            .0,
        200
    );
    assert_eq!(
        world
            .app
            .put(keeper, USERS, json!({"id": off.id, "isActive": false}))
            .await
            .0,
        200
    );
    let path = format!("{USERS}?id={}", gone.id);
    let deleted = send(&world, keeper, Method::DELETE, &path, Value::Null).await;
    let undo = json!({"undoToken": deleted.operation().expect("it can be undone")["undoToken"]});
    let (_, roles) = world.app.get(keeper, ROLES).await;
    let role = roles["items"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|role| role["name"] == "admin");
    let role = role.expect("seeded")["id"].clone();
    let body = json!({"name": "Of the administrator", "roles": ["admin"], "organizationId": null});
    let (_, key) = world.app.post(keeper, KEYS, body).await;

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
        let before = world.app.image().await;
        let answer = send(&world, &manager.token, method, &path, body.clone()).await;
        assert_eq!(answer.status, 403, "{path} {body}: {}", answer.text());
        assert_eq!(world.app.image().await, before, "{path} {body}");
    }
    assert!(
        world
            .app
            .post("", "/auth/login", json!({"email": admin.email, "password": PASSWORD}))
            .await
            .0
            == 200
    );

    // The name is no access; equals may do all of it.
    let renamed = world
        .app
        .put(&manager.token, USERS, json!({"id": admin.id, "name": "Somebody"}))
        .await;
    assert_eq!(renamed.0, 200, "{}", renamed.1);
    let equal = &house.admin.token;
    for body in [
        json!({"id": admin.id, "roles": ["Dispatcher", "admin"]}),
        json!({"id": off.id, "isActive": true}),
        json!({"id": admin.id, "password": "Given-12345678"}),
    ] {
        let answer = world.app.put(equal, USERS, body.clone()).await;
        assert_eq!(answer.0, 200, "{body}: {}", answer.1);
    }
    let undone = send(&world, keeper, post, UNDO, undo).await;
    assert_eq!(undone.status, 200, "{}", undone.text());
}

#[actix_web::test]
async fn acc_42_one_changes_oneself_and_whoever_holds_less() {
    let world = World::new().await;
    let house = &world.a;
    world.role(house, "Manager", &MANAGER, None).await;
    let manager = world.account(house, "manager@alpha.test", &["Manager"]).await;

    let own = json!({"password": "Another-12345678", "currentPassword": PASSWORD, "name": "Me"});
    assert_eq!(world.app.put(&manager.token, "/auth/profile", own).await.0, 200);
    for body in [
        json!({"id": house.plain.id, "password": "Given-12345678"}),
        json!({"id": house.plain.id, "roles": ["Dispatcher"]}),
        json!({"id": house.plain.id, "isActive": false}),
        json!({"id": house.plain.id, "isActive": true}),
    ] {
        let answer = world.app.put(&manager.token, USERS, body.clone()).await;
        assert_eq!(answer.0, 200, "{body}: {}", answer.1);
    }
}

#[actix_web::test]
async fn acc_42_an_acl_for_no_organization_grants_nothing_beside_another_one() {
    let world = World::new().await;
    let house = &world.a;
    world.role(house, "Nowhere", &["customers.deals.*"], Some(&[])).await;
    world.role(house, "Users", &["auth.users.list"], None).await;
    let who = world.account(house, "who@alpha.test", &["Nowhere", "Users"]).await;

    assert_eq!(world.app.get(&who.token, USERS).await.0, 200);
    let (status, body) = world.app.get(&who.token, DEALS).await;
    assert_eq!(
        (status, &body["requiredFeatures"]),
        (403, &json!(["customers.deals.view"]))
    );
}

#[actix_web::test]
async fn acc_43_f13_a_key_ends_with_the_key_that_made_it() {
    let world = World::new().await;
    let token = &world.a.keeper.token;
    let ends = world.app.now().after(backoffice_test_support::Duration::minutes(5));
    let body = json!({"name": "First", "roles": ["Keeper"], "organizationId": null, "expiresAt": ends});
    let (_, first) = world.app.post(token, KEYS, body).await;
    let by = async |key: &Value, method: Method, body: Value| {
        let request = world
            .app
            .request(method, KEYS)
            .header("X-Api-Key", &text(&key["secret"]));
        let response = request.json(&body).send().await;
        (response.status, response.json())
    };
    let wanted = |name: &str| json!({"name": name, "roles": ["Keeper"], "organizationId": null});
    let get = async |key: &Value| {
        let request = world
            .app
            .request(Method::GET, KEYS)
            .header("X-Api-Key", &text(&key["secret"]));
        request.send().await.status
    };

    let (status, second) = by(&first, Method::POST, wanted("Second")).await;
    assert_eq!((status, &second["expiresAt"]), (201, &json!(ends)), "{second}");
    let mut later = wanted("Later");
    later["expiresAt"] = json!(ends.after(backoffice_test_support::Duration::seconds(1)));
    assert_eq!(by(&first, Method::POST, later).await.0, 400);
    let (_, third) = by(&second, Method::POST, wanted("Third")).await;
    assert_eq!((get(&second).await, get(&third).await), (200, 200));

    // Deleted by whoever may: what was made with it, and with that, is refused at once.
    let (_, other) = world.app.post(token, KEYS, wanted("Other")).await;
    let (_, made) = by(&other, Method::POST, wanted("Made")).await;
    let (_, below) = by(&made, Method::POST, wanted("Below")).await;
    assert_eq!((get(&made).await, get(&below).await), (200, 200));
    let path = format!("{KEYS}?id={}", text(&other["id"]));
    assert_eq!(world.app.delete(token, &path, Value::Null).await.0, 200);
    assert_eq!(
        (get(&other).await, get(&made).await, get(&below).await),
        (401, 401, 401)
    );

    world.app.advance(backoffice_test_support::Duration::minutes(5));
    assert_eq!(
        (get(&first).await, get(&second).await, get(&third).await),
        (401, 401, 401)
    );
}

#[actix_web::test]
async fn acc_46_f18_a_super_administrator_who_selected_nothing_works_in_its_own_tenant() {
    let world = World::new().await;
    let (house, beta) = (&world.a, &world.b);
    customers::furnish(&world, house).await;
    customers::furnish(&world, beta).await;
    let boss = world.account(house, "boss@alpha.test", &["admin"]).await;
    let acl = json!({"userId": boss.id, "isSuperAdmin": true, "features": [], "organizations": null});
    assert_eq!(
        world.app.put(&world.root.token, &format!("{USERS}/acl"), acl).await.0,
        200
    );

    let seen = ids(&world, &boss.token, DEALS).await;
    assert!(seen.contains(&Customer::Deal.of(house)) && !seen.contains(&Customer::Deal.of(beta)));
    assert_eq!(ids(&world, &world.root.token, DEALS).await, [] as [Uuid; 0]);
    let foreign = json!({"id": Customer::Deal.of(beta), "title": "Changed"});
    assert_eq!(world.app.put(&boss.token, DEALS, foreign.clone()).await.0, 404);
    let all = world.app.request(Method::PUT, DEALS).bearer(&boss.token);
    let all = all.header("X-Tenant-Id", &beta.tenant.to_string()).json(&foreign);
    assert_eq!(all.send().await.status, 200);
    // What administers tenants reaches all of them.
    let (_, users) = world
        .app
        .get(&boss.token, &format!("{USERS}?id={}", beta.admin.id))
        .await;
    assert_eq!(users["total"], 1);
}

#[actix_web::test]
async fn acc_46_a_tenant_that_is_named_counts_more_than_the_selected_one() {
    let world = World::new().await;
    let (alpha, beta) = (&world.a, &world.b);
    let post = async |path: &str, body: Value| {
        let request = world.app.request(Method::POST, path).bearer(&world.root.token);
        let request = request.header("X-Tenant-Id", &alpha.tenant.to_string());
        let response = request.json(&body).send().await;
        (response.status, response.json())
    };

    for (path, table) in [(ROLES, "auth_roles"), (ORGANIZATIONS, "directory_organizations")] {
        let (status, made) = post(path, json!({"name": "Named", "tenantId": beta.tenant})).await;
        assert_eq!(status, 201, "{path}: {made}");
        let rows = world
            .app
            .rows(&format!(
                "select tenant_id from {table} where id = '{}'",
                text(&made["id"])
            ))
            .await;
        assert_eq!(id(&rows[0]["tenant_id"]), beta.tenant, "{path}");
    }
    let unknown = post(ROLES, json!({"name": "Nobody's", "tenantId": Uuid::from_u128(7)})).await;
    assert_eq!(unknown.0, 400, "{}", unknown.1);
}

#[actix_web::test]
async fn f15_a_profile_is_put_back_by_those_who_may_edit_users() {
    let world = World::new().await;
    let house = &world.a;
    world.role(house, "Log", &["audit_logs.*"], None).await;
    let log = world.account(house, "log@alpha.test", &["Log"]).await;
    let change = async |body: Value| send(&world, &house.plain.token, Method::PUT, "/auth/profile", body).await;
    let renamed = change(json!({"name": "New name"})).await;
    let undo = json!({"undoToken": renamed.operation().expect("it can be undone")["undoToken"]});

    let refused = send(&world, &log.token, Method::POST, UNDO, undo.clone()).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert_eq!(refused.json()["requiredFeatures"], json!(["auth.users.edit"]));
    let undone = send(&world, &house.keeper.token, Method::POST, UNDO, undo).await;
    assert_eq!(undone.status, 200, "{}", undone.text());

    let moved = change(json!({"email": "moved@alpha.test", "currentPassword": PASSWORD})).await;
    assert_eq!(moved.status, 200, "{}", moved.text());
    assert!(moved.operation().is_none(), "an address needs the password");
}

#[actix_web::test]
async fn a_selection_that_went_stale_is_passed_over_where_the_session_is_at_stake() {
    let world = World::new().await;
    let house = &world.a;
    for stale in [
        house.other.to_string(),
        Uuid::from_u128(7).to_string(),
        "nonsense".to_owned(),
    ] {
        let ask = |path: &'static str, body: Value| {
            let request = world.app.request(Method::POST, path).bearer(&house.local.token);
            request.cookie("selected_org", &stale).json(&body)
        };

        let told = ask("/auth/feature-check", json!({"features": ["auth.users.list"]}))
            .send()
            .await;
        assert_eq!((told.status, &told.json()["ok"]), (200, &json!(true)), "{stale}");
        let refused = ask(ROLES, json!({"name": "R"})).send().await;
        assert_eq!(
            (refused.status, &refused.json()["code"]),
            (403, &json!("selection_rejected")),
            "{stale}"
        );
    }
    let all = world
        .app
        .request(Method::GET, "/auth/admin/nav")
        .bearer(&house.local.token);
    let nav = all.header("X-Organization-Id", "all").send().await.json();
    assert_eq!(nav["currentOrganization"], Value::Null);

    let sign_out = world
        .app
        .request(Method::POST, "/auth/logout")
        .bearer(&house.local.token);
    let signed_out = sign_out.cookie("selected_org", "nonsense").send().await;
    assert_eq!(signed_out.status, 302, "{}", signed_out.text());
}

#[actix_web::test]
async fn f19_a_person_comes_back_to_no_company_that_the_caller_does_not_see() {
    let world = World::new().await;
    let house = &world.a;
    customers::furnish(&world, house).await;
    let person = Customer::SparePerson.of(house);
    let company = Customer::Company.of(house);
    let tie = format!(
        "update customers_people set organization_id = '{}', company_id = '{company}' where id = '{person}'",
        house.child
    );
    assert_eq!(world.app.sql(&tie).await, 1);
    let path = format!("/customers/people?id={person}");
    let deleted = send(&world, &house.local.token, Method::DELETE, &path, Value::Null).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());

    let undo = json!({"undoToken": deleted.operation().expect("it can be undone")["undoToken"]});
    let answer = send(&world, &house.local.token, Method::POST, UNDO, undo.clone()).await;
    assert_eq!(
        (answer.status, &answer.json()["fields"]),
        (400, &json!(["companyId"])),
        "{}",
        answer.text()
    );
    assert_eq!(
        send(&world, &house.keeper.token, Method::POST, UNDO, undo).await.status,
        200
    );
}
