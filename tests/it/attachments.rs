//! The files of a tenant. Each has the id of its organization, and so has the link to it; the partition and the field have the id of the tenant's role, because all three
//! belong to the whole tenant.

use actix_web::http::Method;
use backoffice_test_support::UNDO;
use serde_json::{Value, json};

use crate::fixture::{Fixture, TenantFixture};

/// Time of the rows.
const AT: &str = "2026-11-20T07:00:00Z";
/// The partition and the store of private files.
const PRIVATE: &str = "019aae00-0000-7000-8000-000000000002";
const PLATFORM: &str = "00000000-0000-0000-0000-000000000000";

/// Inserts the files, with their bytes.
pub(crate) async fn seed(fixture: &Fixture, tenant_fixture: &TenantFixture) {
    let (tenant, partition) = (tenant_fixture.tenant, tenant_fixture.role);
    let image = image();
    for id in [tenant_fixture.child, tenant_fixture.other, tenant_fixture.parent] {
        let key = format!("{tenant}/privateAttachments/2026/11/{id}");
        let path = fixture.app.data_dir().join("attachments/privateAttachments").join(&key);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        std::fs::write(path, &image).expect("written");
        let sql = format!(
            "insert into attachments_attachments (tenant_id, id, organization_id, entity_id, record_id, partition_tenant_id, partition_id,
                store_id, storage_key, file_name, mime_type, file_size, sha256, is_utf8, image_format, image_width, image_height,
                content_state, tags, assignments, custom_fields, created_at, updated_at)
             values ('{tenant}', '{id}', '{id}', 'x.y', 'r1', '{PLATFORM}', '{PRIVATE}', '{PRIVATE}', '{key}', 'a.bmp', 'image/bmp', {},
                sha256('x'), false, 'bmp', 2, 1, 'none', '{{b,a}}', '[{{\"type\": \"x.y\", \"id\": \"r1\"}}]', '{{}}', '{AT}', '{AT}')",
            image.len()
        );
        assert_eq!(fixture.app.sql(&sql).await, 1);
        let link = format!(
            "insert into attachments_links (tenant_id, id, attachment_id, token_hash, expires_at, downloads, creator_kind,
                creator_tenant_id, created_by, created_at, updated_at)
             values ('{tenant}', '{id}', '{id}', sha256('{id}'), '2026-12-20T07:00:00Z', 0, 'user', '{tenant}', '{}', '{AT}', '{AT}')",
            tenant_fixture.tenant_admin.id
        );
        assert_eq!(fixture.app.sql(&link).await, 1);
    }
    let store = format!(
        "insert into attachments_stores (tenant_id, id, driver, config, created_at, updated_at)
         values ('{tenant}', '{partition}', 'local', '{{\"code\": \"docs\"}}', '{AT}', '{AT}')"
    );
    assert_eq!(fixture.app.sql(&store).await, 1);
    let sql = format!(
        "insert into attachments_partitions (tenant_id, id, code, title, is_public, requires_ocr, storage_driver, store_id, created_at,
            updated_at)
         values ('{tenant}', '{partition}', 'docs', 'Documents', false, false, 'local', '{partition}', '{AT}', '{AT}')"
    );
    assert_eq!(fixture.app.sql(&sql).await, 1);
    let field = format!(
        "insert into attachments_fields (tenant_id, id, entity_id, field_key, max_count, created_at, updated_at)
         values ('{tenant}', '{partition}', 'a.b', 'photo', 3, '{AT}', '{AT}')"
    );
    assert_eq!(fixture.app.sql(&field).await, 1);
}

/// Returns an image of two red pixels in a row.
pub(crate) fn image() -> Vec<u8> {
    let mut image = b"BM".to_vec();
    for field in [62_u32, 0, 54, 40, 2, 1] {
        image.extend(field.to_le_bytes());
    }
    image.extend([1, 0, 24, 0]);
    image.extend([0; 24]);
    image.extend([0, 0, 255, 0, 0, 255, 0, 0]);
    image
}

#[actix_web::test]
async fn rules_validate_every_file_of_a_transfer_and_its_undo() {
    let fixture = Fixture::new().await;
    seed(&fixture, &fixture.a).await;
    let token = &fixture.a.tenant_admin.token;
    let [first, second] = [fixture.a.child, fixture.a.other];
    for (id, name) in [(first, "free.bmp"), (second, "kept.bmp")] {
        let sql = format!("update attachments_attachments set file_name = '{name}' where id = '{id}'");
        assert_eq!(fixture.app.sql(&sql).await, 1);
    }
    let guard = |event_type: &str| {
        json!({"ruleId": event_type, "ruleName": event_type, "ruleType": "GUARD", "entityType": "attachments.attachment",
            "organizationId": null, "eventType": event_type,
            "conditionExpression": {"field": "fileName", "operator": "!=", "value": "kept.bmp"}})
    };
    let create = async |event_type: &str| {
        let (status, body) = fixture
            .app
            .post(token, "/business_rules/rules", guard(event_type))
            .await;
        assert_eq!(status, 201, "{body}");
        body["id"].clone()
    };
    let transfer = async || {
        let body = json!({"entityId": "x.y", "attachmentIds": [first, second], "toRecordId": "r2"});
        let request = fixture.app.request(Method::POST, "/attachments/transfer").bearer(token);
        request.json(&body).responded_by_interceptor().send().await
    };
    let moved = async || {
        let from = "attachments_attachments where record_id = 'r2'";
        fixture.app.count(from).await
    };
    let transferred = create("transferred").await;

    let blocked = transfer().await;

    assert_eq!(
        (blocked.status, &blocked.json()["code"]),
        (422, &json!("business_rule_blocked"))
    );
    assert_eq!(moved().await, 0);
    let path = format!("/business_rules/rules?id={}", transferred.as_str().expect("an id"));
    assert_eq!(fixture.app.delete(token, &path, Value::Null).await.0, 200);
    let done = transfer().await;
    assert_eq!((done.status, moved().await), (200, 2), "{}", done.text());
    create("undone").await;

    let undo = fixture.app.request(Method::POST, UNDO).bearer(token);
    let undo = undo.json(&json!({"undoToken": done.undoable_write().token}));
    let undone = undo.responded_by_interceptor().send().await;

    assert_eq!(
        (undone.status, &undone.json()["code"]),
        (422, &json!("business_rule_blocked"))
    );
    assert_eq!(moved().await, 2);
}
