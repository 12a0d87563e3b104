//! Two tenants with an administrator each, and a super administrator, in an application of this module.

use std::ops::Deref;

use actix_web::http::Method;
use backoffice_core::Module;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
pub(crate) use backoffice_test_accounts::{PASSWORD, id_of, login};
use backoffice_test_support::{TestApp, TestAppBuilder, TestResponse};
use serde_json::Value;
use uuid::Uuid;

pub(crate) const KEYS: &str = "/api_keys/keys";

const MODULES: [&Module; 4] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_api_keys::MODULE,
];

pub(crate) struct Fixture(TwoTenants);

impl Deref for Fixture {
    type Target = TwoTenants;

    fn deref(&self) -> &TwoTenants {
        &self.0
    }
}

fn builder() -> TestAppBuilder {
    TestApp::builder(&MODULES).config(CONFIG).config(NO_LIMITS)
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with_config("").await
    }

    pub(crate) async fn with_config(extra: &str) -> Self {
        Self(TwoTenants::inside(builder().config(extra).build().await).await)
    }

    /// An application that counts statements.
    pub(crate) async fn counting() -> Self {
        Self(TwoTenants::inside(builder().through_proxy().build().await).await)
    }

    /// Creates a user of tenant A with these roles and signs them in.
    pub(crate) async fn user(&self, email: &str, roles: &[&str]) -> String {
        self.0.user(email, roles).await.1
    }

    /// Creates a key as the administrator of tenant A.
    pub(crate) async fn key(&self, body: Value) -> Key {
        let (status, body) = self.app.post(&self.a.token, KEYS, body).await;
        assert_eq!(status, 201, "{body}");
        Key {
            id: id_of(&body),
            secret: body["secret"].as_str().expect("a key").to_owned(),
        }
    }

    /// Sends `GET` with a key.
    pub(crate) async fn get(&self, key: &Key, path: &str) -> (u16, Value) {
        let response = self.send(key, Method::GET, path).await;
        (response.status, response.json())
    }

    /// Sends a request without body, with a key.
    pub(crate) async fn send(&self, key: &Key, method: Method, path: &str) -> TestResponse {
        let request = self.app.request(method, path).header("X-Api-Key", &key.secret);
        request.send().await
    }
}

/// A key and its text.
pub(crate) struct Key {
    pub(crate) id: Uuid,
    pub(crate) secret: String,
}
