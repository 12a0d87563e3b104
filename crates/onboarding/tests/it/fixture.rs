//! An application of this module, and persons who sign up.

use std::ops::Deref;

use actix_web::http::Method;
use backoffice_core::Module;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
use backoffice_test_support::{Duration, TestApp, TestResponse};
use serde_json::{Value, json};

pub(crate) const SUBMIT: &str = "/onboarding/onboarding";
pub(crate) const VERIFY: &str = "/onboarding/onboarding/verify";
pub(crate) const STATUS: &str = "/onboarding/onboarding/status";
pub(crate) const RESEND: &str = "/onboarding/onboarding/resend";
/// The password of every person.
pub(crate) const SECRET: &str = "a very good secret";
/// Public address of the application.
pub(crate) const SITE: &str = "[app]\npublic_url = 'https://office.example'\n";

pub(crate) const MODULES: [&Module; 4] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_onboarding::MODULE,
];

pub(crate) struct Fixture(pub(crate) TwoTenants);

impl Deref for Fixture {
    type Target = TwoTenants;

    fn deref(&self) -> &TwoTenants {
        &self.0
    }
}

/// A submitted request.
pub(crate) struct Person {
    pub(crate) email: String,
    pub(crate) status_token: String,
}

/// Returns the body of a valid submission.
pub(crate) fn body(email: &str, organization: &str) -> Value {
    json!({
        "email": email, "firstName": "Ann", "lastName": "Lee", "organizationName": organization,
        "password": SECRET, "confirmPassword": SECRET, "termsAccepted": true, "marketingConsent": true, "locale": "en",
    })
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(&format!("{NO_LIMITS}{SITE}")).await
    }

    pub(crate) async fn with(config: &str) -> Self {
        Self::of(&MODULES, config).await
    }

    /// Creates a fixture with further modules.
    pub(crate) async fn with_modules(modules: &[&'static Module]) -> Self {
        Self::of(&[&MODULES, modules].concat(), &format!("{NO_LIMITS}{SITE}")).await
    }

    /// Creates a fixture with these modules and this configuration.
    pub(crate) async fn with_all(modules: &[&'static Module], config: &str) -> Self {
        Self::of(modules, config).await
    }

    async fn of(modules: &[&'static Module], config: &str) -> Self {
        let app = TestApp::builder(modules).config(CONFIG).config(config);
        Self(TwoTenants::inside(app.build().await).await)
    }

    pub(crate) async fn submit(&self, body: &Value) -> TestResponse {
        self.app.request(Method::POST, SUBMIT).json(body).send().await
    }

    /// Submits a request, without running jobs.
    pub(crate) async fn person(&self, email: &str, organization: &str) -> Person {
        let response = self.submit(&body(email, organization)).await;
        assert_eq!(response.status, 201, "{}", response.text());
        Person {
            email: email.to_owned(),
            status_token: response.json()["statusToken"].as_str().expect("a token").to_owned(),
        }
    }

    /// Submits a request and returns it with the token of its mail.
    pub(crate) async fn invited(&self, email: &str, organization: &str) -> (Person, String) {
        let person = self.person(email, organization).await;
        self.app.run_jobs().await;
        let token = self.mailed_token(email);
        (person, token)
    }

    /// Takes all mails and returns the token of the last link to an address.
    pub(crate) fn mailed_token(&self, email: &str) -> String {
        let mails = self.app.mail().take();
        let mail = mails.iter().rev().find(|mail| mail.to == email).expect("a mail");
        let link = "https://office.example/api/onboarding/onboarding/verify?token=";
        let (_, rest) = mail.text.split_once(link).expect("a link");
        rest.split_ascii_whitespace().next().expect("a token").to_owned()
    }

    /// Opens a link with a value of `Accept` and the status token of a cookie.
    pub(crate) async fn open(&self, token: &str, accept: &str, cookie: Option<&str>) -> TestResponse {
        let request = self.app.request(Method::GET, &format!("{VERIFY}?token={token}"));
        let request = request.header("accept", accept);
        let request = match cookie {
            Some(cookie) => request.cookie("onboarding_status", cookie),
            None => request,
        };
        request.send().await
    }

    /// Sends a link with a password, as JSON.
    pub(crate) async fn confirm(&self, token: &str, password: &str) -> TestResponse {
        let body = json!({"token": token, "password": password});
        self.app.request(Method::POST, VERIFY).json(&body).send().await
    }

    /// Submits and confirms a request whose job becomes dead after it has created the tenant.
    pub(crate) async fn dead_after_creation(&self, email: &str, organization: &str) -> Person {
        let (person, token) = self.invited(email, organization).await;
        self.app
            .sql(
                "alter table core_jobs add constraint no_progress \
                 check (kind <> 'onboarding.request.provision' or cursor = 0) not valid",
            )
            .await;
        self.open(&token, "application/json", None).await;
        for _ in 0..8 {
            self.app.run_jobs().await;
            self.app.advance(Duration::minutes(11));
        }
        self.app.sql("alter table core_jobs drop constraint no_progress").await;
        person
    }

    pub(crate) async fn status(&self, token: &str) -> Value {
        self.app.read("", &format!("{STATUS}?statusToken={token}")).await
    }

    /// Returns how many tenants have the name.
    pub(crate) async fn tenants(&self, name: &str) -> usize {
        let sql = format!("select id from directory_tenants where name = '{name}'");
        self.app.rows(&sql).await.len()
    }
}
