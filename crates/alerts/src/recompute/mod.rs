//! Recomputes the alerts of subjects, in the transaction of what has changed.
//!
//! The caller has locked the subjects, so the rows that are read here stay as they are until the end of the transaction, and no other transaction
//! computes the same alerts. The number of statements does not depend on the number of subjects.

mod facts;
mod observer;
mod subjects;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use backoffice_calendar::Subject;
use backoffice_core::events::Event;
use backoffice_core::{Call, Result, Timestamp};
use diesel_async::AsyncPgConnection;
use uuid::Uuid;

use crate::engine::{self, Outcome, ShownAssignment};
use crate::events::{self, Announced};
pub(crate) use facts::StoredAlert;
use facts::{ChangedPart, SubjectWithFacts};
use write::Writes;
pub(crate) use write::WrittenAlert;

pub(crate) use observer::{ALERTS_OF, RECOMPUTE, RECOMPUTE_EXTENDED};
pub(crate) use subjects::{After, Behind, find_behind};

/// Where and when alerts are recomputed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment<'a> {
    pub(crate) call: &'a Call,
    pub(crate) tenant: Uuid,
    pub(crate) now: Timestamp,
}

/// What a recomputation has written.
#[derive(Debug, Default)]
pub(crate) struct Recomputed {
    /// The events to emit with the transaction.
    pub(crate) events: Vec<Event>,
    /// Whether rows have changed.
    pub(crate) has_changes: bool,
    /// Alerts that differed from the facts although no time has passed for them.
    pub(crate) differences: usize,
    /// The open alerts of each changed assignment.
    alerts_of: AlertsOfChanged,
}

/// The ids of the open alerts that contain each of some assignments.
type AlertsOfChanged = BTreeMap<Uuid, BTreeSet<Uuid>>;

impl Recomputed {
    /// Adds an open alert to those of its assignments that have changed.
    fn add_alert<'a>(&mut self, alert: Uuid, assignments: impl IntoIterator<Item = &'a ShownAssignment>) {
        for one in assignments {
            if let Some(alerts) = self.alerts_of.get_mut(&one.id) {
                alerts.insert(alert);
            }
        }
    }
}

/// Recomputes all alerts of these subjects, which the caller has locked.
pub(crate) async fn recompute(
    connection: &mut AsyncPgConnection,
    moment: Moment<'_>,
    subjects: &[Subject],
) -> Result<Recomputed> {
    recompute_changed(connection, moment, subjects, &[], AlertsOfChanged::new()).await
}

/// Recomputes all alerts of the first subjects, and of the others those that their changes concern. The caller has locked all of them. Adds
/// the open alerts of the assignments in `alerts_of`, whose subjects are among these.
#[expect(clippy::disallowed_methods, reason = "measures a duration")]
async fn recompute_changed(
    connection: &mut AsyncPgConnection,
    moment: Moment<'_>,
    subjects: &[Subject],
    parts: &[(Subject, ChangedPart)],
    alerts_of: AlertsOfChanged,
) -> Result<Recomputed> {
    let started = Instant::now();
    let (mut facts, mut whole) = (Vec::new(), subjects.to_vec());
    if !parts.is_empty() {
        let (complete, others) = SubjectWithFacts::read_parts(connection, moment, parts).await?;
        facts = complete;
        whole.extend(others);
    }
    if !whole.is_empty() {
        facts.extend(SubjectWithFacts::read(connection, moment, &whole).await?);
    }
    let recomputed = Recomputed {
        alerts_of,
        ..Recomputed::default()
    };
    if facts.is_empty() {
        return Ok(recomputed);
    }
    let (writes, recomputed) = compare(moment, facts, recomputed);
    writes.run(connection, moment).await?;
    metrics::histogram!("alerts_recompute_seconds").record(started.elapsed());
    Ok(recomputed)
}

/// Compares the stored alerts with the conflicts of all subjects, as far as these are known.
fn compare(moment: Moment<'_>, facts: Vec<SubjectWithFacts>, mut recomputed: Recomputed) -> (Writes, Recomputed) {
    let now = moment.now;
    let mut writes = Writes::default();
    for subject in facts {
        let (ended, open): (Vec<StoredAlert>, Vec<StoredAlert>) = subject
            .alerts
            .into_iter()
            .partition(|alert| alert.open.expires_at <= now);
        let by_id: BTreeMap<Uuid, StoredAlert> = open.iter().map(|alert| (alert.open.id, alert.clone())).collect();
        let conflicts = engine::conflicts(&subject.facts, now);
        let (changes, resolved) = engine::changes(open.into_iter().map(|alert| alert.open).collect(), conflicts, now);
        recomputed.differences += resolved.len();
        for alert in ended.iter().chain(resolved.iter().filter_map(|id| by_id.get(id))) {
            recomputed.events.push(events::resolved(&Announced::from_stored(alert)));
            writes.resolve(alert.open.id);
        }
        let mut unchanged: BTreeSet<Uuid> = by_id.keys().copied().collect();
        unchanged.retain(|id| !resolved.contains(id));
        for change in changes {
            let id = change.id.unwrap_or_else(|| moment.call.platform().ids().at(now));
            unchanged.remove(&id);
            recomputed.add_alert(id, &change.conflict.assignments);
            let alert = WrittenAlert {
                id,
                subject: subject.subject,
                subject_name: subject.name.clone(),
                outcome: change.outcome,
                conflict: change.conflict,
            };
            let announced = Announced::from_written(&alert);
            match alert.outcome {
                Outcome::Opened => recomputed.events.push(events::opened(&announced)),
                Outcome::Grown => recomputed.events.push(events::grown(&announced)),
                Outcome::Changed => recomputed.events.push(events::updated(&announced)),
                Outcome::Aged => {}
            }
            recomputed.differences += usize::from(alert.outcome != Outcome::Aged);
            writes.write(alert);
        }
        for alert in unchanged.iter().filter_map(|id| by_id.get(id)) {
            let goes_on = |one: &&ShownAssignment| one.end_at > now;
            recomputed.add_alert(alert.open.id, alert.open.assignments.iter().filter(goes_on));
            if alert.subject_name == subject.name {
                continue;
            }
            recomputed.differences += 1;
            recomputed.events.push(events::updated(&Announced::from_stored(alert)));
            writes.rename(alert.open.id, &subject.name);
        }
    }
    recomputed.has_changes = !writes.is_empty();
    (writes, recomputed)
}
