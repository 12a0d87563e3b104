//! Two tenants with an administrator each, in an application of this module that can send mails.

use std::ops::Deref;

use actix_web::http::Method;
use backoffice_core::Module;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, PASSWORD, TwoTenants, id_of, login};
use backoffice_test_support::{TestApp, TestAppBuilder};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const USERS: &str = "/access/users";

const SITE: &str = "[app]\npublic_url = \"https://office.example\"\n";

const MODULES: [&Module; 4] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_access::MODULE,
];

fn builder() -> TestAppBuilder {
    TestApp::builder(&MODULES).config(CONFIG)
}

pub(crate) struct Fixture(TwoTenants);

impl Deref for Fixture {
    type Target = TwoTenants;

    fn deref(&self) -> &TwoTenants {
        &self.0
    }
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::inside(builder().config(SITE).config(NO_LIMITS)).await
    }

    pub(crate) async fn with_limits() -> Self {
        Self::inside(builder().config(SITE)).await
    }

    pub(crate) async fn without_site() -> Self {
        Self::inside(builder().config(NO_LIMITS)).await
    }

    /// Creates a fixture on a connection that counts statements.
    pub(crate) async fn counting() -> Self {
        Self::inside(builder().config(SITE).config(NO_LIMITS).through_proxy()).await
    }

    async fn inside(builder: TestAppBuilder) -> Self {
        Self(TwoTenants::inside(builder.build().await).await)
    }

    /// Invites a user as the administrator of Alpha.
    pub(crate) async fn invite(&self, email: &str, name: &str, role: &str) -> (u16, Value) {
        let body = json!({"email": email, "name": name, "role": role});
        self.app.post(&self.a.token, USERS, body).await
    }

    /// Invites a user and returns the id.
    pub(crate) async fn invited(&self, email: &str, role: &str) -> Uuid {
        let (status, body) = self.invite(email, "Someone", role).await;
        assert_eq!(status, 201, "{body}");
        id_of(&body)
    }

    /// Invites a user, who sets a password and signs in; returns the id and an access token.
    pub(crate) async fn member(&self, email: &str, role: &str) -> (Uuid, String) {
        let id = self.invited(email, role).await;
        let token = self.mailed_token();
        assert_eq!(self.set_password(&token).await, 200);
        (id, login(&self.app, email).await)
    }

    /// Returns the token in the only mail, and removes the mail.
    pub(crate) fn mailed_token(&self) -> String {
        let mails = self.app.mail().take();
        assert_eq!(mails.len(), 1, "one mail");
        let (_, rest) = mails[0]
            .text
            .split_once("https://office.example/reset#token=")
            .expect("a link");
        rest.chars().take_while(|c| !c.is_whitespace()).collect()
    }

    /// Sets the password with the token of a link.
    pub(crate) async fn set_password(&self, token: &str) -> u16 {
        let fields = [("token", token), ("password", PASSWORD)];
        let request = self.app.request(Method::POST, "/auth/reset/confirm").form(&fields);
        request.send().await.status
    }

    /// Returns a user as the administrator of Alpha sees it.
    pub(crate) async fn user_of(&self, id: Uuid) -> Value {
        self.app.read(&self.a.token, &format!("{USERS}/{id}")).await
    }

    /// Changes the role of a user.
    pub(crate) async fn change_role(&self, token: &str, id: Uuid, role: &str) -> (u16, Value) {
        self.app
            .put(token, &format!("{USERS}/{id}"), json!({"role": role}))
            .await
    }

    /// Deactivates a user.
    pub(crate) async fn deactivate(&self, token: &str, id: Uuid) -> (u16, Value) {
        self.app.delete(token, &format!("{USERS}/{id}"), Value::Null).await
    }

    /// Sends a request without a body to a path below a user.
    pub(crate) async fn post_to(&self, token: &str, id: impl std::fmt::Display, action: &str) -> (u16, Value) {
        self.app.post(token, &format!("{USERS}/{id}/{action}"), json!({})).await
    }
}

/// Returns status and code of a rejection, whose body also has a text.
pub(crate) fn rejection((status, body): &(u16, Value)) -> (u16, &str) {
    assert!(body["error"].is_string(), "{body}");
    (*status, body["code"].as_str().unwrap_or_default())
}
