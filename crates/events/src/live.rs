//! An open stream.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Bytes;
use backoffice_core::acl::{Catalogue, matches};
use backoffice_core::events::{Extent, StoredEvent};
use backoffice_core::http::LiveCaller;
use backoffice_core::identity::Identity;
use backoffice_core::{Error, Result, Scope};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use uuid::Uuid;

use crate::feed::{Batch, Position, Reported, Subscription};
use crate::message;
use crate::slots::StreamSlot;

/// Wait before another attempt when the database could not be reached.
const RETRY: Duration = Duration::from_secs(1);
/// Revocations within this period are handled together. With the time until a node learns of a revocation the delay stays below a second.
const SETTLE: Duration = Duration::from_millis(200);
/// Maximum time without a message, and maximum time between checks of the credential.
const COMMENT: Duration = Duration::from_secs(20);

/// The start of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// Events after this number are sent.
    seq: i64,
    /// Whether the client has missed events that are no longer stored.
    reset: bool,
}

impl Start {
    /// Starts after the number that the client knows, if all later events are stored; else at the current end.
    pub(crate) fn after(known: Option<&str>, extent: Extent) -> Self {
        let last = Self {
            seq: extent.last,
            reset: false,
        };
        let Some(known) = known.map(str::trim).filter(|known| !known.is_empty()) else {
            return last;
        };
        match known.parse() {
            Ok(seq) if (extent.removed..=extent.last).contains(&seq) => Self { seq, reset: false },
            _ => Self { reset: true, ..last },
        }
    }
}

/// An open stream.
#[derive(Debug)]
pub(crate) struct Live {
    live_caller: LiveCaller,
    slot: StreamSlot,
    subscription: Subscription,
    /// Notifies when the credential may have ended.
    changes: Option<watch::Receiver<()>>,
    tenant: Uuid,
    names: Option<Vec<String>>,
    /// Every event up to this number has been sent, or was not for this stream.
    seq: i64,
    /// The stream reads the events up to this position itself.
    missed: Position,
    ready: VecDeque<Bytes>,
    spoke: Instant,
    /// Time of the last check of the credential; `None` before the first check of the stream.
    checked: Option<Instant>,
    /// Time of the next check because of a revocation.
    recheck_at: Option<Instant>,
}

/// Whether the stream continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    End,
}

impl Live {
    pub(crate) fn new(
        live_caller: LiveCaller,
        slot: StreamSlot,
        subscription: Subscription,
        tenant: Uuid,
        names: Option<Vec<String>>,
        start: Start,
    ) -> Self {
        let mut ready = VecDeque::from([message::comment()]);
        if start.reset {
            ready.push_back(message::reset(start.seq));
        }
        Self {
            changes: live_caller.changes(),
            missed: subscription.position(),
            live_caller,
            slot,
            subscription,
            tenant,
            names,
            seq: start.seq,
            ready,
            spoke: Instant::now(),
            checked: None,
            recheck_at: None,
        }
    }

    /// Returns the body of the response.
    pub(crate) fn into_pieces(self) -> BoxStream<'static, Result<Bytes>> {
        stream::unfold(self, |mut live| async move {
            let piece = live.next().await?;
            Some((Ok(piece), live))
        })
        .boxed()
    }

    /// Returns the next part of the body; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                self.spoke = Instant::now();
                return Some(piece);
            }
            match self.step().await {
                Ok(Next::GoOn) => {}
                Ok(Next::End) | Err(Error::Rejected(_)) => return None,
                Err(error) => {
                    tracing::debug!(%error, "event stream waiting for the database");
                    // The stream reads the events up to here itself, once the caller has been checked.
                    self.miss();
                    sleep(RETRY).await;
                    self.comment_if_due();
                }
            }
        }
    }

    /// Reads the events that the stream has missed, or waits for the next event, revocation or deadline.
    async fn step(&mut self) -> Result<Next> {
        let Some(checked) = self.checked else {
            return self.check().await;
        };
        let position = self.subscription.position();
        if position.returns != self.missed.returns {
            self.reset(position);
            return Ok(Next::GoOn);
        }
        if self.seq < self.missed.reached {
            let call = self.live_caller.call();
            let batch = Batch::read(&call.runtime, self.tenant, self.seq, self.missed).await?;
            return self.report(&batch).await;
        }
        let silent_until = self.spoke.min(checked) + COMMENT;
        let due = self.recheck_at.map_or(silent_until, |at| at.min(silent_until));
        tokio::select! {
            () = self.slot.lost() => Ok(Next::End),
            news = self.subscription.news.recv() => match news {
                Ok(batch) => self.accept(&batch).await,
                Err(RecvError::Lagged(_)) => {
                    self.miss();
                    Ok(Next::GoOn)
                }
                Err(RecvError::Closed) => Ok(Next::End),
            },
            () = changed(&mut self.changes) => {
                self.recheck_at.get_or_insert_with(|| Instant::now() + SETTLE);
                Ok(Next::GoOn)
            }
            () = self.live_caller.expired() => self.check().await,
            () = sleep_until(due) => {
                self.comment_if_due();
                let is_due = self.recheck_at.is_some_and(|at| at <= Instant::now()) || checked.elapsed() >= COMMENT;
                if is_due { self.check().await } else { Ok(Next::GoOn) }
            }
        }
    }

    fn comment_if_due(&mut self) {
        if self.spoke.elapsed() >= COMMENT {
            self.ready.push_back(message::comment());
        }
    }

    /// Starts to read the events itself that have been sent to all streams. The numbers may have gone back since: the next step resets the stream then.
    fn miss(&mut self) {
        self.missed.reached = self.subscription.position().reached;
    }

    /// Continues at the end of a log whose numbers have gone back: what the client knows after it no longer exists.
    fn reset(&mut self, position: Position) {
        self.seq = position.reached;
        self.missed = position;
        self.ready.push_back(message::reset(self.seq));
    }

    /// Reports a batch that was read for all streams, unless events between it and the last reported one are missing. Batches from before or after
    /// a return of the numbers are not the stream's: the next step resets it.
    async fn accept(&mut self, batch: &Batch) -> Result<Next> {
        if batch.returns != self.missed.returns {
            return Ok(Next::GoOn);
        }
        if batch.behind > self.seq {
            self.missed.reached = batch.up_to;
            return Ok(Next::GoOn);
        }
        self.report(batch).await
    }

    /// Queues the events of a batch that are visible to the caller. Features are checked after the batch was read, so that no event is sent that
    /// occurred after a feature was withdrawn.
    async fn report(&mut self, batch: &Batch) -> Result<Next> {
        let seq = self.seq;
        let requested: Vec<&Reported> = batch
            .events
            .iter()
            .filter(|reported| reported.event.seq > seq && self.wants(&reported.event))
            .collect();
        if !requested.is_empty() {
            let Some((identity, scope)) = self.caller().await? else {
                return Ok(Next::End);
            };
            let call = self.live_caller.call();
            let catalogue = call.platform().catalogue();
            let shown = requested
                .into_iter()
                .filter(|reported| may_see(&reported.event, &identity, &scope, catalogue));
            self.ready.extend(shown.map(|reported| reported.message.clone()));
        }
        self.seq = self.seq.max(batch.up_to);
        Ok(Next::GoOn)
    }

    async fn check(&mut self) -> Result<Next> {
        let caller = self.caller().await?;
        Ok(if caller.is_some() { Next::GoOn } else { Next::End })
    }

    /// Revalidates the caller and returns their identity and scope; `None` if the scope has another tenant now.
    async fn caller(&mut self) -> Result<Option<(Arc<Identity>, Scope)>> {
        let (identity, scope) = self.live_caller.check().await?;
        self.checked = Some(Instant::now());
        self.recheck_at = None;
        Ok((scope.tenant == Some(self.tenant)).then_some((identity, scope)))
    }

    fn wants(&self, event: &StoredEvent) -> bool {
        let requested = |names: &Vec<String>| names.iter().any(|name| matches(name, &event.name));
        self.names.as_ref().is_none_or(requested)
    }
}

/// Waits for the next change; never returns without a source of changes.
async fn changed(changes: &mut Option<watch::Receiver<()>>) {
    if let Some(changes) = changes
        && changes.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

/// Returns whether the caller may see an event: holders of its feature and its audience may; an event without both is visible to every caller.
/// It must be in the caller's scope. An event without organization is always in the scope of its audience, like their own log entries. So is an event
/// without feature, whatever its organization: it is about something that belongs to its audience alone, such as their device.
fn may_see(event: &StoredEvent, identity: &Identity, scope: &Scope, catalogue: &Catalogue) -> bool {
    let by_right = match event.feature.as_deref() {
        Some(feature) => scope.reads_by(feature, event.organization_id, catalogue),
        None => event.audience_id.is_none(),
    };
    let is_meant = event.audience_id.is_some() && event.audience_id == identity.id;
    let is_own = is_meant && (event.organization_id.is_none() || event.feature.is_none());
    let is_in_scope = is_own || scope.reads_organization(event.organization_id);
    event.browser && is_in_scope && (by_right || is_meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_resumes_where_everything_behind_is_kept() {
        let extent = Extent { last: 9, removed: 4 };
        let start = |known| Start::after(known, extent);
        let at = |seq, reset| Start { seq, reset };

        assert_eq!((start(None), start(Some(""))), (at(9, false), at(9, false)));
        assert_eq!((start(Some("4")), start(Some("9"))), (at(4, false), at(9, false)));
        assert_eq!((start(Some("3")), start(Some("10"))), (at(9, true), at(9, true)));
        assert_eq!(start(Some("x")), at(9, true));
    }
}
