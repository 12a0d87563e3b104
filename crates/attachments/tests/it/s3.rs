//! Stores in S3, against a server that checks signatures.

mod moves;
mod places;

use actix_web::http::Method;
use backoffice_core::Call;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, id_of};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::s3_server::{ACCESS_KEY, S3Server, SECRET_KEY};
use crate::{LIBRARY, NOTE, PARTITIONS, TwoTenants, Upload, fixture_with, rejected, rejection, upload, uploaded};

/// Creates a server, two tenants, and a partition `docs` of the first one in the server's bucket.
async fn with_docs() -> (S3Server, TwoTenants, Uuid) {
    let server = S3Server::start().await;
    let fixture = fixture_with(S3Server::section()).await;
    let body = json!({"code": "docs", "title": "Documents", "storageDriver": "s3", "configJson": server.config()});
    let (status, created) = fixture.app.post(&fixture.a.token, PARTITIONS, body).await;
    assert_eq!(status, 201, "{created}");
    let id = id_of(&created["item"]);
    (server, fixture, id)
}

async fn put(fixture: &TwoTenants, token: &str, body: Value) -> (u16, Value) {
    fixture.app.put(token, PARTITIONS, body).await
}

const DOCS: &[(&str, &str)] = &[("partitionCode", "docs")];

async fn bytes_of(fixture: &TwoTenants, id: Uuid) -> (u16, Vec<u8>) {
    let path = format!("/attachments/file/{id}");
    let response = fixture
        .app
        .request(Method::GET, &path)
        .bearer(&fixture.a.token)
        .send()
        .await;
    (response.status, response.body.to_vec())
}

/// Asserts that nothing stored contains the credentials in plain text.
async fn assert_sealed(fixture: &TwoTenants) {
    for table in [
        "attachments_stores",
        "attachments_partitions",
        "audit_action_logs",
        "core_outbox_events",
        "core_idempotency_keys",
        "core_jobs",
    ] {
        for secret in [ACCESS_KEY, SECRET_KEY] {
            let bytes: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
            let found =
                format!("select 1 as found from {table} t where t::text like '%{secret}%' or t::text like '%{bytes}%'");
            assert_eq!(fixture.app.rows(&found).await.len(), 0, "{table}");
        }
    }
}

#[actix_web::test]
async fn att_24_credentials_of_a_store_are_written_and_never_read() {
    let (server, fixture, id) = with_docs().await;
    let shown = json!({"bucket": "files", "region": "us-east-1", "endpoint": server.endpoint(), "pathPrefix": "office/",
        "forcePathStyle": true, "authMode": "access_keys", "accessKeyId": "[redacted]", "secretAccessKey": "[redacted]"});

    let (_, list) = fixture.app.get(&fixture.a.token, PARTITIONS).await;
    assert_eq!(list["items"][2]["configJson"], shown);
    assert!(
        !fixture
            .app
            .get(&fixture.b.token, PARTITIONS)
            .await
            .1
            .to_string()
            .contains("docs")
    );
    assert_sealed(&fixture).await;

    // What was read can be sent back.
    let same = json!({"id": id, "title": "Renamed", "configJson": shown});
    let (status, changed) = put(&fixture, &fixture.a.token, same).await;
    assert_eq!((status, &changed["item"]["configJson"]), (200, &shown), "{changed}");
    assert_eq!(
        fixture
            .app
            .rows("select id from attachments_stores where driver = 's3'")
            .await
            .len(),
        1
    );
    let file = uploaded(&fixture, DOCS, NOTE).await;
    assert_eq!(bytes_of(&fixture, file).await, (200, NOTE.bytes.to_vec()));

    // A wrong secret is stored for the same place, for old files too; the right one repairs it.
    let mut wrong = shown.clone();
    wrong["secretAccessKey"] = json!("another");
    let (status, changed) = put(&fixture, &fixture.a.token, json!({"id": id, "configJson": wrong})).await;
    assert_eq!((status, &changed["item"]["configJson"]), (200, &shown), "{changed}");
    assert_eq!(bytes_of(&fixture, file).await.0, 503);
    let test = format!("{PARTITIONS}/{id}/test");
    let (_, tested) = fixture.app.post(&fixture.a.token, &test, Value::Null).await;
    assert_eq!(tested["error"], "the store rejected the credentials");
    let failed = upload(&fixture.app, &fixture.a.token, DOCS, Upload { name: "b.txt", ..NOTE }).await;
    assert_eq!(rejection(&failed), rejected(500, "storage_failed"));
    assert_eq!(
        fixture.app.rows("select id from attachments_staged").await.len(),
        1,
        "the sweep tries again"
    );
    let mut right = shown.clone();
    right["secretAccessKey"] = json!(SECRET_KEY);
    assert_eq!(
        put(&fixture, &fixture.a.token, json!({"id": id, "configJson": right}))
            .await
            .0,
        200
    );
    assert_eq!(bytes_of(&fixture, file).await.0, 200);
    let (_, tested) = fixture.app.post(&fixture.a.token, &test, Value::Null).await;
    assert_eq!(tested, json!({"ok": true, "error": null, "ms": 0}));
    assert_sealed(&fixture).await;
    assert_eq!(server.keys().len(), 1);
}

#[actix_web::test]
async fn a_change_of_place_is_undone_and_a_change_of_credentials_is_not() {
    let (server, fixture, id) = with_docs().await;
    let change = async |body: Value| {
        let request = fixture.app.request(Method::PUT, PARTITIONS).bearer(&fixture.a.token);
        let response = request.json(&body).send().await;
        assert_eq!(response.status, 200, "{}", response.text());
        response
    };
    let mut elsewhere = server.config();
    elsewhere["pathPrefix"] = json!("elsewhere/");
    let moved = change(json!({"id": id, "configJson": elsewhere})).await;

    assert_eq!(fixture.app.undo(&fixture.a.token, &moved).await.0, 200);
    uploaded(&fixture, DOCS, NOTE).await;
    assert!(server.keys()[0].starts_with("office/"), "{:?}", server.keys());

    let mut wrong = server.config();
    wrong["secretAccessKey"] = json!("another");
    let replaced = change(json!({"id": id, "title": "Other", "configJson": wrong})).await;

    assert_eq!(replaced.operation(), None);
    let log = format!("/audit_logs/audit-logs/actions?resourceId={id}");
    let entries = fixture.app.read(&fixture.a.token, &log).await;
    let entry = &entries["items"][0];
    assert_eq!(
        entry["changes"]["configJson"],
        json!({"from": null, "to": null, "redacted": true})
    );
    assert_eq!(
        (&entry["changes"]["title"]["to"], &entry["undoToken"]),
        (&json!("Other"), &Value::Null)
    );
    let undoable = fixture
        .app
        .read(&fixture.a.token, &format!("{log}&undoableOnly=true"))
        .await;
    assert_eq!(undoable["items"], json!([]), "{undoable}");

    // Credentials that are sent back as they were read are no change.
    let mut kept = server.config();
    for name in ["accessKeyId", "secretAccessKey"] {
        kept[name] = json!("[redacted]");
    }
    let renamed = change(json!({"id": id, "title": "Renamed", "configJson": kept})).await;
    let (status, body) = fixture.app.undo(&fixture.a.token, &renamed).await;
    assert_eq!(status, 200, "{body}");
}

#[actix_web::test]
async fn att_25_endpoints_that_are_not_public_and_incomplete_settings_are_rejected() {
    let server = S3Server::start().await;
    let fixture = fixture_with("").await;
    let keys = |more: Value| {
        let mut config = json!({"bucket": "files", "accessKeyId": "a", "secretAccessKey": "b"});
        config
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        config
    };
    for (config, code) in [
        (keys(json!({"endpoint": "http://169.254.169.254"})), "invalid_store"),
        (keys(json!({"endpoint": "https://169.254.169.254"})), "invalid_store"),
        (keys(json!({"endpoint": "https://[::ffff:10.0.0.1]"})), "invalid_store"),
        (keys(json!({"endpoint": "https://2130706433"})), "invalid_store"),
        (keys(json!({"endpoint": "https://localhost"})), "invalid_store"),
        (keys(json!({"endpoint": "http://example.com"})), "invalid_store"),
        (keys(json!({"endpoint": server.endpoint()})), "invalid_store"),
        (
            keys(json!({"endpoint": "https://name-without-address.invalid"})),
            "invalid_store",
        ),
        (keys(json!({"authMode": "ambient"})), "invalid_store"),
        (keys(json!({"secretAccessKey": null})), "secrets_required"),
        (keys(json!({"secretAccessKey": "[redacted]"})), "secrets_required"),
    ] {
        let body = json!({"code": "docs", "title": "D", "storageDriver": "s3", "configJson": config});
        let (status, response) = fixture.app.post(&fixture.a.token, PARTITIONS, body).await;
        assert_eq!((status, &response["code"]), (400, &json!(code)), "{config}: {response}");
    }
    for config in [
        json!(null),
        json!({}),
        json!({"bucket": "files", "more": 1}),
        json!({"bucket": "Files"}),
    ] {
        let body = json!({"code": "docs", "title": "D", "storageDriver": "s3", "configJson": config});
        let (status, response) = fixture.app.post(&fixture.a.token, PARTITIONS, body).await;
        assert_eq!(status, 400, "{config}: {response}");
    }
    assert_eq!(fixture.app.rows("select id from attachments_stores").await.len(), 2);
    assert_eq!(server.keys(), Vec::<String>::new());
}

#[actix_web::test]
async fn an_administrator_changes_a_partition_with_ambient_credentials_but_not_its_place() {
    let (server, fixture, id) = with_docs().await;
    let mut ambient = server.config();
    ambient["authMode"] = json!("ambient");
    ambient["accessKeyId"] = Value::Null;
    ambient["secretAccessKey"] = Value::Null;
    let by_tenant = async |fields: Value| {
        let mut body = json!({"id": id});
        body.as_object_mut()
            .expect("an object")
            .extend(fields.as_object().expect("an object").clone());
        put(&fixture, &fixture.a.token, body).await
    };
    let rejected = by_tenant(json!({"configJson": ambient})).await;
    assert_eq!((rejected.0, &rejected.1["code"]), (400, &json!("invalid_store")));
    let (status, changed) = put(&fixture, &fixture.root, json!({"id": id, "configJson": ambient})).await;
    assert_eq!(status, 200, "{changed}");
    let shown = &changed["item"]["configJson"];
    assert_eq!(shown["authMode"], "ambient");

    let renamed = by_tenant(json!({"title": "Renamed"})).await;
    let described = by_tenant(json!({"description": "D", "configJson": shown})).await;
    let mut elsewhere = shown.clone();
    elsewhere["pathPrefix"] = json!("elsewhere/");
    let moved = by_tenant(json!({"configJson": elsewhere})).await;

    assert_eq!((renamed.0, &renamed.1["item"]["title"]), (200, &json!("Renamed")));
    assert_eq!((described.0, &described.1["item"]["description"]), (200, &json!("D")));
    assert_eq!(&described.1["item"]["configJson"], shown);
    assert_eq!((moved.0, &moved.1["code"]), (400, &json!("invalid_store")));
}

#[actix_web::test]
async fn att_25_files_stay_where_they_were_stored_when_their_partition_changes() {
    let server = S3Server::start().await;
    let fixture = fixture_with(S3Server::section()).await;
    let body = json!({"code": "docs", "title": "Documents"});
    let (_, created) = fixture.app.post(&fixture.a.token, PARTITIONS, body).await;
    let id = id_of(&created["item"]);
    let old = uploaded(&fixture, DOCS, NOTE).await;

    let change = json!({"id": id, "storageDriver": "s3", "configJson": server.config()});
    let (status, changed) = put(&fixture, &fixture.a.token, change).await;
    assert_eq!(
        (status, &changed["item"]["storageDriver"]),
        (200, &json!("s3")),
        "{changed}"
    );
    let new = uploaded(
        &fixture,
        DOCS,
        Upload {
            name: "new.txt",
            ..NOTE
        },
    )
    .await;

    assert_eq!(bytes_of(&fixture, old).await.0, 200);
    assert_eq!(bytes_of(&fixture, new).await.0, 200);
    let keys = server.keys();
    assert_eq!(keys.len(), 1);
    let start = format!("office/{}/docs/", fixture.a.id);
    assert!(
        keys[0].starts_with(&start) && keys[0].ends_with(&new.to_string()),
        "{keys:?}"
    );
    let folder = fixture.app.data_dir().join("attachments/docs");
    assert_eq!(crate::files_below(&folder), 1);

    // A further place needs its own credentials, and `local` has none.
    let mut moved = server.config();
    moved["pathPrefix"] = json!("other/");
    moved["secretAccessKey"] = json!("[redacted]");
    let (status, body) = put(&fixture, &fixture.a.token, json!({"id": id, "configJson": moved})).await;
    assert_eq!((status, &body["code"]), (400, &json!("secrets_required")), "{body}");
    let (status, back) = put(&fixture, &fixture.a.token, json!({"id": id, "storageDriver": "local"})).await;
    assert_eq!((status, &back["item"]["configJson"]), (200, &Value::Null), "{back}");
    let third = uploaded(
        &fixture,
        DOCS,
        Upload {
            name: "third.txt",
            ..NOTE
        },
    )
    .await;
    for file in [old, new, third] {
        assert_eq!(bytes_of(&fixture, file).await.0, 200);
    }
    assert_eq!(crate::files_below(&folder), 2);
}

#[actix_web::test]
async fn files_in_a_bucket_are_read_in_ranges_rendered_and_deleted() {
    let (server, fixture, _) = with_docs().await;
    // Three parts, the last one short.
    let large: Vec<u8> = (0..20_000_000_u32).map(|at| (at % 251) as u8).collect();
    let file = Upload {
        name: "large.bin",
        bytes: &large,
        kind: "application/octet-stream",
    };
    let id = uploaded(&fixture, DOCS, file).await;
    let path = format!("/attachments/file/{id}");
    let get = |range: &'static str| {
        let request = fixture.app.request(Method::GET, &path).bearer(&fixture.a.token);
        request.header("range", range).send()
    };

    assert!(bytes_of(&fixture, id).await.1 == large);
    let part = get("bytes=8388600-8388700").await;
    assert_eq!((part.status, &part.body[..]), (206, &large[8_388_600..=8_388_700]));
    let last = get("bytes=-10").await;
    assert_eq!((last.status, &last.body[..]), (206, &large[large.len() - 10..]));
    let head = fixture
        .app
        .request(Method::HEAD, &path)
        .bearer(&fixture.a.token)
        .send()
        .await;
    assert_eq!((head.status, head.body.len()), (200, 0));

    let picture = Upload {
        name: "photo.png",
        bytes: &crate::images::landscape(image::ImageFormat::Png),
        kind: "image/png",
    };
    let image = uploaded(&fixture, DOCS, picture).await;
    let small = format!("/attachments/image/{image}?width=16");
    let rendered = fixture
        .app
        .request(Method::GET, &small)
        .bearer(&fixture.a.token)
        .send()
        .await;
    assert_eq!(
        (rendered.status, rendered.header("content-type").as_deref()),
        (200, Some("image/png"))
    );

    assert_eq!(server.keys().len(), 2);
    for id in [id, image] {
        let deleted = fixture
            .app
            .delete(&fixture.a.token, &format!("{LIBRARY}/{id}"), Value::Null)
            .await;
        assert_eq!(deleted.0, 200);
    }
    assert_eq!(server.keys(), Vec::<String>::new());
}

#[actix_web::test]
async fn a_bucket_that_does_not_respond_is_no_missing_file() {
    let (server, fixture, id) = with_docs().await;
    let file = uploaded(&fixture, DOCS, NOTE).await;
    server.serve(false);
    // The kept connection ends with the settings of another client.
    let mut other = server.config();
    other["sessionToken"] = json!("token");
    assert_eq!(
        put(&fixture, &fixture.a.token, json!({"id": id, "configJson": other}))
            .await
            .0,
        200
    );
    let silent = fixture
        .app
        .second_node_with(&format!("{CONFIG}{NO_LIMITS}[attachments]\n{}", S3Server::section()))
        .await;

    let path = format!("/attachments/file/{file}");
    let response = silent.request(Method::GET, &path).bearer(&fixture.a.token).send().await;
    assert_eq!(rejection(&response), rejected(503, "storage_unavailable"));
    assert_eq!(response.json()["error"], "Files can't be read at present");
    let failed = upload(&silent, &fixture.a.token, DOCS, Upload { name: "b.txt", ..NOTE }).await;
    assert_eq!(rejection(&failed), rejected(500, "storage_failed"));
    let (_, list) = fixture
        .app
        .get(&fixture.a.token, &format!("{LIBRARY}?search=b.txt"))
        .await;
    assert_eq!(list["total"], 0);
    assert_eq!(server.keys().len(), 1);
}

#[actix_web::test]
async fn the_check_compares_buckets_and_leaves_foreign_objects() {
    let (server, fixture, _) = with_docs().await;
    let file = uploaded(&fixture, DOCS, NOTE).await;
    let folder = server.folder().join("office");
    let unknown = folder.join(format!("{}/docs/2026/11/{}", fixture.a.id, Uuid::from_u128(9)));
    let foreign = folder.join(format!("{}/docs/2026/11/{}", Uuid::from_u128(7), Uuid::from_u128(9)));
    for path in [&unknown, &foreign] {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        std::fs::write(path, "bytes").expect("written");
    }
    let call = Call::internal(fixture.app.runtime());

    let found = backoffice_attachments::check::check(&call, true)
        .await
        .expect("checked");

    assert_eq!(
        (found.files, found.damaged.number, found.unknown_objects.number),
        (1, 0, 1)
    );
    assert!(!unknown.exists() && foreign.exists());
    let key = server
        .keys()
        .into_iter()
        .find(|key| key.ends_with(&file.to_string()))
        .expect("an object");
    std::fs::remove_file(server.folder().join(key)).expect("removed");
    let found = backoffice_attachments::check::check(&call, false)
        .await
        .expect("checked");
    assert_eq!((found.damaged.number, found.damaged.first[0].object_size), (1, None));
    assert_eq!(bytes_of(&fixture, file).await.0, 404);
}

#[actix_web::test]
async fn a_bucket_that_rejects_its_credentials_stops_neither_the_check_nor_the_sweep() {
    let (server, fixture, id) = with_docs().await;
    let file = uploaded(&fixture, DOCS, NOTE).await;
    let local = uploaded(&fixture, &[], NOTE).await;
    let mut wrong = server.config();
    wrong["secretAccessKey"] = json!("another");
    let changed = put(&fixture, &fixture.a.token, json!({"id": id, "configJson": wrong})).await;
    assert_eq!(changed.0, 200, "{}", changed.1);
    let call = Call::internal(fixture.app.runtime());

    let found = backoffice_attachments::check::check(&call, false)
        .await
        .expect("checked");
    assert_eq!(
        (found.files, found.damaged.number, found.unreadable_stores.number),
        (2, 0, 1)
    );
    assert!(!found.is_sound());

    let probed = backoffice_attachments::check::probe_stores(&call)
        .await
        .expect("probed");
    let failed: Vec<_> = probed.iter().filter(|store| store.error.is_some()).collect();
    assert_eq!((probed.len(), failed.len(), failed[0].is_of_all), (3, 1, false));

    for id in [file, local] {
        let deleted = fixture
            .app
            .delete(&fixture.a.token, &format!("{LIBRARY}/{id}"), Value::Null)
            .await;
        assert_eq!(deleted.0, 200);
    }
    assert_eq!(fixture.app.rows("select id from attachments_staged").await.len(), 1);
}
