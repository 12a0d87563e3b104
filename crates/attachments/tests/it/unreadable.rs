//! Files and images whose bytes can't be read, or whose store can't be opened.

use actix_web::http::Method;
use backoffice_test_accounts::{CONFIG, NO_LIMITS};
use backoffice_test_support::{TestApp, TestResponse};
use image::ImageFormat;
use serde_json::json;
use uuid::Uuid;

use crate::images::landscape;
use crate::s3_server::S3Server;
use crate::{NOTE, PARTITIONS, TwoTenants, Upload, fixture, fixture_with, rejected, rejection, upload, uploaded};

const DOCS: &[(&str, &str)] = &[("partitionCode", "docs")];

async fn photo(fixture: &TwoTenants, parts: &[(&str, &str)]) -> Uuid {
    let bytes = landscape(ImageFormat::Png);
    let file = Upload {
        name: "a.png",
        bytes: &bytes,
        kind: "image/png",
    };
    uploaded(fixture, parts, file).await
}

async fn with_docs(server: &S3Server) -> TwoTenants {
    let fixture = fixture_with(S3Server::section()).await;
    let body = json!({"code": "docs", "title": "Documents", "storageDriver": "s3", "configJson": server.config()});
    let (status, created) = fixture.app.post(&fixture.a.token, PARTITIONS, body).await;
    assert_eq!(status, 201, "{created}");
    fixture
}

async fn get(app: &TestApp, token: &str, path: &str) -> TestResponse {
    app.request(Method::GET, path).bearer(token).send().await
}

#[actix_web::test]
async fn an_image_in_a_bucket_that_does_not_respond_is_rendered_as_soon_as_it_does() {
    let server = S3Server::start().await;
    let fixture = with_docs(&server).await;
    let path = format!("/attachments/image/{}?width=10", photo(&fixture, DOCS).await);
    // Without connections that are open.
    let config = format!("{CONFIG}{NO_LIMITS}[attachments]\n{}", S3Server::section());
    let node = fixture.app.second_node_with(&config).await;
    server.serve(false);

    let unavailable = get(&node, &fixture.a.token, &path).await;
    server.serve(true);
    let rendered = get(&node, &fixture.a.token, &path).await;

    assert_eq!(rejection(&unavailable), rejected(503, "storage_unavailable"));
    assert_eq!(rendered.status, 200, "{}", rendered.text());
}

#[actix_web::test]
async fn missing_bytes_are_counted_for_files_and_for_images() {
    let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
    let metrics = recorder.handle();
    metrics::set_global_recorder(recorder).expect("the only recorder of this process");
    let fixture = fixture().await;
    let id = photo(&fixture, &[]).await;
    std::fs::remove_dir_all(fixture.app.data_dir().join("attachments/privateAttachments")).expect("removed");
    let counted = || {
        let text = metrics.render();
        let count = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        (
            count("attachments_missing_total "),
            count("attachments_store_errors_total{driver=\"local\"} "),
        )
    };
    let twice = |count: &str| (Some(count.to_owned()), Some(count.to_owned()));

    let file = get(&fixture.app, &fixture.a.token, &format!("/attachments/file/{id}")).await;
    assert_eq!(
        (file.status, file.json()),
        (404, json!({"error": "File not available"}))
    );
    assert_eq!(counted(), twice("1"));

    let image = get(
        &fixture.app,
        &fixture.a.token,
        &format!("/attachments/image/{id}?width=10"),
    )
    .await;
    assert_eq!(
        (image.status, image.json()),
        (404, json!({"error": "File not available"}))
    );
    assert_eq!(counted(), twice("2"));
}

/// Asserts that neither a file nor its image is sent, because their store can't be opened.
async fn assert_misconfigured(fixture: &TwoTenants, id: Uuid) {
    for path in [
        format!("/attachments/file/{id}"),
        format!("/attachments/image/{id}?width=10"),
    ] {
        let response = get(&fixture.app, &fixture.a.token, &path).await;
        assert_eq!(response.status, 500, "{path}");
        assert_eq!(response.json()["error"], "Partition misconfigured", "{path}");
    }
}

#[actix_web::test]
async fn a_store_whose_settings_can_not_be_read_is_misconfigured() {
    let server = S3Server::start().await;
    let fixture = with_docs(&server).await;
    let (local, in_bucket) = (photo(&fixture, &[]).await, photo(&fixture, DOCS).await);

    fixture.app.sql("update attachments_stores set config = '{}'").await;

    assert_misconfigured(&fixture, local).await;
    assert_misconfigured(&fixture, in_bucket).await;
    let rejected = upload(&fixture.app, &fixture.a.token, DOCS, NOTE).await;
    assert_eq!(
        rejected.json()["error"],
        "Partition misconfigured",
        "{}",
        rejected.text()
    );
}

#[actix_web::test]
async fn a_store_whose_credentials_can_not_be_unsealed_is_misconfigured() {
    let server = S3Server::start().await;
    let fixture = with_docs(&server).await;
    let id = photo(&fixture, DOCS).await;

    let changed = "update attachments_stores set credentials = set_byte(credentials, length(credentials) - 1, \
                   get_byte(credentials, length(credentials) - 1) # 1) where driver = 's3'";
    assert_eq!(fixture.app.sql(changed).await, 1);

    assert_misconfigured(&fixture, id).await;
}
