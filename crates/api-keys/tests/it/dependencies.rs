//! Resources that keys depend on cannot be deleted.

use actix_web::http::Method;
use backoffice_test_accounts::ORGANIZATIONS;
use serde_json::{Value, json};

use crate::fixture::{Fixture, KEYS, Key, id_of};

async fn delete(fixture: &Fixture, path: &str) -> (u16, Value) {
    fixture.app.delete(&fixture.a.token, path, Value::Null).await
}

#[actix_web::test]
async fn a_role_that_a_key_holds_stays() {
    let fixture = Fixture::new().await;
    let role = fixture.role("Reader", &["auth.users.list"], None).await;
    let key = fixture.key(json!({"name": "K", "roles": ["Reader"]})).await;
    let path = format!("/auth/roles?id={role}");

    let rejected = delete(&fixture, &path).await;

    let expected = json!({"error": "Role has assigned users", "code": "role_in_use"});
    assert_eq!(rejected, (400, expected));
    assert_eq!(delete(&fixture, &format!("{KEYS}?id={}", key.id)).await.0, 200);
    assert_eq!(delete(&fixture, &path).await.0, 200);
}

#[actix_web::test]
async fn a_global_role_that_a_key_of_a_tenant_holds_stays() {
    let fixture = Fixture::new().await;
    let (_, created) = fixture
        .app
        .post(&fixture.root, "/auth/roles", json!({"name": "Everywhere"}))
        .await;
    fixture.key(json!({"name": "K", "roles": ["Everywhere"]})).await;

    let path = format!("/auth/roles?id={}", id_of(&created));
    let (status, body) = fixture.app.delete(&fixture.root, &path, Value::Null).await;

    assert_eq!((status, &body["code"]), (400, &json!("role_in_use")));
}

#[actix_web::test]
async fn an_organization_with_keys_stays() {
    let fixture = Fixture::new().await;
    let office = fixture.organization("Office", None).await;
    let key = fixture.key(json!({"name": "K", "organizationId": office})).await;
    let path = format!("/directory/organizations?id={office}");

    let rejected = delete(&fixture, &path).await;

    let expected = json!({"error": "Organization is in use", "code": "organization_in_use"});
    assert_eq!(rejected, (409, expected));
    assert_eq!(delete(&fixture, &format!("{KEYS}?id={}", key.id)).await.0, 200);
    assert_eq!(delete(&fixture, &path).await.0, 200);
}

#[actix_web::test]
async fn undoing_the_creation_of_a_role_or_organization_with_keys_is_rejected() {
    let fixture = Fixture::new().await;
    let create = |path, body: Value| fixture.app.send(&fixture.a.token, Method::POST, path, body);
    let created_role = create("/auth/roles", json!({"name": "Fresh"})).await;
    let created_office = create(ORGANIZATIONS, json!({"name": "Fresh"})).await;
    let (role, office) = (id_of(&created_role.json()), id_of(&created_office.json()));
    fixture
        .key(json!({"name": "K", "organizationId": office, "roles": [role]}))
        .await;

    for created in [created_role, created_office] {
        let undone = fixture.app.undo(&fixture.a.token, &created).await;
        assert_eq!(
            (undone.0, &undone.1["code"]),
            (400, &json!("undo_conflict")),
            "{}",
            undone.1
        );
        assert_eq!(undone.1["fields"], json!(["api_keys.key"]));
    }
}

#[actix_web::test]
async fn no_key_lands_in_an_organization_that_is_being_removed() {
    let fixture = Fixture::new().await;
    let office = fixture.organization("Office", None).await;
    let sql = format!("update directory_organizations set deleted_at = now() where id = '{office}'");

    let create = fixture
        .app
        .post(&fixture.a.token, KEYS, json!({"name": "K", "organizationId": office}));
    let response = fixture.app.database().while_changing(&sql, create).await;

    assert_eq!(response, (403, json!({"error": "Organization out of scope"})));
    assert!(fixture.app.rows("select id from api_keys_keys").await.is_empty());
}

#[actix_web::test]
async fn a_caller_who_may_not_write_a_role_does_not_learn_that_a_key_holds_it() {
    let fixture = Fixture::new().await;
    let office = fixture.organization("Office", None).await;
    let wide = fixture.role("Wide", &["auth.users.list"], Some(&[office])).await;
    fixture.key(json!({"name": "K", "roles": ["Wide"]})).await;
    let features = ["auth.roles.manage", "auth.users.list"];
    fixture
        .role("Limited", &features, Some(&[fixture.a.organization]))
        .await;
    let limited = fixture.user("limited@alpha.test", &["Limited"]).await;

    let path = format!("/auth/roles?id={wide}");
    let (status, body) = fixture.app.delete(&limited, &path, Value::Null).await;

    assert_eq!((status, &body["code"]), (403, &json!("grant_exceeds_rights")));
}

/// Creates a key by another one.
async fn created_by(fixture: &Fixture, creator: &Key, name: &str) -> Key {
    let request = fixture.app.request(Method::POST, KEYS);
    let request = request.header("X-Api-Key", &creator.secret);
    let response = request.json(&json!({"name": name, "roles": ["admin"]})).send().await;
    assert_eq!(response.status, 201, "{}", response.text());
    let created = response.json();
    Key {
        id: id_of(&created),
        secret: created["secret"].as_str().expect("a key").to_owned(),
    }
}

#[actix_web::test]
async fn a_deletion_revokes_the_keys_below_and_no_others() {
    let fixture = Fixture::new().await;
    let first = fixture.key(json!({"name": "First", "roles": ["admin"]})).await;
    let second = created_by(&fixture, &first, "Second").await;
    let third = created_by(&fixture, &second, "Third").await;
    let sibling = created_by(&fixture, &first, "Sibling").await;
    let other = fixture.key(json!({"name": "Other", "roles": ["admin"]})).await;
    let statuses = async || {
        let mut statuses = Vec::new();
        for key in [&first, &second, &third, &sibling, &other] {
            statuses.push(fixture.get(key, KEYS).await.0);
        }
        statuses
    };
    let revoked = async |key: &Key| {
        let rows = format!("auth_revocations where subject_id = '{}'", key.id);
        fixture.app.count(&rows).await
    };
    assert_eq!(statuses().await, [200; 5]);

    assert_eq!(delete(&fixture, &format!("{KEYS}?id={}", second.id)).await.0, 200);
    assert_eq!(statuses().await, [200, 401, 401, 200, 200]);
    assert_eq!(delete(&fixture, &format!("{KEYS}?id={}", first.id)).await.0, 200);
    assert_eq!(statuses().await, [401, 401, 401, 401, 200]);

    // The second key was deleted before, and what it created is found nevertheless.
    assert_eq!((revoked(&second).await, revoked(&third).await), (1, 2));
    assert_eq!((revoked(&sibling).await, revoked(&other).await), (1, 0));
}

#[actix_web::test]
async fn it_does_not_matter_how_many_keys_a_deletion_revokes() {
    let fixture = Fixture::counting().await;
    let mut counts = Vec::new();

    for (name, below) in [("First", 1), ("One", 1), ("Many", 7)] {
        let above = fixture.key(json!({"name": name, "roles": ["admin"]})).await.id;
        for number in 0..below {
            let body = json!({"name": format!("{name} {number}"), "roles": ["admin"]});
            fixture.key(body).await;
        }
        let sql = format!(
            "update api_keys_keys set created_by_kind = 'api_key', created_by_id = '{above}', creator_keys = array['{above}']::uuid[] \
             where name like '{name} %'"
        );
        assert_eq!(fixture.app.sql(&sql).await, below);
        let path = format!("{KEYS}?id={above}");
        let ((status, _), statements) = fixture.app.count_statements(delete(&fixture, &path)).await;
        assert_eq!(status, 200, "{name}");
        counts.push(statements);
    }

    assert_eq!(counts[1], counts[2], "one key below, or seven");
    let revoked = "auth_revocations where subject_kind = 'key' and subject_id in (select id from api_keys_keys)";
    assert_eq!(fixture.app.count(revoked).await, 12);
}
