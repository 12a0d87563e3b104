//! Two tenants with an administrator each, in an application of this module.

use std::ops::Deref;

use backoffice_core::jobs::enqueue_due;
use backoffice_core::{Call, Module, Scope};
use backoffice_notifications::{Channels, New, NotificationType, TypeTexts, send_last};
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
use backoffice_test_support::{Duration, TestApp, TestAppBuilder};
use serde_json::Value;
use uuid::Uuid;

pub(crate) const DEVICES: &str = "/devices";
pub(crate) const OF_USERS: &str = "/devices/admin/devices";

/// A type of notifications that are pushed.
pub(crate) const DONE: NotificationType = NotificationType {
    id: "samples.sample.done",
    channels: Channels::USUAL,
    texts: &[
        TypeTexts {
            locale: "en",
            name: "Finished samples",
            title: "{name} is done",
            body: "The sample {name} is done.",
        },
        TypeTexts {
            locale: "pl",
            name: "Gotowe próbki",
            title: "{name} gotowe",
            body: "Próbka {name} jest gotowa.",
        },
    ],
    values: &[],
};

/// Offers the type.
static SAMPLES: Module = Module {
    name: "samples",
    title: "Samples",
    requires: &["notifications"],
    register: |registry| {
        registry.extend(DONE);
    },
    ..Module::EMPTY
};

const MODULES: [&Module; 7] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_api_keys::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_notifications::MODULE,
    &backoffice_devices::MODULE,
    &SAMPLES,
];

pub(crate) fn builder() -> TestAppBuilder {
    TestApp::builder(&MODULES).config(CONFIG)
}

/// Returns a notification about a finished sample.
pub(crate) fn done(recipient: Uuid, name: &str) -> New {
    New::of(DONE, recipient).with("name", name)
}

/// Returns a delivery as [`Fixture::deliveries`] does.
pub(crate) fn delivery(status: &str, attempts: i64, error: Option<&str>) -> (String, i64, Option<String>) {
    (status.to_owned(), attempts, error.map(str::to_owned))
}

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
        Self::of(builder().config(extra)).await
    }

    pub(crate) async fn of(builder: TestAppBuilder) -> Self {
        Self(TwoTenants::inside(builder.build().await).await)
    }

    /// Sends notifications to users of a tenant, in a transaction of their own.
    pub(crate) async fn notify(&self, tenant: Uuid, new: &[New]) -> usize {
        let call = Call::internal(self.app.runtime());
        let transaction = call.database().transaction(&Scope::tenant(tenant)).await;
        let mut transaction = transaction.expect("a transaction");
        let sent = send_last(transaction.connection(), &call, tenant, new).await;
        transaction.commit().await.expect("committed");
        sent.expect("sent")
    }

    /// Notifies the administrator of tenant A, and runs the jobs that are due.
    pub(crate) async fn push(&self, new: New) {
        assert_eq!(self.notify(self.a.id, &[new]).await, 1);
        self.app.run_jobs().await;
    }

    /// Runs the schedules at their first time, and again after a time.
    pub(crate) async fn run_schedules(&self, after: Duration) {
        let call = || Call::internal(self.app.runtime());
        enqueue_due(&call()).await.expect("the database can be read");
        self.app.advance(after);
        enqueue_due(&call()).await.expect("the database can be read");
        self.app.run_jobs().await;
    }

    /// Returns status, attempts and error of all deliveries, the oldest first.
    pub(crate) async fn deliveries(&self) -> Vec<(String, i64, Option<String>)> {
        let query = "select status, attempts, error from devices_push_deliveries order by created_at, id";
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let rows = self.app.rows(query).await.into_iter();
        rows.map(|row| {
            let attempts = row["attempts"].as_i64().expect("a number");
            (text(&row["status"]).expect("a text"), attempts, text(&row["error"]))
        })
        .collect()
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
        let body = self.app.read(token, path).await;
        body["items"].as_array().expect("a list").clone()
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
