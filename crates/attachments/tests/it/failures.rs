//! Faults in the middle, and the clean-up after them.

use std::os::unix::fs::PermissionsExt;

use actix_web::http::Method;
use backoffice_test_support::{Duration, FaultMode};
use serde_json::{Value, json};

use crate::{LIBRARY, NOTE, TwoTenants, Upload, builder, fixture, rejected, rejection, stored, upload, uploaded};

/// Runs the clean-up until nothing is left of failed uploads.
async fn swept(fixture: &TwoTenants) -> (usize, usize, usize, i64) {
    fixture.app.advance(Duration::hours(3));
    fixture.app.start_background();
    for _ in 0..200 {
        let staged = fixture.app.rows("select 1 as one from attachments_staged").await;
        if staged.is_empty() {
            break;
        }
        actix_web::rt::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    stored(&fixture.app).await
}

#[actix_web::test]
async fn att_11_a_fault_leaves_no_row_and_after_the_clean_up_no_object() {
    for mode in [FaultMode::Before, FaultMode::After] {
        for statement in 1..40 {
            let fixture = TwoTenants::inside(builder().through_proxy().build().await).await;
            fixture.app.proxy().fail_at(statement, mode);
            let response = upload(&fixture.app, &fixture.a.token, &[], NOTE).await;
            let was_hit = !fixture.app.proxy().heal();

            let (_, spool, rows, used) = stored(&fixture.app).await;
            // A commit whose result is lost is reported as a failure, and holds.
            let bytes = if rows == 1 { 12 } else { 0 };
            assert!(response.status != 200 || rows == 1, "statement {statement}");
            assert_eq!((spool, used), (0, bytes), "statement {statement}, {}", response.text());
            assert_eq!(swept(&fixture).await, (rows, 0, rows, bytes), "statement {statement}");
            if !was_hit {
                assert_eq!(response.status, 200);
                break;
            }
        }
    }
}

#[actix_web::test]
async fn a_fault_after_a_deletion_leaves_the_object_to_the_clean_up() {
    for statement in 1..40 {
        let fixture = TwoTenants::inside(builder().through_proxy().build().await).await;
        let id = uploaded(&fixture, &[], NOTE).await;
        fixture.app.proxy().fail_at(statement, FaultMode::After);
        let path = format!("{LIBRARY}/{id}");
        let (status, _) = fixture.app.delete(&fixture.a.token, &path, Value::Null).await;
        let was_hit = !fixture.app.proxy().heal();

        let (_, _, rows, used) = stored(&fixture.app).await;
        let kept = usize::from(rows == 1);
        let bytes = if rows == 1 { 12 } else { 0 };
        assert_eq!(used, bytes);
        assert!(status != 200 || kept == 0, "an acknowledged deletion holds");
        assert_eq!(swept(&fixture).await, (kept, 0, kept, bytes), "statement {statement}");
        if !was_hit {
            assert_eq!((status, kept), (200, 0));
            break;
        }
    }
}

#[actix_web::test]
async fn an_object_without_a_file_is_removed_when_its_time_is_over() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;
    // As a process leaves it that ends between storing the object and saving the row.
    let stage = format!(
        "insert into attachments_staged (tenant_id, id, store_tenant_id, store_id, storage_key, expires_at, created_at, updated_at)
         select tenant_id, id, partition_tenant_id, store_id, storage_key, created_at + interval '2 hours', created_at, created_at
         from attachments_attachments where id = '{id}'"
    );
    assert_eq!(fixture.app.sql(&stage).await, 1);
    assert_eq!(
        fixture
            .app
            .sql(&format!("delete from attachments_attachments where id = '{id}'"))
            .await,
        1
    );
    assert_eq!(stored(&fixture.app).await, (1, 0, 0, 0));

    assert_eq!(swept(&fixture).await, (0, 0, 0, 0));
}

#[actix_web::test]
async fn att_35_a_folder_that_can_not_be_written_rejects_uploads() {
    let fixture = fixture().await;
    let spool = fixture.app.data_dir().join("spool");
    let own = std::fs::read_dir(&spool)
        .expect("there")
        .next()
        .expect("a folder")
        .expect("read")
        .path();
    std::fs::remove_dir_all(&own).expect("removed");

    let response = upload(&fixture.app, &fixture.a.token, &[], NOTE).await;

    assert_eq!(rejection(&response), rejected(503, "storage_unavailable"));
    assert_eq!(stored(&fixture.app).await, (0, 0, 0, 0));
}

#[actix_web::test]
async fn a_store_that_can_not_be_written_fails_the_upload_and_leaves_nothing() {
    let fixture = fixture().await;
    let root = fixture.app.data_dir().join("attachments/privateAttachments");
    std::fs::write(&root, "a file where the folder should be").expect("written");

    let response = upload(&fixture.app, &fixture.a.token, &[], NOTE).await;

    assert_eq!(rejection(&response), rejected(500, "storage_failed"));
    std::fs::remove_file(root).expect("removed");
    assert_eq!(stored(&fixture.app).await.2, 0);
    assert_eq!(swept(&fixture).await, (0, 0, 0, 0));
}

#[actix_web::test]
async fn files_and_folders_are_only_for_the_process() {
    let fixture = fixture().await;
    uploaded(&fixture, &[], NOTE).await;

    let mut folder = fixture.app.data_dir().join("attachments");
    loop {
        let mode = std::fs::metadata(&folder).expect("there").permissions().mode() & 0o777;
        let expected = if folder.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, expected, "{}", folder.display());
        if folder.is_file() {
            break;
        }
        folder = std::fs::read_dir(&folder)
            .expect("read")
            .next()
            .expect("an entry")
            .expect("read")
            .path();
    }
}

#[actix_web::test]
async fn a_change_that_can_not_be_saved_is_reported_like_an_upload() {
    let fixture = fixture().await;
    let id = uploaded(&fixture, &[], NOTE).await;
    let path = format!("{LIBRARY}/{id}");
    let reject = "alter table attachments_attachments add constraint rejected check (file_name <> 'rejected.txt')";
    fixture.app.sql(reject).await;
    let before = fixture
        .app
        .rows("select to_jsonb(a) as row from attachments_attachments a")
        .await;

    let request = fixture.app.request(Method::PATCH, &path).bearer(&fixture.a.token);
    let changed = request.json(&json!({"fileName": "rejected.txt"})).send().await;
    let name = Upload {
        name: "rejected.txt",
        ..NOTE
    };
    let created = upload(&fixture.app, &fixture.a.token, &[], name).await;

    for response in [changed, created] {
        assert_eq!(
            (response.status, &response.json()["error"]),
            (500, &json!("Failed to save attachment attributes."))
        );
    }
    let after = fixture
        .app
        .rows("select to_jsonb(a) as row from attachments_attachments a")
        .await;
    assert_eq!(after, before);
}
