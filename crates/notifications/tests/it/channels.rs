//! Channels of other modules.

use std::sync::Mutex;

use backoffice_core::{Call, Error, Result, Scope};
use backoffice_notifications::{Channel, Delivered, New, send_last};
use diesel_async::AsyncPgConnection;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use serde_json::json;
use uuid::Uuid;

use crate::fixture::{Fixture, LIST, MAILED, done, full};

/// Tenant, id and title of a delivered notification.
type Recorded = (Uuid, Uuid, String);

/// Records what it gets, and fails for a notification about `Broken`.
pub(crate) struct Recorder;

/// What the recorder of a platform got.
#[derive(Debug, Default)]
pub(crate) struct Records(Mutex<Vec<Recorded>>);

impl Channel for Recorder {
    fn deliver<'a>(
        &'a self,
        _connection: &'a mut AsyncPgConnection,
        call: &'a Call,
        tenant: Uuid,
        notifications: &'a [Delivered<'a>],
    ) -> BoxFuture<'a, Result<()>> {
        let found = notifications
            .iter()
            .map(|one| (tenant, one.id, one.new.wording("de").title));
        let records = call.provided::<Records>().expect("the module provides them");
        records.0.lock().expect("not poisoned").extend(found);
        let is_broken = notifications.iter().any(|one| one.new.params["name"] == "Broken");
        ready(if is_broken {
            Err(Error::internal("broken"))
        } else {
            Ok(())
        })
        .boxed()
    }
}

impl Records {
    /// Returns ids and titles of a tenant.
    fn of(&self, tenant: Uuid) -> Vec<(Uuid, String)> {
        let recorded = self.0.lock().expect("not poisoned");
        let own = recorded.iter().filter(|(of, ..)| *of == tenant);
        own.map(|(_, id, title)| (*id, title.clone())).collect()
    }
}

#[actix_web::test]
async fn a_channel_gets_the_notifications_whose_recipients_want_push_messages() {
    let fixture = Fixture::new().await;
    let (user, token) = (fixture.a.admin, &fixture.a.token);
    let (muted, muted_token) = fixture.user("muted@alpha.example", &["employee"]).await;
    let items = json!([{"type": "samples.sample.done", "push": false}]);
    assert_eq!(fixture.prefer(&muted_token, items).await.0, 200);

    let new = [
        done(user, "A"),
        done(muted, "B"),
        New::of(MAILED, user).with("name", "C"),
    ];
    assert_eq!(fixture.send(&new).await, 3);
    assert_eq!(fixture.send(&[full(user)]).await, 1);
    assert_eq!(fixture.send(&[full(user)]).await, 1);

    let records = fixture.call().provided::<Records>().expect("the module provides them");
    let recorded = records.of(fixture.a.id);
    let titles: Vec<&str> = recorded.iter().map(|(_, title)| title.as_str()).collect();
    assert_eq!(titles, ["A ist fertig", "First ist fertig", "First ist fertig"]);
    assert_eq!(recorded[1].0, recorded[2].0, "a repeat has the id of its group");
    let listed = fixture.listed(token, LIST).await;
    assert!(
        listed
            .iter()
            .any(|one| one["id"] == json!(recorded[0].0) && one["title"] == "A is done")
    );
}

#[actix_web::test]
async fn a_channel_that_fails_undoes_the_command_with_its_notification() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let pushed = json!([{"type": "samples.sample.failed", "push": true}]);
    assert_eq!(fixture.prefer(token, pushed).await.0, 200);
    let create = async |name: &str| fixture.app.post(token, "/auth/roles", json!({ "name": name })).await;
    let records = fixture.call().provided::<Records>().expect("the module provides them");

    let (status, body) = create("Broken").await;

    assert_eq!(
        (status, &body["error"]),
        (500, &json!("Internal server error")),
        "{body}"
    );
    assert_eq!(
        records.of(fixture.a.id).len(),
        1,
        "the channel has got the notification"
    );
    for from in [
        "auth_roles where name = 'Broken'",
        "notifications_notifications",
        "core_jobs where kind like 'notifications.%'",
        "core_outbox_events where name = 'notifications.notification.created'",
    ] {
        assert_eq!(fixture.app.count(from).await, 0, "{from}");
    }
    assert_eq!(create("Whole").await.0, 201);
    assert_eq!(fixture.app.count("notifications_notifications").await, 1);
}

#[actix_web::test]
async fn a_job_or_subscriber_learns_that_a_channel_has_failed() {
    let fixture = Fixture::new().await;
    let (call, tenant) = (fixture.call(), fixture.a.id);
    let transaction = call.database().transaction(&Scope::tenant(tenant)).await;
    let mut transaction = transaction.expect("a transaction");
    let broken = [done(fixture.a.admin, "Broken")];

    let sent = send_last(transaction.connection(), &call, tenant, &broken).await;

    assert!(sent.is_err());
}
