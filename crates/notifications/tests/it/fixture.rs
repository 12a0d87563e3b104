//! Two tenants with an administrator each, and a module that sends notifications.

use std::ops::Deref;
use std::sync::Arc;

use backoffice_core::command::{EntityRef, Hook, Interceptor, InterceptorContext, Tx, Verdict};
use backoffice_core::jobs::enqueue_due;
use backoffice_core::{Call, Module, Result, Scope};
use backoffice_notifications::{Channel, Channels, New, NotificationType, Severity, TypeTexts, send, send_last};
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants, login};
use backoffice_test_support::{TestApp, TestAppBuilder};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::channels::{Recorder, Records};

pub(crate) const LIST: &str = "/notifications";
pub(crate) const COUNT: &str = "/notifications/unread-count";
pub(crate) const PREFERENCES: &str = "/notifications/preferences";
const SITE: &str = "[app]\npublic_url = 'https://office.example'\n";

/// A type with texts in two languages.
pub(crate) const DONE: NotificationType = NotificationType {
    id: "samples.sample.done",
    channels: Channels::USUAL,
    texts: &[
        TypeTexts {
            locale: "en",
            name: "Finished samples",
            title: "{name} is done",
            body: "The sample {name} is done.\nLook at it.",
        },
        TypeTexts {
            locale: "de",
            name: "Fertige Muster",
            title: "{name} ist fertig",
            body: "Das Muster {name} ist fertig.",
        },
    ],
    values: &[],
};

/// A type that is mailed unless a user does not want it.
pub(crate) const MAILED: NotificationType = NotificationType {
    id: "samples.sample.failed",
    channels: Channels {
        in_app: true,
        push: false,
        email: true,
    },
    texts: &[TypeTexts {
        locale: "en",
        name: "Failed samples",
        title: "{name} has failed",
        body: "",
    }],
    values: &[],
};

/// Offers the types, and notifies the user who creates a role or changes an organization.
static SAMPLES: Module = Module {
    name: "samples",
    title: "Samples",
    requires: &["notifications"],
    register: |registry| {
        registry
            .extend(DONE)
            .extend(MAILED)
            .extend::<&'static dyn Channel>(&Recorder)
            .interceptor(NOTIFY)
            .interceptor(NOTIFY_CHANGE);
    },
    start: |startup| {
        startup.provide(Arc::new(Records::default()));
        Ok(())
    },
    ..Module::EMPTY
};

const NOTIFY: Interceptor = Interceptor {
    id: "samples.notify",
    target: "auth.role.create",
    priority: 100,
    run: |tx, attempt| Box::pin(notify(tx, attempt)),
};

const NOTIFY_CHANGE: Interceptor = Interceptor {
    id: "samples.notify_change",
    target: "directory.organization.update",
    ..NOTIFY
};

async fn notify(tx: &mut Tx<'_>, attempt: &InterceptorContext<'_>) -> Result<Verdict> {
    let name = attempt.after.and_then(|after| after.get("name")).cloned();
    if let (Hook::AfterExecute, Some(name)) = (attempt.hook, name)
        && let Ok(user) = tx.context().user_id()
    {
        send(tx, &[New::of(MAILED, user).with("name", name.clone())]).await?;
        if name == "Rejected" {
            return Ok(Verdict::Reject {
                message: "Rejected".to_owned(),
                code: None,
                status: None,
                body: None,
            });
        }
    }
    Ok(Verdict::Continue)
}

const MODULES: [&Module; 6] = [
    &backoffice_directory::MODULE,
    &backoffice_auth::MODULE,
    &backoffice_api_keys::MODULE,
    &backoffice_audit_logs::MODULE,
    &backoffice_notifications::MODULE,
    &SAMPLES,
];

pub(crate) struct Fixture(pub(crate) TwoTenants);

impl Deref for Fixture {
    type Target = TwoTenants;

    fn deref(&self) -> &TwoTenants {
        &self.0
    }
}

pub(crate) fn builder() -> TestAppBuilder {
    TestApp::builder(&MODULES)
        .config(CONFIG)
        .config(&format!("{NO_LIMITS}{SITE}"))
}

/// Returns a builder with rate limits, of which `limits` sets some.
pub(crate) fn limited(limits: &str) -> TestAppBuilder {
    TestApp::builder(&MODULES).config(CONFIG).config(SITE).config(limits)
}

/// Returns a notification about a finished sample.
pub(crate) fn done(recipient: Uuid, name: &str) -> New {
    New::of(DONE, recipient).with("name", name)
}

/// Returns a notification with values in all fields.
pub(crate) fn full(recipient: Uuid) -> New {
    New {
        severity: Severity::Warning,
        source: Some(EntityRef {
            kind: "samples.sample",
            id: recipient,
        }),
        link_href: Some("/samples/1?a=b".to_owned()),
        group_key: Some("first".to_owned()),
        ..done(recipient, "First")
    }
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::of(builder()).await
    }

    pub(crate) async fn of(builder: TestAppBuilder) -> Self {
        Self(TwoTenants::inside(builder.build().await).await)
    }

    pub(crate) fn call(&self) -> Call {
        Call::internal(self.app.runtime())
    }

    /// Signs the administrator of tenant A in again, whose token has expired.
    pub(crate) async fn sign_in(&self) -> String {
        login(&self.app, "admin@alpha.test").await
    }

    /// Sends notifications to users of tenant A, in a transaction of their own.
    pub(crate) async fn send(&self, new: &[New]) -> usize {
        let (call, tenant) = (self.call(), self.a.id);
        let transaction = call.database().transaction(&Scope::tenant(tenant)).await;
        let mut transaction = transaction.expect("a transaction");
        let sent = send_last(transaction.connection(), &call, tenant, new).await;
        transaction.commit().await.expect("committed");
        sent.expect("sent")
    }

    pub(crate) async fn get(&self, token: &str, path: &str) -> Value {
        self.app.read(token, path).await
    }

    /// Returns the notifications of a list.
    pub(crate) async fn listed(&self, token: &str, path: &str) -> Vec<Value> {
        self.get(token, path).await["items"].as_array().expect("items").clone()
    }

    /// Marks a notification; returns the status of the response.
    pub(crate) async fn mark(&self, token: &str, one: &Value, mark: &str) -> u16 {
        let path = format!("{LIST}/{}/{mark}", one["id"].as_str().expect("an id"));
        self.app.post(token, &path, json!({})).await.0
    }

    pub(crate) async fn prefer(&self, token: &str, items: Value) -> (u16, Value) {
        self.app.put(token, PREFERENCES, json!({ "items": items })).await
    }

    /// Runs the jobs that are due, those of schedules too.
    pub(crate) async fn run_due(&self) {
        enqueue_due(&self.call()).await.expect("the database can be read");
        self.app.run_jobs().await;
    }

    /// Returns the secret of an API key with the role `admin`.
    pub(crate) async fn api_key(&self) -> String {
        let key = json!({"name": "K", "roles": ["admin"]});
        let (status, key) = self.app.post(&self.a.token, "/api_keys/keys", key).await;
        assert_eq!(status, 201, "{key}");
        key["secret"].as_str().expect("a key").to_owned()
    }
}
