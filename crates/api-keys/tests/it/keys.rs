//! Keys: made once, shown once, limited, revoked.

use std::time::Duration;

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{KEYS, Key, World, id_of};

const ORGANIZATIONS: &str = "/directory/organizations";

fn names(body: &Value) -> Vec<String> {
    let items = body["items"].as_array().expect("a list").iter();
    let mut names: Vec<String> = items
        .map(|item| item["name"].as_str().expect("a name").to_owned())
        .collect();
    names.sort();
    names
}

#[actix_web::test]
async fn acc_34_a_key_is_shown_once() {
    let world = World::new().await;
    let body = json!({"name": " Scanner ", "description": "Dock 4", "roles": ["admin"]});
    let make = async || {
        let request = world.app.request(Method::POST, KEYS).bearer(&world.a.token).json(&body);
        request.header("Idempotency-Key", "once").send().await
    };

    let first = make().await;
    let repeated = make().await;

    let made = first.json();
    let secret = made["secret"].as_str().expect("a key").to_owned();
    assert_eq!((first.status, made["name"].as_str()), (201, Some("Scanner")), "{made}");
    assert_eq!(made["keyPrefix"], secret[..11]);
    assert_eq!(made["organizationId"], world.a.organization.to_string());
    assert_eq!(made["roles"][0]["name"], "admin");
    assert_eq!(first.header("cache-control").as_deref(), Some("no-store"));
    assert_eq!(first.operation(), None, "it can't be undone");
    let mut expected = made.clone();
    expected["secret"] = Value::Null;
    assert_eq!((repeated.status, repeated.json()), (201, expected));
    let (status, list) = world.app.get(&world.a.token, KEYS).await;
    assert_eq!((status, &list["total"]), (200, &json!(1)));
    let item = &list["items"][0];
    assert_eq!(item["keyPrefix"], made["keyPrefix"]);
    assert_eq!(item["description"], "Dock 4");
    assert_eq!(item["organizationName"], "Alpha");
    assert!(item["createdByUserId"].is_string());
    assert!(!list.to_string().contains(&secret));
    let (_, log) = world.app.get(&world.a.token, "/audit_logs/audit-logs/actions").await;
    assert!(log.to_string().contains("api_keys.key.create"), "{log}");
    let random = &secret[12..];
    let image = format!("{:?}", world.app.image().await);
    assert!(!image.contains(random), "the text of a key is stored nowhere");
}

#[actix_web::test]
async fn acc_34_a_key_of_an_organization_sees_that_branch_alone() {
    let world = World::new().await;
    let parent = world.organization("P", None).await;
    let child = world.organization("C", Some(parent)).await;
    world.organization("G", Some(child)).await;
    let unlimited = world.role("Reader", &["directory.organizations.view"], None).await;
    let other = world
        .role(
            "Elsewhere",
            &["directory.organizations.view"],
            Some(&[world.a.organization]),
        )
        .await;
    let above = world
        .role("Above", &["directory.organizations.view"], Some(&[parent]))
        .await;

    let branch = Some(vec!["C".to_owned(), "G".to_owned()]);
    for (role, expected) in [(unlimited, branch.clone()), (above, branch), (other, None)] {
        let key = world
            .key(json!({"name": "K", "organizationId": child, "roles": [role]}))
            .await;
        let (status, body) = world.get(&key, ORGANIZATIONS).await;
        // What its role grants elsewhere only, the key does not hold.
        let seen = (status == 200).then(|| names(&body));
        assert_eq!((status, seen), (if expected.is_some() { 200 } else { 403 }, expected));
        let outside = world
            .app
            .request(Method::GET, ORGANIZATIONS)
            .header("X-Api-Key", &key.secret);
        let outside = outside.header("X-Organization-Id", &parent.to_string()).send().await;
        assert_eq!(outside.status, 403, "{}", outside.text());
    }
}

#[actix_web::test]
async fn acc_34_a_role_of_super_administrators_is_refused() {
    let world = World::new().await;
    let (_, made) = world
        .app
        .post(&world.root, "/auth/roles", json!({"name": "Rooted"}))
        .await;
    let acl = json!({"roleId": id_of(&made), "isSuperAdmin": true});
    assert_eq!(world.app.put(&world.root, "/auth/roles/acl", acl).await.0, 200);
    let body = json!({"name": "K", "roles": ["Rooted"], "tenantId": world.a.id, "organizationId": null});

    let (status, told) = world.app.post(&world.root, KEYS, body.clone()).await;
    let (hidden_status, hidden) = world.app.post(&world.a.token, KEYS, body).await;

    assert_eq!(status, 400);
    assert_eq!(told["error"], "Super administrator roles cannot be given to an API key");
    assert_eq!(
        (hidden_status, &hidden["error"]),
        (400, &json!("Role(s) not found: \"Rooted\""))
    );
}

#[actix_web::test]
async fn acc_34_what_ends_a_key_ends_it_at_once() {
    let world = World::new().await;
    world.app.start_background();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let office = world.organization("Office", None).await;
    let make = async |body: Value| {
        let key = world.key(body).await;
        assert_eq!(world.get(&key, KEYS).await.0, 200);
        assert_eq!(world.get(&key, KEYS).await.0, 200, "from the cache");
        key
    };
    let revoked = make(json!({"name": "Revoked", "roles": ["admin"]})).await;
    let expires_at = world.app.now().after(time_minutes(5));
    let expiring = make(json!({"name": "Expiring", "roles": ["admin"], "expiresAt": expires_at})).await;
    let closed = make(json!({"name": "Closed", "roles": ["admin"], "organizationId": office})).await;

    let path = format!("{KEYS}?id={}", revoked.id);
    let (status, body) = world.app.delete(&world.a.token, &path, Value::Null).await;
    assert_eq!((status, body), (200, json!({"success": true})));
    assert_eq!(world.get(&revoked, KEYS).await, (401, json!({"error": "Unauthorized"})));
    assert_eq!(world.app.delete(&world.a.token, &path, Value::Null).await.0, 404);

    let change = json!({"id": office, "isActive": false});
    assert_eq!(world.app.put(&world.a.token, ORGANIZATIONS, change).await.0, 200);
    assert_eq!(world.get(&closed, KEYS).await.0, 401);

    assert_eq!(world.get(&expiring, KEYS).await.0, 200);
    world.app.advance(time_minutes(5));
    assert_eq!(world.get(&expiring, KEYS).await.0, 401);
}

fn time_minutes(minutes: i64) -> time::Duration {
    time::Duration::minutes(minutes)
}

#[actix_web::test]
async fn a_key_is_presented_in_either_header() {
    let world = World::new().await;
    let key = world.key(json!({"name": "K", "roles": ["admin"]})).await;
    let other = Key {
        secret: format!("{}{}", &key.secret[..12], "A".repeat(43)),
        ..key
    };

    let by_scheme = world.app.request(Method::GET, KEYS);
    let by_scheme = by_scheme
        .header("Authorization", &format!("ApiKey {}", key.secret))
        .send()
        .await;
    assert_eq!(by_scheme.status, 200);
    assert_eq!(world.get(&key, KEYS).await.0, 200);
    assert_eq!(world.get(&other, KEYS).await.0, 401, "the prefix alone opens nothing");
    let unknown = Key {
        id: Uuid::nil(),
        secret: "bo_00000000_nonsense".to_owned(),
    };
    assert_eq!(world.get(&unknown, KEYS).await.0, 401);
}

#[actix_web::test]
async fn a_bearer_token_comes_before_the_cookie_and_the_cookie_before_a_key() {
    let world = World::new().await;
    let key = world.key(json!({"name": "K", "roles": ["admin"]})).await;
    let (good, dead) = (world.a.token.as_str(), "garbage");
    let bearer = |token: &str| format!("Bearer {token}");
    let by_key = format!("ApiKey {}", key.secret);

    for (authorization, cookie, header, expected) in [
        // Whoever is not for us presents nothing.
        (Some("Basic dXNlcjpwYXNz".to_owned()), Some(good), None, "user"),
        (
            Some("Basic dXNlcjpwYXNz".to_owned()),
            None,
            Some(key.secret.as_str()),
            "key",
        ),
        (Some("Negotiate".to_owned()), Some(good), None, "user"),
        (Some(by_key.clone()), Some(good), None, "user"),
        (Some(by_key.clone()), Some(dead), None, "cleared"),
        (Some(by_key.clone()), None, Some(dead), "cleared"),
        (Some(by_key), Some(""), None, "key"),
        (Some(bearer(good)), Some(dead), Some(dead), "user"),
        (Some(bearer(dead)), Some(good), Some(key.secret.as_str()), "cleared"),
        (Some("bearer".to_owned()), Some(good), None, "cleared"),
        (None, Some(good), Some(dead), "user"),
        (None, Some(dead), Some(key.secret.as_str()), "cleared"),
        (Some("Basic dXNlcjpwYXNz".to_owned()), None, None, "nothing"),
    ] {
        let mut request = world
            .app
            .request(Method::POST, "/auth/feature-check")
            .json(&json!({"features": []}));
        if let Some(value) = &authorization {
            request = request.header("authorization", value);
        }
        if let Some(value) = cookie {
            request = request
                .header("sec-fetch-site", "same-origin")
                .cookie("auth_token", value);
        }
        if let Some(value) = header {
            request = request.header("x-api-key", value);
        }
        let response = request.send().await;

        let told = match response.status {
            200 if response.json()["userId"] == json!(key.id) => "key",
            200 if response.json()["userId"] == json!(world.a.admin) => "user",
            401 if response.cookie("auth_token").is_some() => "cleared",
            401 => "nothing",
            _ => "something else",
        };
        assert_eq!(
            told,
            expected,
            "{authorization:?}, {cookie:?}, {header:?}: {}",
            response.text()
        );
    }
}

#[actix_web::test]
async fn nobody_makes_a_key_that_may_do_more_than_its_maker() {
    let world = World::new().await;
    let branch = world.organization("Branch", None).await;
    world.role("Maker", &["api_keys.*"], Some(&[branch])).await;
    world.role("Reader", &["auth.users.list"], None).await;
    world.role("Wide", &["api_keys.view"], None).await;
    let maker = world.user("maker@alpha.test", &["Maker"]).await;
    let before = world.app.rows("select id from api_keys_keys").await;
    let post = async |body: Value| world.app.post(&maker, KEYS, body).await;

    let (status, body) = post(json!({"name": "K", "organizationId": branch, "roles": ["Reader"]})).await;
    assert_eq!((status, &body["code"]), (403, &json!("grant_exceeds_rights")), "{body}");
    assert_eq!(body["features"], json!(["auth.users.list"]));
    for place in [
        json!(null),
        json!(world.a.organization),
        json!(world.b.organization),
        json!(Uuid::nil()),
    ] {
        let (status, body) = post(json!({"name": "K", "organizationId": place})).await;
        assert_eq!(
            (status, body),
            (403, json!({"error": "Organization out of scope"})),
            "{place}"
        );
    }
    // Its own organization lies outside of what it is allowed, so nothing says where the key belongs.
    let (status, body) = post(json!({"name": "K"})).await;
    assert_eq!((status, &body["code"]), (400, &json!("organization_required")));
    assert_eq!(world.app.rows("select id from api_keys_keys").await, before);

    // A role without limit is confined by the organization of the key.
    let (status, body) = post(json!({"name": "K", "organizationId": branch, "roles": ["Wide"]})).await;
    assert_eq!(status, 201, "{body}");
}

#[actix_web::test]
async fn a_key_makes_no_key_wider_than_itself() {
    let world = World::new().await;
    let branch = world.organization("Branch", None).await;
    let key = world
        .key(json!({"name": "K", "organizationId": branch, "roles": ["admin"]}))
        .await;
    let post = async |body: Value| {
        let request = world.app.request(Method::POST, KEYS).header("X-Api-Key", &key.secret);
        let response = request.json(&body).send().await;
        (response.status, response.json())
    };

    let (status, made) = post(json!({"name": "Child", "roles": ["admin"]})).await;
    let (wide_status, _) = post(json!({"name": "Wide", "organizationId": null})).await;

    assert_eq!((status, &made["organizationId"]), (201, &json!(branch)), "{made}");
    assert_eq!(wide_status, 403);
    let (_, list) = world.get(&key, KEYS).await;
    assert_eq!(names(&list), ["Child", "K"]);
    let items = list["items"].as_array().expect("a list");
    let child = items.iter().find(|item| item["name"] == "Child");
    assert_eq!(
        child.expect("listed")["createdByUserId"],
        Value::Null,
        "no user made it"
    );
}

#[actix_web::test]
async fn what_is_no_key_is_refused_with_the_member_that_is_wrong() {
    let world = World::with_config("[api_keys]\nmax_ttl = '30d'\n").await;
    let in_days = |days: i64| world.app.now().after(time::Duration::days(days));
    let good = json!({"name": "K", "expiresAt": in_days(30)});
    let with = |member: &str, value: Value| {
        let mut body = good.clone();
        body[member] = value;
        body
    };

    for (member, value) in [
        ("name", json!(" ")),
        ("name", json!("x".repeat(121))),
        ("name", json!("a\nb")),
        ("description", json!("x".repeat(1001))),
        ("expiresAt", json!(world.app.now())),
        ("expiresAt", json!(in_days(31))),
        ("expiresAt", Value::Null),
        ("expiresAt", json!("tomorrow")),
        ("roles", json!(vec!["admin"; 51])),
        ("organizationId", json!("here")),
    ] {
        let (status, body) = world.app.post(&world.a.token, KEYS, with(member, value.clone())).await;
        assert_eq!(
            (status, &body["error"]),
            (400, &json!("Invalid input")),
            "{member} {value}"
        );
        assert_eq!(body["details"][0]["path"], member, "{body}");
    }
    let (status, body) = world
        .app
        .post(&world.a.token, KEYS, with("roles", json!(["nobody"])))
        .await;
    assert_eq!((status, body), (400, json!({"error": "Role(s) not found: \"nobody\""})));
    assert_eq!(world.app.post(&world.a.token, KEYS, good).await.0, 201);
}

#[actix_web::test]
async fn acc_19_a_key_of_another_tenant_is_as_one_that_does_not_exist() {
    let world = World::new().await;
    let key = world.key(json!({"name": "K", "roles": ["admin"]})).await;
    let delete = async |id: Uuid| {
        let path = format!("{KEYS}?id={id}");
        world.app.delete(&world.b.token, &path, Value::Null).await
    };

    let (foreign, unknown) = (delete(key.id).await, delete(Uuid::from_u128(7)).await);

    assert_eq!(foreign, (404, json!({"error": "API key not found"})));
    assert_eq!(foreign, unknown);
    assert_eq!(world.app.get(&world.b.token, KEYS).await.1["total"], 0);
    let body = json!({"name": "K", "tenantId": world.a.id});
    assert_eq!(world.app.post(&world.b.token, KEYS, body).await.0, 403);
    assert_eq!(world.get(&key, KEYS).await.0, 200);
    for path in [KEYS.to_owned(), format!("{KEYS}?id="), format!("{KEYS}?id=7")] {
        let (status, body) = world.app.delete(&world.a.token, &path, Value::Null).await;
        assert_eq!((status, &body["error"]), (400, &json!("ID is required")), "{path}");
    }
}

#[actix_web::test]
async fn super_administrators_name_the_tenant() {
    let world = World::new().await;
    let key = world.key(json!({"name": "K", "roles": ["admin"]})).await;

    let (status, body) = world.app.get(&world.root, KEYS).await;
    assert_eq!((status, &body["error"]), (400, &json!("Tenant context required")));
    let (status, body) = world.app.post(&world.root, KEYS, json!({"name": "K"})).await;
    assert_eq!((status, &body["error"]), (400, &json!("Tenant context required")));
    let body = json!({"name": "K", "tenantId": Uuid::from_u128(7), "organizationId": null});
    let (status, body) = world.app.post(&world.root, KEYS, body).await;
    assert_eq!((status, &body["error"]), (400, &json!("Tenant not found")));

    let body = json!({"name": "Of B", "tenantId": world.b.id, "organizationId": null, "roles": ["admin"]});
    let (status, made) = world.app.post(&world.root, KEYS, body).await;
    assert_eq!((status, &made["tenantId"]), (201, &json!(world.b.id)), "{made}");
    assert_eq!(names(&world.app.get(&world.b.token, KEYS).await.1), ["Of B"]);
    let selected = |method, path: &str| {
        let request = world.app.request(method, path).bearer(&world.root);
        request.header("X-Tenant-Id", &world.b.id.to_string())
    };
    assert_eq!(names(&selected(Method::GET, KEYS).send().await.json()), ["Of B"]);
    let other = format!("{KEYS}?id={}", key.id);
    assert_eq!(selected(Method::DELETE, &other).send().await.status, 404);
    let own = format!("{KEYS}?id={}", id_of(&made));
    assert_eq!(selected(Method::DELETE, &own).send().await.status, 200);
}

#[actix_web::test]
async fn a_key_that_is_not_visible_in_the_selection_is_not_listed() {
    let world = World::new().await;
    let branch = world.organization("Branch", None).await;
    world.key(json!({"name": "Whole", "organizationId": null})).await;
    world
        .key(json!({"name": "Of the branch", "organizationId": branch}))
        .await;
    let list = async |search: &str, organization: &str| {
        let path = format!("{KEYS}?search={search}");
        let request = world.app.request(Method::GET, &path).bearer(&world.a.token);
        names(&request.header("X-Organization-Id", organization).send().await.json())
    };

    assert_eq!(list("", "all").await, ["Of the branch", "Whole"]);
    assert_eq!(list("", &branch.to_string()).await, ["Of the branch"]);
    assert_eq!(list("whole", "all").await, ["Whole"]);
    assert_eq!(list("bo_", "all").await.len(), 2);
    assert_eq!(list("%25", "all").await, [""; 0]);
}
