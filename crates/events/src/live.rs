//! A stream while it is open.

use std::collections::VecDeque;
use std::time::Duration;

use actix_web::web::Bytes;
use backoffice_core::acl::{Catalogue, matches};
use backoffice_core::events::{Extent, Listening, StoredEvent, between, extent};
use backoffice_core::http::Standing;
use backoffice_core::identity::Identity;
use backoffice_core::{Error, Result, Scope};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use tokio::time::{Instant, sleep, sleep_until};
use uuid::Uuid;

use crate::message;
use crate::seats::Seat;

const BATCH: i64 = 100;
/// Wait between looks at the outbox when nobody rings: other nodes announce things too.
const POLL: Duration = Duration::from_secs(1);
/// Commits of this long are looked at together.
const GATHER: Duration = Duration::from_millis(50);
/// The longest silence, and the longest time without a look at the credential.
const COMMENT: Duration = Duration::from_secs(20);

/// Where a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// Events behind this number are sent.
    seq: i64,
    /// Whether the client has missed something for good.
    reset: bool,
}

impl Start {
    /// Behind the number that the client knows, if everything behind it is kept; else at the present end.
    pub(crate) fn of(known: Option<&str>, extent: Extent) -> Self {
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
    standing: Standing,
    seat: Seat,
    bell: Listening,
    tenant: Uuid,
    names: Option<Vec<String>>,
    seq: i64,
    ready: VecDeque<Bytes>,
    spoke: Instant,
    checked: Instant,
}

/// Whether there may be more at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    More,
    Nothing,
    End,
}

impl Live {
    pub(crate) fn new(standing: Standing, seat: Seat, tenant: Uuid, names: Option<Vec<String>>, start: Start) -> Self {
        let bell = standing.call().platform().event_bell().listen();
        let mut ready = VecDeque::from([message::comment()]);
        if start.reset {
            ready.push_back(message::reset(start.seq));
        }
        Self {
            standing,
            seat,
            bell,
            tenant,
            names,
            seq: start.seq,
            ready,
            spoke: Instant::now(),
            checked: Instant::now(),
        }
    }

    /// The body of the answer.
    pub(crate) fn into_pieces(self) -> BoxStream<'static, Result<Bytes>> {
        stream::unfold(self, |mut live| async move {
            let piece = live.next().await?;
            Some((Ok(piece), live))
        })
        .boxed()
    }

    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                self.spoke = Instant::now();
                return Some(piece);
            }
            if self.bell.is_closed() {
                return None;
            }
            match self.look().await {
                Ok(Found::More) => {}
                // The credential has been looked at by now.
                Ok(Found::Nothing) if self.spoke.elapsed() >= COMMENT => self.ready.push_back(message::comment()),
                Ok(Found::Nothing) => {
                    let comment_at = self.spoke + COMMENT;
                    tokio::select! {
                        () = self.seat.lost() => return None,
                        () = self.bell.heard() => sleep(GATHER).await,
                        () = sleep(POLL) => {}
                        () = sleep_until(comment_at) => {}
                    }
                }
                Ok(Found::End) | Err(Error::Refused(_)) => return None,
                Err(error) => {
                    tracing::debug!(%error, "a stream of events waits for the database");
                    sleep(POLL).await;
                    if self.spoke.elapsed() >= COMMENT {
                        self.ready.push_back(message::comment());
                    }
                }
            }
        }
    }

    /// Takes the next batch. The credential and the rights are checked after the end of the batch is known and before it is read, so that
    /// nothing is sent that came after a right was withdrawn.
    async fn look(&mut self) -> Result<Found> {
        let call = self.standing.call();
        let reach = Scope::tenant(self.tenant);
        let last = {
            let mut connection = call.database().read(&reach).await?;
            extent(&mut connection, self.tenant).await?.last
        };
        if last <= self.seq && self.checked.elapsed() < COMMENT {
            return Ok(Found::Nothing);
        }
        let (identity, scope) = self.standing.check().await?;
        self.checked = Instant::now();
        if scope.tenant != Some(self.tenant) {
            return Ok(Found::End);
        }
        if last <= self.seq {
            return Ok(Found::Nothing);
        }
        let mut connection = call.database().read(&reach).await?;
        let events = between(&mut connection, self.tenant, self.seq, last, BATCH).await?;
        let full = i64::try_from(events.len()).unwrap_or(BATCH) >= BATCH;
        self.seq = events.last().filter(|_| full).map_or(last, |event| event.seq);
        let catalogue = call.platform().catalogue();
        let shown = events
            .iter()
            .filter(|event| self.wants(event) && may_see(event, &identity, &scope, catalogue));
        let messages: Vec<Bytes> = shown.map(message::event).collect();
        self.ready.extend(messages);
        Ok(Found::More)
    }

    fn wants(&self, event: &StoredEvent) -> bool {
        let wanted = |names: &Vec<String>| names.iter().any(|name| matches(name, &event.name));
        self.names.as_ref().is_none_or(wanted)
    }
}

/// Holders of its feature see an event, and its audience; one that names neither is everybody's.
fn may_see(event: &StoredEvent, identity: &Identity, scope: &Scope, catalogue: &Catalogue) -> bool {
    let by_right = match event.feature.as_deref() {
        Some(feature) => scope.reads_by(feature, event.organization_id, catalogue),
        None => event.audience_id.is_none(),
    };
    let is_meant = event.audience_id.is_some() && event.audience_id == identity.id;
    event.browser && scope.reads_organization(event.organization_id) && (by_right || is_meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_resumes_where_everything_behind_is_kept() {
        let extent = Extent { last: 9, removed: 4 };
        let start = |known| Start::of(known, extent);
        let at = |seq, reset| Start { seq, reset };

        assert_eq!((start(None), start(Some(""))), (at(9, false), at(9, false)));
        assert_eq!((start(Some("4")), start(Some("9"))), (at(4, false), at(9, false)));
        assert_eq!((start(Some("3")), start(Some("10"))), (at(9, true), at(9, true)));
        assert_eq!(start(Some("x")), at(9, true));
    }
}
