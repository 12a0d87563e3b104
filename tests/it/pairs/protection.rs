//! Principals with more rights than the caller are protected; keys end with their creators.

use actix_web::http::Method;
use backoffice_test_support::UNDO;
use serde_json::{Value, json};

use super::{ACL, DEALS, KEYS, MANAGER, ROLES, USERS, deal, ids};
use crate::fixture::{Fixture, PASSWORD, id, text};

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
    let deleted = fixture.app.send(tenant_admin, Method::DELETE, &path, Value::Null).await;
    let undo = json!({"undoToken": deleted.undoable_write().token});
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
        (post.clone(), UNDO.to_owned(), undo),
        (post.clone(), format!("{USERS}/resend-invite"), json!({"id": invited})),
        (delete, format!("{KEYS}?id={}", text(&key["id"])), Value::Null),
    ];
    for (method, path, body) in tries {
        let before = fixture.app.snapshot().await;
        let outcome = fixture.app.send(&manager.token, method, &path, body.clone()).await;
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
        json!({"id": admin.id, "roles": ["Clerk", "admin"]}),
        json!({"id": off.id, "isActive": true}),
        json!({"id": admin.id, "password": "Given-12345678"}),
    ] {
        let outcome = fixture.app.put(equal, USERS, body.clone()).await;
        assert_eq!(outcome.0, 200, "{body}: {}", outcome.1);
    }
    let undone = fixture.app.undo(tenant_admin, &deleted).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
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
        json!({"id": tenant_fixture.plain.id, "roles": ["Clerk"]}),
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
