//! New keys of credentials, and files that move from one store to another.

use actix_web::http::Method;
use backoffice_core::Call;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, id_of};
use serde_json::json;
use uuid::Uuid;

use super::{DOCS, assert_sealed, bytes_of, put, with_docs};
use crate::s3_server::S3Server;
use crate::{LIBRARY, NOTE, PARTITIONS, Upload, fixture_with, uploaded};

#[actix_web::test]
async fn att_33_credentials_are_sealed_again_after_a_rotation_and_the_old_key_can_go() {
    let (_server, fixture, _) = with_docs().await;
    let file = uploaded(&fixture, DOCS, NOTE).await;
    let old = r#"{ kid = "test", secret = "vaultvaultvaultvaultvaultvaultvaultvault" }"#;
    let next = r#"{ kid = "next", secret = "nextnextnextnextnextnextnextnextnextnext" }"#;
    assert!(CONFIG.contains(old));
    let with_keys = |keys: &str| {
        let accounts = CONFIG.replace(old, keys);
        format!("{accounts}{NO_LIMITS}[attachments]\n{}", S3Server::section())
    };
    let rotated = fixture
        .app
        .second_node_with(&with_keys(&format!("{next}, {old}")))
        .await;
    let removed = fixture.app.second_node_with(&with_keys(next)).await;
    let path = format!("/attachments/file/{file}");
    let status = async |node: &backoffice_test_support::TestApp| {
        node.request(Method::GET, &path)
            .bearer(&fixture.a.token)
            .send()
            .await
            .status
    };
    assert_eq!((status(&fixture.app).await, status(&rotated).await), (200, 200));
    assert_eq!(status(&removed).await, 500, "the old key is still needed");
    let states = backoffice_core::vault::states(&Call::internal(rotated.runtime()))
        .await
        .expect("read");
    assert_eq!((states[0].values, states[0].older, states[0].unreadable), (1, 1, 0));

    rotated.advance(time::Duration::minutes(11));
    let call = Call::internal(rotated.runtime());
    backoffice_core::jobs::enqueue_due(&call).await.expect("enqueued");
    rotated.advance(time::Duration::minutes(11));
    let call = Call::internal(rotated.runtime());
    backoffice_core::jobs::enqueue_due(&call).await.expect("enqueued");
    rotated.run_jobs().await;

    let states = backoffice_core::vault::states(&Call::internal(removed.runtime()))
        .await
        .expect("read");
    assert_eq!((states[0].values, states[0].older, states[0].unreadable), (1, 0, 0));
    assert_eq!((status(&rotated).await, status(&removed).await), (200, 200));
    assert_sealed(&fixture).await;
}

#[actix_web::test]
async fn the_list_of_a_record_names_files_in_buckets_like_others() {
    let (_server, fixture, _) = with_docs().await;
    uploaded(&fixture, DOCS, NOTE).await;
    let (status, list) = fixture.app.get(&fixture.a.token, &crate::of_record()).await;
    assert_eq!(
        (status, &list["items"][0]["partitionCode"]),
        (200, &json!("docs")),
        "{list}"
    );
}

#[actix_web::test]
async fn att_34_files_move_to_the_present_store_once_and_can_be_read_all_the_time() {
    let server = S3Server::start().await;
    let fixture = fixture_with(S3Server::section()).await;
    let (_, created) = fixture
        .app
        .post(
            &fixture.a.token,
            PARTITIONS,
            json!({"code": "docs", "title": "Documents"}),
        )
        .await;
    let id = id_of(&created["item"]);
    let mut files = Vec::new();
    for number in 0..100 {
        let bytes = format!("bytes of file {number}");
        let file = Upload {
            bytes: bytes.as_bytes(),
            ..NOTE
        };
        files.push((uploaded(&fixture, DOCS, file).await, bytes.clone()));
    }
    let edited = files[0].0;
    let patch = fixture
        .app
        .request(Method::PATCH, &format!("{LIBRARY}/{edited}"))
        .bearer(&fixture.a.token);
    let patched = patch.json(&json!({"tags": ["moved"]})).send().await;
    let change = json!({"id": id, "storageDriver": "s3", "configJson": server.config()});
    assert_eq!(put(&fixture, &fixture.a.token, change).await.0, 200);
    let folder = fixture.app.data_dir().join("attachments/docs");

    // The first attempt ends in the middle: a file of the old store is not readable.
    let call = Call::internal(fixture.app.runtime());
    backoffice_attachments::enqueue_move(&call, Some(fixture.a.id), "DOCS")
        .await
        .expect("enqueued");
    let broken = files[50].0;
    let place = path_of(&folder, broken);
    let aside = place.with_extension("aside");
    std::fs::rename(&place, &aside).expect("renamed");
    fixture.app.run_jobs().await;
    std::fs::rename(&aside, &place).expect("renamed");
    assert_eq!((server.keys().len(), crate::files_below(&folder)), (99, 1));
    // What a crash leaves: an announced copy that no file refers to.
    let stale = format!(
        "insert into attachments_staged (tenant_id, id, store_tenant_id, store_id, storage_key, expires_at, created_at, updated_at)
        select a.tenant_id, gen_random_uuid(), p.tenant_id, p.store_id, a.storage_key, '2026-11-20T10:00:00Z', '2026-11-20T08:00:00Z', '2026-11-20T08:00:00Z'
        from attachments_attachments a join attachments_partitions p on p.id = a.partition_id where a.id = '{broken}'"
    );
    fixture.app.sql(&stale).await;
    for (file, bytes) in &files {
        assert_eq!(bytes_of(&fixture, *file).await, (200, bytes.clone().into_bytes()));
    }

    fixture.app.advance(time::Duration::hours(1));
    fixture.app.run_jobs().await;

    assert_eq!((server.keys().len(), crate::files_below(&folder)), (100, 0));
    assert_eq!(fixture.app.rows("select id from attachments_staged").await.len(), 0);
    for (file, bytes) in &files {
        assert_eq!(bytes_of(&fixture, *file).await, (200, bytes.clone().into_bytes()));
    }
    let found = backoffice_attachments::check::check(&call, false)
        .await
        .expect("checked");
    assert!(found.is_sound(), "{found:?}");

    // An earlier change can still be undone, and the file stays where it is.
    let (status, body) = fixture.app.undo(&fixture.a.token, &patched).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(bytes_of(&fixture, edited).await.0, 200);

    // And back: the folder is the old one, the objects are copied again.
    assert_eq!(
        put(&fixture, &fixture.a.token, json!({"id": id, "storageDriver": "local"}))
            .await
            .0,
        200
    );
    backoffice_attachments::enqueue_move(&call, Some(fixture.a.id), "docs")
        .await
        .expect("enqueued");
    fixture.app.run_jobs().await;
    assert_eq!((server.keys().len(), crate::files_below(&folder)), (0, 100));
    assert!(
        backoffice_attachments::enqueue_move(&call, Some(fixture.b.id), "docs")
            .await
            .is_err()
    );
}

#[actix_web::test]
async fn a_move_takes_the_other_files_along_and_ends_dead_when_objects_are_missing() {
    let server = S3Server::start().await;
    let fixture = fixture_with(S3Server::section()).await;
    let body = json!({"code": "docs", "title": "Documents"});
    let (_, created) = fixture.app.post(&fixture.a.token, PARTITIONS, body).await;
    let mut files = Vec::new();
    for _ in 0..13 {
        files.push(uploaded(&fixture, DOCS, NOTE).await);
    }
    files.sort();
    let folder = fixture.app.data_dir().join("attachments/docs");
    let (last, missing) = files.split_last().expect("files");
    for file in missing {
        std::fs::remove_file(path_of(&folder, *file)).expect("removed");
    }
    let change = json!({"id": id_of(&created["item"]), "storageDriver": "s3", "configJson": server.config()});
    assert_eq!(put(&fixture, &fixture.a.token, change).await.0, 200);
    let call = Call::internal(fixture.app.runtime());
    backoffice_attachments::enqueue_move(&call, Some(fixture.a.id), "docs")
        .await
        .expect("enqueued");
    let job = async || {
        let job = "select state, attempt, cursor, last_error from core_jobs where kind = 'attachments.partition.move'";
        fixture.app.rows(job).await.remove(0)
    };

    fixture.app.run_jobs().await;
    let (first, moved) = (job().await, bytes_of(&fixture, *last).await);
    for _ in 1..8 {
        fixture.app.advance(time::Duration::minutes(13));
        fixture.app.run_jobs().await;
    }

    assert_eq!(
        (&first["state"], &first["attempt"], &first["cursor"]),
        (&json!("queued"), &json!(1), &json!(1))
    );
    assert_eq!((server.keys().len(), crate::files_below(&folder)), (1, 0));
    assert_eq!(moved, (200, NOTE.bytes.to_vec()));
    let ended = job().await;
    assert_eq!(
        (&ended["state"], &ended["attempt"], &ended["cursor"]),
        (&json!("dead"), &json!(8), &json!(1))
    );
    let error = ended["last_error"].as_str().expect("an error");
    let expected = format!("could not be moved: 12; the first one is {}: ", missing[0]);
    assert!(error.contains(&expected), "{error}");
}

#[actix_web::test]
async fn a_move_between_stores_at_the_same_place_keeps_the_objects() {
    let fixture = fixture_with(S3Server::section()).await;
    let server = S3Server::start().await;
    let (_, created) = fixture
        .app
        .post(
            &fixture.a.token,
            PARTITIONS,
            json!({"code": "docs", "title": "Documents"}),
        )
        .await;
    let id = id_of(&created["item"]);
    let file = uploaded(&fixture, DOCS, NOTE).await;
    for change in [
        json!({"id": id, "storageDriver": "s3", "configJson": server.config()}),
        json!({"id": id, "storageDriver": "local"}),
    ] {
        assert_eq!(put(&fixture, &fixture.a.token, change).await.0, 200);
    }
    let call = Call::internal(fixture.app.runtime());
    backoffice_attachments::enqueue_move(&call, Some(fixture.a.id), "docs")
        .await
        .expect("enqueued");
    fixture.app.run_jobs().await;

    let older = "select 1 as one from attachments_attachments a join attachments_partitions p on p.id = a.partition_id and p.store_id <> a.store_id";
    assert_eq!(fixture.app.rows(older).await.len(), 0);
    assert_eq!(bytes_of(&fixture, file).await.0, 200);
    assert_eq!(crate::files_below(&fixture.app.data_dir().join("attachments/docs")), 1);
}

/// Returns the path of the object of a file below a folder.
fn path_of(folder: &std::path::Path, id: Uuid) -> std::path::PathBuf {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("read").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with(id.to_string()) {
                return path;
            }
        }
    }
    panic!("no object of {id}");
}
