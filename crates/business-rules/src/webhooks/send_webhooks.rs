//! The job that sends the webhooks of a batch.

use backoffice_core::jobs::{Job, NewJob, Queue, Step, Work, enqueue};
use backoffice_core::{Call, Result, Scope, Timestamp, events};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Request};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Sender;
use super::deliveries::{self, DELIVERY, Due};
use super::outcome::Outcome;
use super::secrets::Signer;
use crate::engine::failure::{self, FailedRule};
use crate::engine::settle::{self, Leavings};
use crate::header_values::{self, OpenedValues};

/// Webhooks that a job sends at once. The next ones are sent when these have ended, after at most about ten seconds, so that jobs of other tenants
/// get their turn.
const AT_ONCE: usize = 16;

/// Sends the webhooks that were queued together. Each outcome is noted when it is known: a crash repeats only webhooks that were sent and not noted
/// yet, with the same id. Webhooks whose next attempt is due later are sent by a further job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SendWebhooks {
    /// The batch of the deliveries.
    pub(crate) batch: Uuid,
}

impl Job for SendWebhooks {
    const KIND: &'static str = "business_rules.webhook.send";
    const QUEUE: Queue = Queue::Network;

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, tenant, now) = (work.call().clone(), work.tenant(), work.now());
        let sender = call.provided::<Sender>()?;
        let due = deliveries::due(&call, tenant, self.batch, now, AT_ONCE).await?;
        if due.is_empty() {
            return self.finish(work).await;
        }
        if due.iter().any(|one| one.is_tenant_deleted) {
            for one in &due {
                self.note(work, one, Outcome::TenantDeleted).await?;
            }
            return Ok(Step::More);
        }
        let signer = Signer::of(&call, tenant).await?;
        let opened = header_values::open(&call, tenant, due.iter().map(|one| &one.headers)).await?;
        let send = |one| attempt(&sender, (&signer, &opened), one, now);
        let mut sent: FuturesUnordered<_> = due.iter().map(send).collect();
        let mut is_delayed = false;
        while let Some((one, outcome)) = sent.next().await {
            is_delayed |= outcome == Outcome::Busy;
            self.note(work, one, outcome).await?;
        }
        // The others have their turn before the rest of a batch whose host is busy.
        if is_delayed {
            return self.finish(work).await;
        }
        Ok(Step::More)
    }
}

/// Sends a webhook. Holds no connection to the database.
async fn attempt<'a>(
    sender: &Sender,
    (signer, opened): (&Signer, &OpenedValues),
    due: &'a Due,
    now: Timestamp,
) -> (&'a Due, Outcome) {
    let outcome = match request(signer, opened, due, now) {
        Ok(request) => sender.send(request, now).await,
        Err(outcome) => outcome,
    };
    (due, outcome)
}

/// Returns the signed request.
///
/// # Errors
/// [`Outcome::Invalid`] if an address or a header of the delivery is not valid, or a sealed value does not exist any more;
/// [`Outcome::UnreadableSecret`] if a sealed value or all secrets for signatures can't be opened.
fn request(
    signer: &Signer,
    opened: &OpenedValues,
    due: &Due,
    now: Timestamp,
) -> std::result::Result<Request<Vec<u8>>, Outcome> {
    let seconds = now.get().unix_timestamp();
    let signature = signer.sign(due.id, seconds, &due.body);
    let signature = signature.ok_or(Outcome::UnreadableSecret)?;
    let mut request = Request::builder()
        .method(due.method.as_str())
        .uri(due.url.as_str())
        .header("webhook-id", due.id.to_string())
        .header("webhook-timestamp", seconds)
        .header("webhook-signature", signature);
    let own = due.headers.as_object();
    let is_set = |name: &str| own.is_some_and(|own| own.contains_key(name));
    if !is_set(CONTENT_TYPE.as_str()) && !due.body.is_empty() {
        request = request.header(CONTENT_TYPE, "application/json");
    }
    if !is_set(USER_AGENT.as_str()) {
        request = request.header(USER_AGENT, "Backoffice-Webhooks");
    }
    for (name, value) in own.into_iter().flatten() {
        let value = if let Some(id) = header_values::referenced(value) {
            let opened = opened.get(&id).ok_or(Outcome::Invalid)?;
            let opened = opened.as_ref().ok_or(Outcome::UnreadableSecret)?;
            let secret = HeaderValue::from_bytes(opened.expose_secret());
            let mut secret = secret.map_err(|_| Outcome::Invalid)?;
            secret.set_sensitive(true);
            secret
        } else {
            let text = value.as_str().ok_or(Outcome::Invalid)?;
            HeaderValue::from_str(text).map_err(|_| Outcome::Invalid)?
        };
        request = request.header(name, value);
    }
    let body = due.body.clone().into_bytes();
    request.body(body).map_err(|_| Outcome::Invalid)
}

impl SendWebhooks {
    async fn note(&self, work: &mut Work<'_>, due: &Due, outcome: Outcome) -> Result<()> {
        let (call, tenant, now) = (work.call().clone(), work.tenant(), work.now());
        let cursor = work.cursor() + 1;
        let state = outcome.state(due.attempts, now, call.platform().ids());
        metrics::counter!("webhook_deliveries_total", "outcome" => state.label).increment(1);
        let mut chunk = work.begin(&Scope::tenant(tenant)).await?;
        // A deleted tenant has no users to whom a failure could be announced.
        let is_announced = state.status == "failed" && outcome != Outcome::TenantDeleted;
        let failed = is_announced.then(|| state.error.clone().unwrap_or_default());
        deliveries::note(chunk.connection(), (tenant, self.batch, now), &[(due, state)]).await?;
        if let Some(reason) = failed {
            report(chunk.connection(), &call, tenant, due, &reason).await?;
        }
        events::touch(chunk.connection(), &call, tenant, &[DELIVERY]).await?;
        chunk.advance(cursor).await
    }

    /// Ends the job, and enqueues the next one if webhooks are to be sent again.
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

/// Announces that a webhook was not delivered.
async fn report(
    connection: &mut diesel_async::AsyncPgConnection,
    call: &Call,
    tenant: Uuid,
    due: &Due,
    reason: &str,
) -> Result<()> {
    let rule = FailedRule::find(connection, tenant, due.rule_id, due.organization_id).await?;
    let mut leavings = Leavings::default();
    let reason = format!("webhook: {reason}");
    failure::report(connection, tenant, &rule, &reason, &mut leavings).await?;
    settle::write_last(connection, call, tenant, &leavings).await
}
