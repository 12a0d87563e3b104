//! How open alerts change to show the present conflicts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use backoffice_core::Timestamp;
use uuid::Uuid;

use super::overlaps::overlap_kind;
use super::{Conflict, Identity, ShownAssignment};
use crate::kinds::{Kind, OVERLAP};

/// An open alert of a subject, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAlert {
    /// The id.
    pub id: Uuid,
    /// The kind.
    pub kind: Kind,
    /// The stored identity.
    pub identity_key: String,
    /// Time at which it was opened, or at which the last assignment joined.
    pub occurred_at: Timestamp,
    /// The instant at which it ends by itself.
    pub expires_at: Timestamp,
    /// All stored assignments, also ended ones.
    pub assignments: Vec<ShownAssignment>,
}

impl OpenAlert {
    /// Returns the alert as it is seen now: without the assignments that have ended, and as the kind that follows from the others.
    fn seen(mut self, now: Timestamp) -> Self {
        self.assignments.retain(|one| one.end_at > now);
        self.assignments.sort_unstable();
        if let (OVERLAP, Some(first)) = (self.kind.family(), self.assignments.first()) {
            let site = first.job_site;
            self.kind = overlap_kind(self.assignments.iter().all(|one| one.job_site == site));
        }
        self
    }
}

/// What happens to an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The conflict is new.
    Opened,
    /// An assignment has joined the conflict: it counts as new, and everybody reads it again.
    Grown,
    /// The conflict has changed otherwise; marks stay.
    Changed,
    /// Only the stored kind follows what readers see already, because time has passed.
    Aged,
}

/// An alert to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The id; `None` for a new alert.
    pub id: Option<Uuid>,
    /// What happens to it.
    pub outcome: Outcome,
    /// The conflict that it shows from now on.
    pub conflict: Conflict,
}

/// Compares the conflicts of a subject with its open alerts. Returns the alerts to write and the ids of those whose conflict does not exist any more.
#[must_use]
pub fn changes(open: Vec<OpenAlert>, conflicts: Vec<Conflict>, now: Timestamp) -> (Vec<Change>, Vec<Uuid>) {
    let stored: HashMap<Uuid, Kind> = open.iter().map(|alert| (alert.id, alert.kind)).collect();
    let open: Vec<OpenAlert> = open.into_iter().map(|alert| alert.seen(now)).collect();
    let (groups, others): (Vec<OpenAlert>, Vec<OpenAlert>) =
        open.into_iter().partition(|alert| alert.kind.family() == OVERLAP);
    let kept = matched(&groups, &conflicts);
    let groups: BTreeMap<Uuid, OpenAlert> = groups.into_iter().map(|alert| (alert.id, alert)).collect();
    let mut others: BTreeMap<(&'static str, String), OpenAlert> = others
        .into_iter()
        .map(|alert| ((alert.kind.family(), alert.identity_key.clone()), alert))
        .collect();

    let mut resolved: BTreeSet<Uuid> = groups
        .keys()
        .chain(others.values().map(|alert| &alert.id))
        .copied()
        .collect();
    let mut written = Vec::new();
    for (index, conflict) in conflicts.into_iter().enumerate() {
        let alert = match conflict.identity {
            Identity::Group => kept.get(&index).and_then(|id| groups.get(id)).cloned(),
            identity => others.remove(&(conflict.kind.family(), identity.key(Uuid::nil()))),
        };
        let Some(alert) = alert else {
            written.push(Change {
                id: None,
                outcome: Outcome::Opened,
                conflict,
            });
            continue;
        };
        resolved.remove(&alert.id);
        let was_stored_as = stored.get(&alert.id).copied();
        if let Some(outcome) = outcome(&alert, was_stored_as, &conflict) {
            written.push(Change {
                id: Some(alert.id),
                outcome,
                conflict,
            });
        }
    }
    (written, resolved.into_iter().collect())
}

/// Returns what happens to an alert that goes on; `None` if nothing visible changes.
fn outcome(alert: &OpenAlert, was_stored_as: Option<Kind>, conflict: &Conflict) -> Option<Outcome> {
    let known: BTreeSet<Uuid> = alert.assignments.iter().map(|one| one.id).collect();
    if conflict.assignments.iter().any(|one| !known.contains(&one.id)) {
        return Some(Outcome::Grown);
    }
    let is_same = alert.kind == conflict.kind
        && alert.expires_at == conflict.expires_at
        && alert.assignments == conflict.assignments;
    match is_same {
        false => Some(Outcome::Changed),
        true if was_stored_as != Some(conflict.kind) => Some(Outcome::Aged),
        true => None,
    }
}

/// Matches groups with open alerts of overlaps: most shared assignments first, then the older alert, the smaller id, the earlier group. Each is used
/// once. Returns the ids of the alerts by the index of the conflict.
fn matched(open: &[OpenAlert], conflicts: &[Conflict]) -> HashMap<usize, Uuid> {
    let mut group_of: HashMap<Uuid, usize> = HashMap::new();
    for (index, conflict) in conflicts.iter().enumerate() {
        if conflict.identity == Identity::Group {
            group_of.extend(conflict.assignments.iter().map(|one| (one.id, index)));
        }
    }
    let mut pairs = Vec::new();
    for alert in open {
        let mut shared: BTreeMap<usize, usize> = BTreeMap::new();
        for one in &alert.assignments {
            if let Some(index) = group_of.get(&one.id) {
                *shared.entry(*index).or_default() += 1;
            }
        }
        // Groups are in the order of their first assignments, so their index stands for it.
        pairs.extend(
            shared
                .into_iter()
                .map(|(index, count)| (Reverse(count), alert.occurred_at, alert.id, index)),
        );
    }
    pairs.sort_unstable();
    let (mut used, mut found) = (BTreeSet::new(), HashMap::new());
    for (_, _, alert, index) in pairs {
        if !found.contains_key(&index) && used.insert(alert) {
            found.insert(index, alert);
        }
    }
    found
}
