//! The module over HTTP. The scenarios are those of section 11 of the specification.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod access;
mod changes;
mod failures;
mod fields;
mod files;
mod form_bounds;
mod hidden;
mod history;
mod hostile;
mod hosts;
mod images;
mod known_images;
mod library;
mod library_reads;
mod links;
mod partition_inputs;
mod partitions;
mod random;
mod records;
mod retention;
mod s3;
mod s3_server;
mod scan;
mod scripts;
mod shares;
mod transfers;
mod unreadable;
mod uploads;
mod whole_tenant;

use std::path::Path;

use actix_web::http::Method;
use backoffice_attachments::MODULE;
use backoffice_core::Module;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, ORGANIZATIONS, TwoTenants, id_of};
use backoffice_test_support::{TestApp, TestAppBuilder, TestRequest, TestResponse};
use serde_json::{Value, json};
use uuid::Uuid;

/// The list of the files of a record, and uploads.
const ATTACHMENTS: &str = "/attachments";
const LIBRARY: &str = "/attachments/library";
const PARTITIONS: &str = "/attachments/partitions";

const MODULES: [&Module; 6] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_progress::MODULE,
    &backoffice_customers::MODULE,
    &MODULE,
];

fn builder() -> TestAppBuilder {
    builder_of(&MODULES)
}

fn builder_with_limits() -> TestAppBuilder {
    TestApp::builder(&MODULES).config(CONFIG)
}

fn builder_of(modules: &[&'static Module]) -> TestAppBuilder {
    TestApp::builder(modules).config(CONFIG).config(NO_LIMITS)
}

/// Creates two tenants, each with an organization and an administrator.
async fn fixture() -> TwoTenants {
    TwoTenants::inside(builder().build().await).await
}

/// Creates them with this section `attachments`.
async fn fixture_with(settings: &str) -> TwoTenants {
    let section = format!("[attachments]\n{settings}");
    TwoTenants::inside(builder().config(&section).build().await).await
}

/// A file to upload.
#[derive(Debug, Clone, Copy)]
struct Upload<'a> {
    name: &'a str,
    bytes: &'a [u8],
    kind: &'a str,
}

const NOTE: Upload<'static> = Upload {
    name: "note.txt",
    bytes: b"Twelve bytes",
    kind: "text/plain",
};

/// The record of the parts that [`upload`] sends by default.
const RECORD: [(&str, &str); 2] = [("entityId", "x.y"), ("recordId", "r1")];

/// Returns the parts as a body with this boundary.
fn form(boundary: &str, parts: &[(&str, &str)], file: Option<Upload<'_>>) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in parts {
        let head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        body.extend_from_slice(head.as_bytes());
    }
    if let Some(file) = file {
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
            file.name, file.kind
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(file.bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    body
}

/// Prepares an upload.
fn request<'a>(app: &'a TestApp, token: &str, parts: &[(&str, &str)], file: Option<Upload<'_>>) -> TestRequest<'a> {
    let request = app.request(Method::POST, ATTACHMENTS).bearer(token);
    request.body(form("x", parts, file), "multipart/form-data; boundary=x")
}

/// Uploads a file to the record `x.y`, `r1`, with further parts.
async fn upload(app: &TestApp, token: &str, parts: &[(&str, &str)], file: Upload<'_>) -> TestResponse {
    let parts: Vec<_> = RECORD.iter().chain(parts).copied().collect();
    request(app, token, &parts, Some(file)).send().await
}

/// Uploads a file as the administrator of Alpha and returns its id.
async fn uploaded(fixture: &TwoTenants, parts: &[(&str, &str)], file: Upload<'_>) -> Uuid {
    let response = upload(&fixture.app, &fixture.a.token, parts, file).await;
    assert_eq!(response.status, 200, "{}", response.text());
    id_of(&response.json()["item"])
}

/// Returns status and code of a rejection.
fn rejection(response: &TestResponse) -> (u16, String) {
    (
        response.status,
        response.json()["code"].as_str().unwrap_or_default().to_owned(),
    )
}

fn rejected(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

/// Returns the number of files below a folder.
fn files_below(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let count = |path: &Path| match path.is_dir() {
        true => files_below(path),
        false => usize::from(path.file_name().is_none_or(|name| name != "lock")),
    };
    entries.map(|entry| count(&entry.path())).sum()
}

/// Returns what is stored: objects, files that are arriving, rows, and the bytes that the counter shows.
async fn stored(app: &TestApp) -> (usize, usize, usize, i64) {
    let rows = app.rows("select 1 as one from attachments_attachments").await.len();
    let usage = app
        .rows("select coalesce(sum(used_bytes), 0)::bigint as used from attachments_usage")
        .await;
    (
        files_below(&app.data_dir().join("attachments")),
        files_below(&app.data_dir().join("spool")),
        rows,
        usage[0]["used"].as_i64().expect("a number"),
    )
}

/// Returns the ids of a page.
fn ids(page: &Value) -> Vec<Uuid> {
    page["items"].as_array().into_iter().flatten().map(id_of).collect()
}

/// Returns the path of the list of the files of the record `x.y`, `r1`.
fn of_record() -> String {
    format!("{ATTACHMENTS}?entityId=x.y&recordId=r1")
}

/// A deal of the organization of Alpha.
async fn deal(fixture: &TwoTenants) -> Uuid {
    let body = json!({"title": "Deal", "organizationId": fixture.a.organization});
    fixture.create("/customers/deals", body).await
}
