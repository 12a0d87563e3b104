//! The job that sends the messages of a batch.

use std::sync::Arc;

use backoffice_core::jobs::{Job, NewJob, Queue, Step, Work, enqueue};
use backoffice_core::{Result, Scope, Timestamp};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Providers;
use super::attempt::{attempt, obstacle};
use super::deliveries::{self, Delivery, Noted};
use super::message::Message;
use super::outcome::{OLDEST, Outcome};
use super::recipients::{DeviceRow, Recipient, recipients};

/// Messages that a job sends at once. The next ones are sent when these have ended, after at most about ten seconds, so that jobs of other tenants
/// get their turn.
const AT_ONCE: usize = 16;

/// Sends the messages of the notifications that were sent together. Each outcome is noted when it is known: a crash repeats only messages that were
/// sent and not noted yet. Messages whose next attempt is due later are sent by a further job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SendPushes {
    /// The batch of the deliveries.
    pub(crate) batch: Uuid,
}

/// A message and its recipient.
struct Outgoing {
    delivery: Delivery,
    recipient: Recipient,
    message: Option<Message>,
}

impl Job for SendPushes {
    const KIND: &'static str = "devices.push.send";
    const QUEUE: Queue = Queue::Network;

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let providers = work.call().provided::<Providers>()?;
        let outgoing = self.outgoing(work, &providers).await?;
        if outgoing.is_empty() {
            return self.finish(work).await;
        }
        let now = work.now();
        let (mut unsent, mut to_send) = (Vec::new(), Vec::new());
        for one in &outgoing {
            match one.obstacle(&providers, now) {
                Some(outcome) => unsent.push(one.noted(outcome)),
                None => to_send.push(one),
            }
        }
        self.note(work, &providers, &unsent).await?;
        let mut sent: FuturesUnordered<_> = to_send.into_iter().map(|one| one.send(&providers, now)).collect();
        while let Some((one, outcome)) = sent.next().await {
            self.note(work, &providers, &[one.noted(outcome)]).await?;
        }
        Ok(Step::More)
    }
}

impl SendPushes {
    /// Reads the messages that are due, with two statements. The connections are free again when it returns.
    async fn outgoing(&self, work: &Work<'_>, providers: &Providers) -> Result<Vec<Outgoing>> {
        let (call, tenant) = (work.call(), work.tenant());
        let due = deliveries::due(call, tenant, self.batch, work.now(), AT_ONCE).await?;
        let (found, rows): (Vec<Delivery>, Vec<DeviceRow>) = due.into_iter().map(deliveries::Due::split).unzip();
        let recipients = recipients(call, providers, tenant, rows).await?;
        let outgoing = found.into_iter().zip(recipients).map(|(delivery, recipient)| Outgoing {
            message: delivery.payload.as_ref().map(|payload| {
                let locale = recipient.row.locale.as_deref();
                payload.message(call.platform(), locale, delivery.id, delivery.notification)
            }),
            delivery,
            recipient,
        });
        Ok(outgoing.collect())
    }

    async fn note(&self, work: &mut Work<'_>, providers: &Arc<Providers>, noted: &[Noted<'_>]) -> Result<()> {
        if noted.is_empty() {
            return Ok(());
        }
        let (call, tenant, now) = (work.call().clone(), work.tenant(), work.now());
        let cursor = work.cursor() + i64::try_from(noted.len()).unwrap_or(1);
        let mut chunk = work.begin(&Scope::tenant(tenant)).await?;
        deliveries::note(chunk.connection(), &call, providers, (tenant, self.batch, now), noted).await?;
        chunk.advance(cursor).await
    }

    /// Ends the job, and enqueues the next one if messages are to be sent again.
    async fn finish(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, tenant) = (work.call().clone(), work.tenant());
        let mut chunk = work.begin(&Scope::tenant(tenant)).await?;
        if let Some(due) = deliveries::next_due(chunk.connection(), tenant, self.batch).await? {
            let next = NewJob {
                run_at: Some(due),
                ..NewJob::of_system(tenant, self.clone())
            };
            enqueue(chunk.connection(), &call, &next).await?;
        }
        chunk.finish().await?;
        Ok(Step::Done)
    }
}

impl Outgoing {
    /// Returns the outcome of a message that is not sent now.
    fn obstacle(&self, providers: &Providers, now: Timestamp) -> Option<Outcome> {
        if self.delivery.is_tenant_deleted {
            return Some(Outcome::Skipped("tenant_deleted"));
        }
        if self.message.is_none() {
            return Some(Outcome::Failed("unreadable_payload"));
        }
        if self.delivery.created_at.after(OLDEST) < now {
            return Some(Outcome::Skipped("too_old"));
        }
        obstacle(providers, &self.recipient, now)
    }

    async fn send(&self, providers: &Providers, now: Timestamp) -> (&Self, Outcome) {
        let outcome = match &self.message {
            Some(message) => attempt(providers, &self.recipient, message, now).await,
            None => Outcome::Failed("unreadable_payload"),
        };
        (self, outcome)
    }

    const fn noted(&self, outcome: Outcome) -> Noted<'_> {
        Noted {
            delivery: &self.delivery,
            recipient: &self.recipient,
            outcome,
        }
    }
}
