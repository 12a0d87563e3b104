//! Keys: created once, shown once, limited, revoked.

use actix_web::http::Method;
use backoffice_test_accounts::ORGANIZATIONS;
use backoffice_test_support::details;
use serde_json::{Value, json};
use time::Duration;
use uuid::Uuid;

use crate::fixture::{Fixture, KEYS, id_of};

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
    let fixture = Fixture::new().await;
    let body = json!({"name": " Scanner ", "description": "Dock 4", "roles": ["admin"]});
    let create = async || {
        let request = fixture
            .app
            .request(Method::POST, KEYS)
            .bearer(&fixture.a.token)
            .json(&body);
        request.header("Idempotency-Key", "once").send().await
    };

    let first = create().await;
    let repeated = create().await;

    let created = first.json();
    let secret = created["secret"].as_str().expect("a key").to_owned();
    assert_eq!(
        (first.status, created["name"].as_str()),
        (201, Some("Scanner")),
        "{created}"
    );
    assert_eq!(created["keyPrefix"], secret[..11]);
    assert_eq!(created["organizationId"], fixture.a.organization.to_string());
    assert_eq!(created["roles"][0]["name"], "admin");
    assert_eq!(first.header("cache-control").as_deref(), Some("no-store"));
    assert_eq!(first.operation(), None, "it can't be undone");
    let mut expected = created.clone();
    expected["secret"] = Value::Null;
    assert_eq!((repeated.status, repeated.json()), (201, expected));
    let (status, list) = fixture.app.get(&fixture.a.token, KEYS).await;
    assert_eq!((status, &list["total"]), (200, &json!(1)));
    let item = &list["items"][0];
    assert_eq!(item["keyPrefix"], created["keyPrefix"]);
    assert_eq!(item["description"], "Dock 4");
    assert_eq!(item["organizationName"], "Alpha");
    assert!(item["createdByUserId"].is_string());
    assert!(!list.to_string().contains(&secret));
    let (_, log) = fixture
        .app
        .get(&fixture.a.token, "/audit_logs/audit-logs/actions")
        .await;
    assert!(log.to_string().contains("api_keys.key.create"), "{log}");
    let random = &secret[12..];
    let snapshot = format!("{:?}", fixture.app.snapshot().await);
    assert!(!snapshot.contains(random), "the text of a key is stored nowhere");
}

#[actix_web::test]
async fn acc_34_a_key_of_an_organization_sees_that_branch_alone() {
    let fixture = Fixture::new().await;
    let parent = fixture.organization("P", None).await;
    let child = fixture.organization("C", Some(parent)).await;
    fixture.organization("G", Some(child)).await;
    let unlimited = fixture.role("Reader", &["directory.organizations.view"], None).await;
    let other = fixture
        .role(
            "Elsewhere",
            &["directory.organizations.view"],
            Some(&[fixture.a.organization]),
        )
        .await;
    let above = fixture
        .role("Above", &["directory.organizations.view"], Some(&[parent]))
        .await;

    let branch = Some(vec!["C".to_owned(), "G".to_owned()]);
    for (role, expected) in [(unlimited, branch.clone()), (above, branch), (other, None)] {
        let key = fixture
            .key(json!({"name": "K", "organizationId": child, "roles": [role]}))
            .await;
        let (status, body) = fixture.get(&key, ORGANIZATIONS).await;
        // The key does not hold what its role grants only elsewhere.
        let seen = (status == 200).then(|| names(&body));
        assert_eq!((status, seen), (if expected.is_some() { 200 } else { 403 }, expected));
        let outside = fixture
            .app
            .request(Method::GET, ORGANIZATIONS)
            .header("X-Api-Key", &key.secret);
        let outside = outside.header("X-Organization-Id", &parent.to_string()).send().await;
        assert_eq!(outside.status, 403, "{}", outside.text());
    }
}

#[actix_web::test]
async fn acc_34_a_role_of_super_administrators_is_rejected() {
    let fixture = Fixture::new().await;
    let (_, created) = fixture
        .app
        .post(&fixture.root, "/auth/roles", json!({"name": "Rooted"}))
        .await;
    let acl = json!({"roleId": id_of(&created), "isSuperAdmin": true});
    assert_eq!(fixture.app.put(&fixture.root, "/auth/roles/acl", acl).await.0, 200);
    let body = json!({"name": "K", "roles": ["Rooted"], "tenantId": fixture.a.id, "organizationId": null});

    let (status, reported) = fixture.app.post(&fixture.root, KEYS, body.clone()).await;
    let (hidden_status, hidden) = fixture.app.post(&fixture.a.token, KEYS, body).await;

    assert_eq!(status, 400);
    assert_eq!(
        reported["error"],
        "Super administrator roles cannot be given to an API key"
    );
    assert_eq!(
        (hidden_status, &hidden["error"]),
        (400, &json!("Role(s) not found: \"Rooted\""))
    );
}

#[actix_web::test]
async fn a_key_never_has_more_rights_than_its_creator() {
    let fixture = Fixture::new().await;
    let branch = fixture.organization("Branch", None).await;
    fixture.role("Maker", &["api_keys.*"], Some(&[branch])).await;
    fixture.role("Reader", &["auth.users.list"], None).await;
    fixture.role("Wide", &["api_keys.view"], None).await;
    let maker = fixture.user("maker@alpha.test", &["Maker"]).await;
    let before = fixture.app.rows("select id from api_keys_keys").await;
    let post = async |body: Value| fixture.app.post(&maker, KEYS, body).await;

    let (status, body) = post(json!({"name": "K", "organizationId": branch, "roles": ["Reader"]})).await;
    assert_eq!((status, &body["code"]), (403, &json!("grant_exceeds_rights")), "{body}");
    assert_eq!(body["features"], json!(["auth.users.list"]));
    for place in [
        json!(null),
        json!(fixture.a.organization),
        json!(fixture.b.organization),
        json!(Uuid::nil()),
    ] {
        let (status, body) = post(json!({"name": "K", "organizationId": place})).await;
        assert_eq!(
            (status, body),
            (403, json!({"error": "Organization out of scope"})),
            "{place}"
        );
    }
    // The caller's own organization lies outside of the allowed ones, so nothing determines where the key belongs.
    let (status, body) = post(json!({"name": "K"})).await;
    assert_eq!((status, &body["code"]), (400, &json!("organization_required")));
    assert_eq!(fixture.app.rows("select id from api_keys_keys").await, before);

    // A role without limit is confined by the organization of the key.
    let (status, body) = post(json!({"name": "K", "organizationId": branch, "roles": ["Wide"]})).await;
    assert_eq!(status, 201, "{body}");
}

#[actix_web::test]
async fn a_key_creates_no_key_wider_than_itself() {
    let fixture = Fixture::new().await;
    let branch = fixture.organization("Branch", None).await;
    let key = fixture
        .key(json!({"name": "K", "organizationId": branch, "roles": ["admin"]}))
        .await;
    let post = async |body: Value| {
        let request = fixture.app.request(Method::POST, KEYS).header("X-Api-Key", &key.secret);
        let response = request.json(&body).send().await;
        (response.status, response.json())
    };

    let (status, created) = post(json!({"name": "Child", "roles": ["admin"]})).await;
    let (wide_status, _) = post(json!({"name": "Wide", "organizationId": null})).await;

    assert_eq!((status, &created["organizationId"]), (201, &json!(branch)), "{created}");
    assert_eq!(wide_status, 403);
    let (_, list) = fixture.get(&key, KEYS).await;
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
async fn an_invalid_key_is_rejected_with_the_invalid_field() {
    let fixture = Fixture::with_config("[api_keys]\nmax_ttl = '30d'\n").await;
    let in_days = |days: i64| fixture.app.now().after(Duration::days(days));
    let good = json!({"name": "K", "expiresAt": in_days(30)});
    let with = |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        body
    };

    for (field, value) in [
        ("name", json!(" ")),
        ("name", json!("x".repeat(121))),
        ("name", json!("a\nb")),
        ("description", json!("x".repeat(1001))),
        ("expiresAt", json!(fixture.app.now())),
        ("expiresAt", json!(in_days(31))),
        ("expiresAt", Value::Null),
        ("expiresAt", json!("tomorrow")),
        ("roles", json!(vec!["admin"; 51])),
        ("organizationId", json!("here")),
    ] {
        let (status, body) = fixture
            .app
            .post(&fixture.a.token, KEYS, with(field, value.clone()))
            .await;
        assert_eq!(
            (status, &body["error"]),
            (400, &json!("Invalid input")),
            "{field} {value}"
        );
        assert_eq!(body["details"][0]["path"], field, "{body}");
    }
    let (status, body) = fixture
        .app
        .post(&fixture.a.token, KEYS, with("roles", json!(["absent"])))
        .await;
    assert_eq!((status, body), (400, json!({"error": "Role(s) not found: \"absent\""})));
    assert_eq!(fixture.app.post(&fixture.a.token, KEYS, good).await.0, 201);
}

#[actix_web::test]
async fn acc_19_a_key_of_another_tenant_is_as_one_that_does_not_exist() {
    let fixture = Fixture::new().await;
    let key = fixture.key(json!({"name": "K", "roles": ["admin"]})).await;
    let delete = async |id: Uuid| {
        let path = format!("{KEYS}?id={id}");
        fixture.app.delete(&fixture.b.token, &path, Value::Null).await
    };

    let (foreign, unknown) = (delete(key.id).await, delete(Uuid::from_u128(7)).await);

    assert_eq!(foreign, (404, json!({"error": "API key not found"})));
    assert_eq!(foreign, unknown);
    assert_eq!(fixture.app.get(&fixture.b.token, KEYS).await.1["total"], 0);
    let body = json!({"name": "K", "tenantId": fixture.a.id});
    assert_eq!(fixture.app.post(&fixture.b.token, KEYS, body).await.0, 403);
    assert_eq!(fixture.get(&key, KEYS).await.0, 200);
    for path in [KEYS.to_owned(), format!("{KEYS}?id="), format!("{KEYS}?id=7")] {
        let (status, body) = fixture.app.delete(&fixture.a.token, &path, Value::Null).await;
        assert_eq!((status, &body["error"]), (400, &json!("ID is required")), "{path}");
    }
}

#[actix_web::test]
async fn super_administrators_name_the_tenant() {
    let fixture = Fixture::new().await;
    let key = fixture.key(json!({"name": "K", "roles": ["admin"]})).await;

    let (status, body) = fixture.app.get(&fixture.root, KEYS).await;
    assert_eq!((status, &body["error"]), (400, &json!("Tenant context required")));
    let (status, body) = fixture.app.post(&fixture.root, KEYS, json!({"name": "K"})).await;
    assert_eq!((status, &body["error"]), (400, &json!("Tenant context required")));
    let body = json!({"name": "K", "tenantId": Uuid::from_u128(7), "organizationId": null});
    let (status, body) = fixture.app.post(&fixture.root, KEYS, body).await;
    assert_eq!((status, &body["error"]), (400, &json!("Tenant not found")));

    let body = json!({"name": "Of B", "tenantId": fixture.b.id, "organizationId": null, "roles": ["admin"]});
    let (status, created) = fixture.app.post(&fixture.root, KEYS, body).await;
    assert_eq!((status, &created["tenantId"]), (201, &json!(fixture.b.id)), "{created}");
    assert_eq!(names(&fixture.app.get(&fixture.b.token, KEYS).await.1), ["Of B"]);
    let selected = |method, path: &str| {
        let request = fixture.app.request(method, path).bearer(&fixture.root);
        request.header("X-Tenant-Id", &fixture.b.id.to_string())
    };
    assert_eq!(names(&selected(Method::GET, KEYS).send().await.json()), ["Of B"]);
    let other = format!("{KEYS}?id={}", key.id);
    assert_eq!(selected(Method::DELETE, &other).send().await.status, 404);
    let own = format!("{KEYS}?id={}", id_of(&created));
    assert_eq!(selected(Method::DELETE, &own).send().await.status, 200);
}

#[actix_web::test]
async fn a_key_that_is_not_visible_in_the_selection_is_not_listed() {
    let fixture = Fixture::new().await;
    let branch = fixture.organization("Branch", None).await;
    fixture.key(json!({"name": "Whole", "organizationId": null})).await;
    fixture
        .key(json!({"name": "Of the branch", "organizationId": branch}))
        .await;
    let list = async |search: &str, organization: &str| {
        let path = format!("{KEYS}?search={search}");
        let request = fixture.app.request(Method::GET, &path).bearer(&fixture.a.token);
        names(&request.header("X-Organization-Id", organization).send().await.json())
    };

    assert_eq!(list("", "all").await, ["Of the branch", "Whole"]);
    assert_eq!(list("", &branch.to_string()).await, ["Of the branch"]);
    assert_eq!(list("whole", "all").await, ["Whole"]);
    assert_eq!(list("bo_", "all").await.len(), 2);
    assert_eq!(list("%25", "all").await, [""; 0]);
}

#[actix_web::test]
async fn a_stale_deletion_is_rejected_with_both_times_and_changes_nothing() {
    let fixture = Fixture::new().await;
    let key = fixture.key(json!({"name": "Robot"})).await;
    let path = format!("{KEYS}?id={}", key.id);
    let list = fixture.app.read(&fixture.a.token, &path).await;
    let current = list["items"][0]["updatedAt"].as_str().expect("a time").to_owned();
    let stale = "2020-01-01T00:00:00.000Z";
    let delete = async |name: &str, value: &str| {
        let request = fixture.app.request(Method::DELETE, &path).bearer(&fixture.a.token);
        request.header(name, value).send().await
    };
    let before = fixture.app.snapshot().await;

    for (name, value) in [
        ("If-Match", format!("\"{stale}\"")),
        ("X-Expected-Updated-At", stale.to_owned()),
    ] {
        let response = delete(name, &value).await;
        assert_eq!(response.status, 409, "{name}: {}", response.text());
        assert_eq!(
            response.json(),
            json!({"error": "record_modified", "code": "optimistic_lock_conflict",
                "currentUpdatedAt": current, "expectedUpdatedAt": stale}),
            "{name}"
        );
    }

    assert_eq!(fixture.app.snapshot().await, before);
    assert_eq!(delete("X-Expected-Updated-At", &current).await.status, 200);
}

#[actix_web::test]
async fn every_invalid_field_is_reported_before_a_missing_tenant_or_organization() {
    let fixture = Fixture::with_config("[api_keys]\nmax_ttl = '30d'\n").await;
    let branch = fixture.organization("Branch", None).await;
    fixture.role("Maker", &["api_keys.*"], Some(&[branch])).await;
    let maker = fixture.user("maker@alpha.test", &["Maker"]).await;
    let valid = json!({"name": "K", "expiresAt": fixture.app.now().after(Duration::minutes(5))});
    let unknown = Uuid::from_u128(7);

    for (token, tenant, then) in [
        (&maker, Value::Null, "Organization required"),
        (&fixture.root, Value::Null, "Tenant context required"),
        (&fixture.root, json!(unknown), "Tenant not found"),
    ] {
        let with_tenant = |mut body: Value| {
            body["tenantId"] = tenant.clone();
            body
        };
        let invalid = json!({"name": " ", "description": "x".repeat(1001)});
        let (status, body) = fixture.app.post(token, KEYS, with_tenant(invalid)).await;
        let details = body["details"].as_array().expect("details");
        let paths: Vec<&Value> = details.iter().map(|detail| &detail["path"]).collect();
        assert_eq!((status, &body["error"]), (400, &json!("Invalid input")), "{body}");
        assert_eq!(paths, ["name", "description", "expiresAt"]);

        let (status, body) = fixture.app.post(token, KEYS, with_tenant(valid.clone())).await;
        assert_eq!((status, &body["error"]), (400, &json!(then)));
    }
    let path = format!("{KEYS}?pageSize=x&search={}&page=0", "x".repeat(201));
    let (status, listed) = fixture.app.get(&fixture.a.token, &path).await;
    assert_eq!((status, sorted(&listed)), (400, vec!["page", "pageSize", "search"]));
    let path = format!("{KEYS}?id=x&tenantId=zz");
    let (status, deleted) = fixture.app.delete(&fixture.a.token, &path, Value::Null).await;
    assert_eq!((status, sorted(&deleted)), (400, vec!["id", "tenantId"]));
}

/// Returns the paths of the violated rules.
fn sorted(body: &Value) -> Vec<&str> {
    let mut paths: Vec<&str> = details(body).into_iter().map(|(path, _)| path).collect();
    paths.sort_unstable();
    paths
}

#[actix_web::test]
async fn a_selected_organization_excludes_a_key_of_the_whole_tenant() {
    let fixture = Fixture::new().await;
    let branch = fixture.organization("Branch", None).await;
    let body = json!({"name": "K", "organizationId": null});
    let post = async |organization: &str| {
        let request = fixture.app.request(Method::POST, KEYS).bearer(&fixture.a.token);
        let request = request.header("X-Organization-Id", organization).json(&body);
        let response = request.send().await;
        (response.status, response.json())
    };

    let selected = post(&branch.to_string()).await;

    assert_eq!(selected, (403, json!({"error": "Organization out of scope"})));
    assert_eq!(post("all").await.0, 201);
}

#[actix_web::test]
async fn each_page_shows_what_the_whole_list_shows() {
    let fixture = Fixture::new().await;
    let branch = fixture.organization("Branch", None).await;
    fixture.role("Reader", &["auth.users.list"], None).await;
    for (name, organization, roles) in [
        ("First", json!(null), json!(["admin", "Reader"])),
        ("Second", json!(branch), json!(["Reader"])),
        ("Third", json!(fixture.a.organization), json!([])),
    ] {
        let body = json!({"name": name, "organizationId": organization, "roles": roles});
        fixture.key(body).await;
        fixture.app.advance(Duration::SECOND);
    }
    let whole = fixture.app.read(&fixture.a.token, KEYS).await;
    let items = whole["items"].as_array().expect("a list");
    assert_eq!(items.len(), 3, "{whole}");

    let pages = items.iter().map(|item| json!([item])).chain([json!([])]);
    for (index, expected) in pages.enumerate() {
        let path = format!("{KEYS}?pageSize=1&page={}", index + 1);
        let page = fixture.app.read(&fixture.a.token, &path).await;
        assert_eq!((&page["items"], &page["total"]), (&expected, &json!(3)), "{path}");
    }
}
