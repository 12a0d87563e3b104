//! How long a deleted key is kept.

use actix_web::http::Method;
use backoffice_core::{Call, retention};
use backoffice_test_accounts::ORGANIZATIONS;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, KEYS, Key, id_of};

/// Deletes a record as the administrator of tenant A, long ago.
async fn delete(fixture: &Fixture, path: &str, table: &str, id: Uuid) {
    let path = format!("{path}?id={id}");
    let (status, body) = fixture.app.delete(&fixture.a.token, &path, Value::Null).await;
    assert_eq!(status, 200, "{body}");
    let old = format!("update {table} set deleted_at = '2020-01-01T00:00:00Z' where id = '{id}'");
    assert_eq!(fixture.app.sql(&old).await, 1);
}

async fn maintain(fixture: &Fixture) {
    let complete = retention::maintain_logs(&Call::internal(fixture.app.runtime())).await;
    assert!(complete.expect("maintained"));
}

#[actix_web::test]
async fn a_deleted_key_is_purged_with_the_log_and_the_keys_that_it_created_stay_unusable() {
    let fixture = Fixture::new().await;
    let office = fixture.organization("Office", None).await;
    let key = fixture
        .key(json!({"name": "K", "organizationId": office, "roles": ["admin"]}))
        .await;
    let request = fixture.app.request(Method::POST, KEYS).header("X-Api-Key", &key.secret);
    let body = json!({"name": "Child", "roles": ["admin"]});
    let created = request.json(&body).send().await.json();
    let child = Key {
        id: id_of(&created),
        secret: created["secret"].as_str().expect("a key").to_owned(),
    };
    assert_eq!(fixture.get(&child, KEYS).await.0, 200);
    let rows = async |table: &str, id: Uuid| fixture.app.count(&format!("{table} where id = '{id}'")).await;
    let (keys, organizations) = ("api_keys_keys", "directory_organizations");

    delete(&fixture, KEYS, keys, key.id).await;
    maintain(&fixture).await;

    assert_eq!((rows(keys, key.id).await, rows(keys, child.id).await), (0, 1));
    assert_eq!(fixture.get(&key, KEYS).await.0, 401);
    assert_eq!(fixture.get(&child, KEYS).await.0, 401);

    delete(&fixture, KEYS, keys, child.id).await;
    delete(&fixture, ORGANIZATIONS, organizations, office).await;
    maintain(&fixture).await;

    assert_eq!(rows(keys, child.id).await, 0);
    assert_eq!(
        rows(organizations, office).await,
        0,
        "no tombstone of a key refers to it"
    );
}
