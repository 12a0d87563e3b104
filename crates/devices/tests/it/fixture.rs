//! Two tenants with an administrator each, in an application of this module.

use std::ops::Deref;

use actix_web::http::Method;
use backoffice_core::Module;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
use backoffice_test_support::{TestApp, TestResponse};
use serde_json::{Value, json};

pub(crate) const DEVICES: &str = "/devices";
pub(crate) const OF_USERS: &str = "/devices/admin/devices";

const MODULES: [&Module; 5] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_api_keys::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_devices::MODULE,
];

pub(crate) struct Fixture(pub(crate) TwoTenants);

impl Deref for Fixture {
    type Target = TwoTenants;

    fn deref(&self) -> &TwoTenants {
        &self.0
    }
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with_config(NO_LIMITS).await
    }

    pub(crate) async fn with_config(extra: &str) -> Self {
        let app = TestApp::builder(&MODULES).config(CONFIG).config(extra);
        Self(TwoTenants::inside(app.build().await).await)
    }

    /// Registers a device of the caller and returns the response.
    pub(crate) async fn register(&self, token: &str, body: Value) -> Value {
        let (status, body) = self.app.post(token, DEVICES, body).await;
        assert_eq!(status, 201, "{body}");
        body
    }

    /// Returns the caller's devices.
    pub(crate) async fn devices(&self, token: &str) -> Vec<Value> {
        self.list(token, DEVICES).await
    }

    /// Returns the devices of a list.
    pub(crate) async fn list(&self, token: &str, path: &str) -> Vec<Value> {
        let (status, body) = self.app.get(token, path).await;
        assert_eq!(status, 200, "{body}");
        body["items"].as_array().expect("a list").clone()
    }

    pub(crate) async fn send(&self, method: Method, token: &str, path: &str, body: &Value) -> TestResponse {
        let request = self.app.request(method, path).bearer(token);
        request.json(body).send().await
    }

    pub(crate) async fn undo(&self, token: &str, response: &TestResponse) -> (u16, Value) {
        let operation = response.operation().expect("an undoable operation");
        let body = json!({"undoToken": operation["undoToken"]});
        self.app.post(token, "/audit_logs/audit-logs/actions/undo", body).await
    }

    /// Returns how many entries the action log has about devices.
    pub(crate) async fn entries(&self) -> usize {
        let rows = "select command_id from audit_action_logs where resource_kind = 'devices.device'";
        self.app.rows(rows).await.len()
    }
}

/// Returns the path of a device.
pub(crate) fn one(device: &Value) -> String {
    format!("{DEVICES}/{}", device["id"].as_str().expect("an id"))
}

/// Returns the codes of the invalid fields by their path.
pub(crate) fn details(body: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let details = body["details"].as_array().expect("details").iter();
    details.map(|one| (text(&one["path"]), text(&one["code"]))).collect()
}
