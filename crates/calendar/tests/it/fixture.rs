//! Two tenants. The organization of Alpha is in Warsaw. It is Monday, 2026-01-05T08:00Z.

use std::ops::Deref;

use actix_web::http::Method;
use backoffice_calendar::MODULE;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::jobs::{Job, NewJob, enqueue};
use backoffice_core::{Call, Module, Scope, Timestamp};
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
use backoffice_test_support::{TestApp, TestAppBuilder, TestResponse};
use serde_json::{Value, json};
use uuid::Uuid;

pub(crate) const WINDOWS: &str = "/calendar/availability-windows";
pub(crate) const SERIES: &str = "/calendar/availability-series";
pub(crate) const CALENDAR: &str = "/calendar/working-calendar";

pub(crate) const MODULES: [&Module; 5] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_api_keys::MODULE,
    &backoffice_audit_logs::MODULE,
    &MODULE,
];

/// The excavator.
pub(crate) const E1: Uuid = Uuid::from_u128(0x019a_ba00_0000_7000_8000_0000_0000_00e1);

pub(crate) struct Fixture(TwoTenants);

impl Deref for Fixture {
    type Target = TwoTenants;

    fn deref(&self) -> &TwoTenants {
        &self.0
    }
}

pub(crate) fn builder() -> TestAppBuilder {
    builder_of(&MODULES)
}

pub(crate) fn builder_of(modules: &[&'static Module]) -> TestAppBuilder {
    let start = Timestamp::parse("2026-01-05T08:00:00Z").expect("an instant");
    TestApp::builder(modules)
        .config(CONFIG)
        .config(NO_LIMITS)
        .starting_at(start)
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let fixture = Self::without_calendar(builder()).await;
        fixture.zone("Europe/Warsaw").await;
        fixture
    }

    pub(crate) async fn without_calendar(builder: TestAppBuilder) -> Self {
        Self(TwoTenants::inside(builder.build().await).await)
    }

    /// Replaces the zone of Alpha's organization and returns the response.
    pub(crate) async fn zone(&self, zone: &str) -> TestResponse {
        let body = json!({"timeZone": zone, "offWeekdays": ["sat", "sun"], "holidays": []});
        let response = self.send(Method::PUT, &self.a.token, CALENDAR, &body).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response
    }

    /// Sends a request, a minute later.
    pub(crate) async fn send(&self, method: Method, token: &str, path: &str, body: &Value) -> TestResponse {
        self.app.advance(time::Duration::minutes(1));
        self.app.send(token, method, path, body).await
    }

    /// Creates a window of the excavator as the administrator of Alpha and returns the response.
    pub(crate) async fn post_window(&self, start: &str, end: &str) -> (u16, Value) {
        self.app.post(&self.a.token, WINDOWS, window(start, end)).await
    }

    /// Creates a window of the excavator and returns its id.
    pub(crate) async fn window(&self, start: &str, end: &str) -> Uuid {
        self.create(WINDOWS, window(start, end)).await
    }

    /// Returns a window as the administrator of Alpha sees it.
    pub(crate) async fn get_window(&self, id: Uuid) -> Value {
        self.app.read(&self.a.token, &one(id)).await
    }

    /// Returns the instants of a window.
    pub(crate) async fn instants(&self, id: Uuid) -> [String; 2] {
        let window = self.get_window(id).await;
        [text(&window["startAt"]), text(&window["endAt"])]
    }

    /// Returns the items of a list as the administrator of Alpha sees them.
    pub(crate) async fn list(&self, path: &str) -> Vec<Value> {
        let body = self.app.read(&self.a.token, path).await;
        body["items"].as_array().expect("a list").clone()
    }

    /// Enqueues a job of the platform.
    pub(crate) async fn enqueue(&self, job: impl Job) {
        let call = Call::internal(self.app.runtime());
        let database = &self.app.runtime().database;
        let mut transaction = database.transaction(&Scope::system()).await.expect("a transaction");
        let order = NewJob::of_system(PLATFORM_TENANT, job);
        enqueue(transaction.connection(), &call, &order)
            .await
            .expect("enqueued");
        transaction.commit().await.expect("committed");
    }

    /// Returns the code of the rejection of a request by the administrator of Alpha.
    pub(crate) async fn code(&self, method: Method, path: &str, body: &Value) -> (u16, String) {
        let response = self.send(method, &self.a.token, path, body).await;
        (response.status, text(&response.json()["code"]))
    }
}

/// Returns the body of a window of the excavator.
pub(crate) fn window(start: &str, end: &str) -> Value {
    json!({"resourceType": "equipment", "resourceId": E1, "startDate": start, "endDateExclusive": end, "reasonCode": "maintenance"})
}

/// Returns the body of a window of the excavator with another field.
pub(crate) fn window_with(field: &str, value: Value) -> Value {
    let mut body = window("2026-03-29", "2026-03-30");
    body[field] = value;
    body
}

/// Returns the path of a window.
pub(crate) fn one(id: Uuid) -> String {
    format!("{WINDOWS}/{id}")
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
