//! Stores that are the same place, and stores that only look so.

use actix_web::http::Method;
use backoffice_core::Call;
use backoffice_test_accounts::id_of;
use backoffice_test_support::Duration;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{DOCS, bytes_of, put, with_docs};
use crate::s3_server::S3Server;
use crate::{LIBRARY, NOTE, PARTITIONS, TwoTenants, fixture_with, uploaded};

/// Moves the files of the partition `docs`.
async fn move_docs(fixture: &TwoTenants) {
    let call = Call::internal(fixture.app.runtime());
    let enqueued = backoffice_attachments::enqueue_move(&call, Some(fixture.a.id), "docs").await;
    enqueued.expect("enqueued");
    fixture.app.run_jobs().await;
}

/// Lets the partition have its new files in a bucket.
async fn set_place(fixture: &TwoTenants, id: Uuid, config: Value) {
    let change = json!({"id": id, "storageDriver": "s3", "configJson": config});
    let (status, changed) = put(fixture, &fixture.a.token, change).await;
    assert_eq!(status, 200, "{changed}");
}

/// Returns the settings of the server's bucket with another region, which the server does not look at.
fn in_another_region(server: &S3Server) -> Value {
    let mut config = server.config();
    config["region"] = json!("eu-west-1");
    config
}

/// Returns the id of the present store of the partition `docs`.
async fn present_store(fixture: &TwoTenants) -> Uuid {
    let rows = fixture
        .app
        .rows("select store_id as id from attachments_partitions where code = 'docs'")
        .await;
    id_of(&rows[0])
}

/// Announces the object of a file in a store, as an interrupted move leaves it.
async fn announce(fixture: &TwoTenants, file: Uuid, store: Uuid) {
    let insert = format!(
        "insert into attachments_staged (tenant_id, id, store_tenant_id, store_id, storage_key, expires_at, created_at, updated_at)
         select tenant_id, gen_random_uuid(), partition_tenant_id, '{store}', storage_key, created_at + interval '2 hours', created_at, created_at
         from attachments_attachments where id = '{file}'"
    );
    assert_eq!(fixture.app.sql(&insert).await, 1);
}

async fn announced(fixture: &TwoTenants) -> usize {
    fixture.app.rows("select id from attachments_staged").await.len()
}

/// Runs the clean-up three hours later, until nothing is announced.
async fn sweep(fixture: &TwoTenants) {
    fixture.app.advance(Duration::hours(3));
    fixture.app.start_background();
    for _ in 0..200 {
        if announced(fixture).await == 0 {
            return;
        }
        actix_web::rt::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("objects are still announced");
}

#[actix_web::test]
async fn files_move_between_servers_whose_buckets_have_the_same_name() {
    let (old, fixture, id) = with_docs().await;
    let file = uploaded(&fixture, DOCS, NOTE).await;
    let new = S3Server::start().await;

    set_place(&fixture, id, new.config()).await;
    move_docs(&fixture).await;

    assert_eq!((old.keys().len(), new.keys().len()), (0, 1));
    assert_eq!(bytes_of(&fixture, file).await, (200, NOTE.bytes.to_vec()));
    assert_eq!(announced(&fixture).await, 0);
}

#[actix_web::test]
async fn a_bucket_with_other_settings_is_the_same_place_if_it_has_the_same_objects() {
    let (server, fixture, id) = with_docs().await;
    let file = uploaded(&fixture, DOCS, NOTE).await;
    let (keys, first) = (server.keys(), present_store(&fixture).await);

    set_place(&fixture, id, in_another_region(&server)).await;
    move_docs(&fixture).await;

    let second = present_store(&fixture).await;
    let rows = fixture
        .app
        .rows("select store_id as id from attachments_attachments")
        .await;
    assert_eq!((id_of(&rows[0]), first == second), (second, false));
    assert_eq!((server.keys(), announced(&fixture).await), (keys.clone(), 0));

    // An announcement of the object in the older store does not remove the object of the file.
    announce(&fixture, file, first).await;
    sweep(&fixture).await;

    assert_eq!(server.keys(), keys);
    assert_eq!(bytes_of(&fixture, file).await, (200, NOTE.bytes.to_vec()));
}

#[actix_web::test]
async fn a_file_returns_to_a_bucket_only_when_its_earlier_object_is_removed() {
    let (first, fixture, id) = with_docs().await;
    let file = uploaded(&fixture, DOCS, NOTE).await;
    let second = S3Server::start().await;
    first.accept_deletions(false);
    set_place(&fixture, id, second.config()).await;
    move_docs(&fixture).await;
    assert_eq!((first.keys().len(), second.keys().len()), (1, 1));
    assert_eq!(announced(&fixture).await, 1, "the sweep tries the deletion again");

    set_place(&fixture, id, first.config()).await;
    move_docs(&fixture).await;
    let waits = "select 1 as one from attachments_attachments a join attachments_partitions p on p.id = a.partition_id and p.store_id <> a.store_id";
    assert_eq!(fixture.app.rows(waits).await.len(), 1);
    assert_eq!(bytes_of(&fixture, file).await, (200, NOTE.bytes.to_vec()));

    first.accept_deletions(true);
    fixture.app.advance(Duration::hours(1));
    fixture.app.run_jobs().await;
    assert_eq!(fixture.app.rows(waits).await.len(), 0);
    sweep(&fixture).await;

    assert_eq!((first.keys().len(), second.keys().len()), (1, 0));
    assert_eq!(bytes_of(&fixture, file).await, (200, NOTE.bytes.to_vec()));
}

#[actix_web::test]
async fn what_an_interrupted_move_announced_is_not_removed_after_a_move_to_the_same_place() {
    let server = S3Server::start().await;
    let fixture = fixture_with(S3Server::section()).await;
    let body = json!({"code": "docs", "title": "Documents"});
    let (_, created) = fixture.app.post(&fixture.a.token, PARTITIONS, body).await;
    let id = id_of(&created["item"]);
    let file = uploaded(&fixture, DOCS, NOTE).await;
    set_place(&fixture, id, server.config()).await;
    announce(&fixture, file, present_store(&fixture).await).await;

    set_place(&fixture, id, in_another_region(&server)).await;
    move_docs(&fixture).await;
    assert_eq!(server.keys().len(), 1);
    sweep(&fixture).await;

    assert_eq!(server.keys().len(), 1);
    assert_eq!(bytes_of(&fixture, file).await, (200, NOTE.bytes.to_vec()));
}

#[actix_web::test]
async fn the_check_reports_an_object_once_for_all_stores_in_its_bucket() {
    let (server, fixture, id) = with_docs().await;
    set_place(&fixture, id, in_another_region(&server)).await;
    let folder = format!("office/{}/docs/2026/11", fixture.a.id);
    let folder = server.folder().join(folder);
    std::fs::create_dir_all(&folder).expect("created");
    std::fs::write(folder.join(Uuid::from_u128(9).to_string()), "bytes").expect("written");
    // The check looks at the tenants that have files.
    uploaded(&fixture, DOCS, NOTE).await;
    let call = Call::internal(fixture.app.runtime());

    let found = backoffice_attachments::check::check(&call, false)
        .await
        .expect("checked");

    assert_eq!((found.files, found.unknown_objects.number), (1, 1), "{found:?}");
}

#[actix_web::test]
async fn the_object_of_a_test_is_removed_as_soon_as_the_bucket_accepts_it() {
    let (server, fixture, id) = with_docs().await;
    server.accept_deletions(false);
    let path = format!("{PARTITIONS}/{id}/test");

    let (status, tested) = fixture.app.post(&fixture.a.token, &path, Value::Null).await;

    assert_eq!((status, &tested["ok"]), (200, &json!(false)), "{tested}");
    assert_eq!((server.keys().len(), announced(&fixture).await), (1, 1));
    server.accept_deletions(true);
    sweep(&fixture).await;
    assert_eq!(server.keys(), Vec::<String>::new());
}

#[actix_web::test]
async fn a_download_that_fails_is_not_counted_and_head_reports_a_missing_object() {
    let (server, fixture, _) = with_docs().await;
    let file = uploaded(&fixture, DOCS, NOTE).await;
    let links = format!("{LIBRARY}/{file}/links");
    let body = json!({"maxDownloads": 1});
    let (status, created) = fixture.app.post(&fixture.a.token, &links, body).await;
    assert_eq!(status, 201, "{created}");
    let url = created["url"].as_str().expect("an address");
    let shared = url.strip_prefix("/api").expect("an address of the API");
    let own = format!("/attachments/file/{file}");
    let requested = async |method: Method, path: &str| {
        let request = fixture.app.request(method, path).bearer(&fixture.a.token);
        request.send().await.status
    };
    assert_eq!(requested(Method::HEAD, &own).await, 200);
    let object = server.folder().join(&server.keys()[0]);
    let aside = object.with_extension("aside");
    std::fs::rename(&object, &aside).expect("renamed");

    for path in [&own[..], shared] {
        assert_eq!(requested(Method::HEAD, path).await, 404);
        assert_eq!(requested(Method::GET, path).await, 404);
    }
    let (_, list) = fixture.app.get(&fixture.a.token, &links).await;
    assert_eq!(list["items"][0]["downloads"], 0);

    std::fs::rename(&aside, &object).expect("renamed");
    assert_eq!(requested(Method::GET, shared).await, 200);
    assert_eq!(requested(Method::GET, shared).await, 404);
}
