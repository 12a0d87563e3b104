//! Invalid partitions: every violated rule is reported, before the partition is looked up.

use backoffice_test_accounts::id_of;
use backoffice_test_support::details;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{PARTITIONS, TwoTenants, fixture};

/// The partition for files that everybody may read.
const PUBLIC: &str = "019aae00-0000-7000-8000-000000000001";

async fn post(fixture: &TwoTenants, fields: Value) -> (u16, Value) {
    let mut body = json!({"code": "docs", "title": "Documents"});
    let fields = fields.as_object().expect("an object").clone();
    body.as_object_mut().expect("an object").extend(fields);
    fixture.app.post(&fixture.a.token, PARTITIONS, body).await
}

async fn put(fixture: &TwoTenants, token: &str, id: Uuid, fields: Value) -> (u16, Value) {
    let mut body = json!({"id": id});
    let fields = fields.as_object().expect("an object").clone();
    body.as_object_mut().expect("an object").extend(fields);
    fixture.app.put(token, PARTITIONS, body).await
}

/// Asserts that a response reports these violated rules, and nothing else.
fn assert_violated(response: &(u16, Value), expected: &[(&str, &str)]) {
    let (status, body) = response;
    assert_eq!((*status, details(body)), (400, expected.to_vec()), "{body}");
    assert_eq!((&body["error"], body.get("code")), (&json!("Invalid input"), None));
}

#[actix_web::test]
async fn a_change_is_validated_before_its_partition_is_looked_up() {
    let fixture = fixture().await;
    let (_, created) = post(&fixture, json!({})).await;
    let own = id_of(&created["item"]);
    let invalid = json!({"title": " ", "storageDriver": "ftp", "configJson": {"region": 7}});
    let violated = [
        ("title", "required"),
        ("storageDriver", "invalid_value"),
        ("configJson.bucket", "required"),
        ("configJson.region", "invalid_type"),
    ];

    let token = &fixture.b.token;
    for id in [own, Uuid::from_u128(7), PUBLIC.parse().expect("an id")] {
        assert_violated(&put(&fixture, token, id, invalid.clone()).await, &violated);
    }

    let foreign = put(&fixture, token, own, json!({"title": "Mine"})).await;
    let unknown = put(&fixture, token, Uuid::from_u128(7), json!({"title": "Mine"})).await;
    assert_eq!((foreign.0, foreign.clone()), (404, unknown));
    let private = json!({"storageDriver": "s3", "configJson": {"bucket": "files", "endpoint": "http://10.0.0.1"}});
    assert_eq!(put(&fixture, token, own, private).await, foreign);
}

#[actix_web::test]
async fn settings_of_a_new_partition_are_reported_with_all_other_violations() {
    let fixture = fixture().await;
    let long = "x".repeat(501);

    for (fields, violated) in [
        (
            json!({"title": long, "storageDriver": "s3"}),
            vec![("title", "too_long"), ("configJson", "required")],
        ),
        (
            json!({"title": long, "storageDriver": "s3", "configJson": null}),
            vec![("title", "too_long"), ("configJson", "required")],
        ),
        (
            json!({"code": 7, "storageDriver": "s3"}),
            vec![("code", "invalid_type"), ("configJson", "required")],
        ),
        (
            json!({"storageDriver": "s3", "configJson": {}}),
            vec![("configJson.bucket", "required")],
        ),
        (
            json!({"description": long, "storageDriver": "s3", "configJson": {"bucket": "Files", "region": 5,
                "authMode": "none", "forcePathStyle": "yes", "accessKeyId": "a b", "more": 1}}),
            vec![
                ("description", "too_long"),
                ("configJson.more", "invalid_value"),
                ("configJson.bucket", "invalid_value"),
                ("configJson.region", "invalid_type"),
                ("configJson.forcePathStyle", "invalid_type"),
                ("configJson.authMode", "invalid_value"),
                ("configJson.accessKeyId", "invalid_value"),
            ],
        ),
        (
            json!({"title": " ", "configJson": {"bucket": "files"}}),
            vec![("title", "required"), ("configJson", "invalid_value")],
        ),
        (
            json!({"storageDriver": "ftp", "configJson": {"bucket": "files"}}),
            vec![("storageDriver", "invalid_value")],
        ),
    ] {
        assert_violated(&post(&fixture, fields).await, &violated);
    }
    assert_eq!(fixture.app.rows("select id from attachments_stores").await.len(), 2);
}

#[actix_web::test]
async fn settings_of_a_changed_partition_are_reported_in_the_same_form() {
    let fixture = fixture().await;
    let (_, created) = post(&fixture, json!({})).await;
    let id = id_of(&created["item"]);

    for (fields, violated) in [
        (json!({"storageDriver": "s3"}), vec![("configJson", "required")]),
        (
            json!({"title": "", "storageDriver": "s3", "configJson": null}),
            vec![("title", "required"), ("configJson", "required")],
        ),
        (
            json!({"title": "", "configJson": {"region": "eu west"}}),
            vec![
                ("title", "required"),
                ("configJson.bucket", "required"),
                ("configJson.region", "invalid_value"),
            ],
        ),
        (
            json!({"configJson": {"bucket": "files"}}),
            vec![("configJson", "invalid_value")],
        ),
    ] {
        assert_violated(&put(&fixture, &fixture.a.token, id, fields).await, &violated);
    }
    let (status, same) = put(&fixture, &fixture.a.token, id, json!({"configJson": {}})).await;
    assert_eq!(
        (status, &same["item"]["storageDriver"]),
        (200, &json!("local")),
        "{same}"
    );
}

#[actix_web::test]
async fn a_setting_that_is_not_allowed_is_named() {
    let fixture = fixture().await;
    let keys = json!({"bucket": "files", "accessKeyId": "a", "secretAccessKey": "b"});

    for (name, value) in [("endpoint", "https://169.254.169.254"), ("authMode", "ambient")] {
        let mut config = keys.clone();
        config[name] = json!(value);
        let (status, body) = post(&fixture, json!({"storageDriver": "s3", "configJson": config})).await;
        assert_eq!((status, &body["code"]), (400, &json!("invalid_store")), "{body}");
        let path = format!("configJson.{name}");
        assert_eq!(details(&body), [(path.as_str(), "invalid_value")]);
    }
}
