//! The channel of notifications that pushes them to devices.

use aws_lc_rs::digest::{SHA256, digest};
use backoffice_core::jobs::{NewJob, enqueue};
use backoffice_core::{Call, Result};
use backoffice_notifications::{Channel, Delivered, New};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use diesel_async::AsyncPgConnection;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use super::deliveries::{self, ToDeliver};
use super::message::Payload;
use super::{Providers, SendPushes};

/// The channel, for the registry.
pub(crate) const CHANNEL: &dyn Channel = &Push;
/// Bytes of a topic, which are 32 characters: the most that a push service accepts.
const TOPIC: usize = 24;

/// Pushes notifications to the devices of their recipients.
struct Push;

impl Channel for Push {
    fn deliver<'a>(
        &'a self,
        connection: &'a mut AsyncPgConnection,
        call: &'a Call,
        tenant: Uuid,
        notifications: &'a [Delivered<'a>],
    ) -> BoxFuture<'a, Result<()>> {
        deliver(connection, call, tenant, notifications).boxed()
    }
}

/// Writes the deliveries and the job that sends them: two statements, one if no recipient has a device with a token.
async fn deliver(
    connection: &mut AsyncPgConnection,
    call: &Call,
    tenant: Uuid,
    notifications: &[Delivered<'_>],
) -> Result<()> {
    let providers = call.provided::<Providers>()?;
    let batch = call.platform().ids().at(call.now);
    let new = notifications.iter().map(|one| to_deliver(tenant, one));
    let new: Vec<ToDeliver> = new.collect::<Result<_>>()?;
    let written = deliveries::write(connection, &providers, (tenant, batch, call.now), new).await?;
    if written > 0 {
        enqueue(connection, call, &NewJob::of_system(tenant, SendPushes { batch })).await?;
    }
    Ok(())
}

fn to_deliver(tenant: Uuid, one: &Delivered<'_>) -> Result<ToDeliver> {
    let wording = one.new.wording("");
    let payload = Payload {
        kind: one.new.notification_type.id.to_owned(),
        severity: one.new.severity.word().to_owned(),
        link_href: one.new.link_href.clone(),
        params: one.new.params.clone(),
        title: wording.title,
        body: wording.body,
        topic: topic(tenant, one.new),
    };
    Ok(ToDeliver {
        notification: one.id,
        recipient: one.new.recipient,
        payload: serde_json::to_value(payload)?,
    })
}

/// Returns the topic of a group. It reveals nothing of the group.
fn topic(tenant: Uuid, new: &New) -> Option<String> {
    let group = new.group_key.as_ref()?;
    let text = format!("{tenant}\n{}\n{group}", new.notification_type.id);
    let hash = digest(&SHA256, text.as_bytes());
    hash.as_ref().get(..TOPIC).map(|bytes| URL_SAFE_NO_PAD.encode(bytes))
}
