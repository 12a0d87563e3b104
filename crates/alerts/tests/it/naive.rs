//! The rules of alerts once more, as plainly as possible: pairs instead of a sweep, scans instead of indexes. The module's own rules are compared with
//! these.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_alerts::engine::{LiveAssignment, SubjectFacts};
use backoffice_core::Timestamp;
use time::Date;
use uuid::Uuid;

/// A conflict: family and key, kind, assignments, end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NaiveConflict {
    pub(crate) family: &'static str,
    /// Window, job site or assignment; none for groups and subjects.
    pub(crate) about: Option<Uuid>,
    pub(crate) kind: &'static str,
    pub(crate) start_at: Timestamp,
    pub(crate) assignments: Vec<Uuid>,
    pub(crate) sites: BTreeSet<Uuid>,
    pub(crate) expires_at: Timestamp,
}

fn conflict(
    family: &'static str,
    kind: &'static str,
    about: Option<Uuid>,
    of: &[&LiveAssignment],
    expires_at: Timestamp,
) -> NaiveConflict {
    let mut of: Vec<_> = of.iter().map(|one| one.shown).collect();
    of.sort_by_key(|one| (one.start_at, one.id));
    NaiveConflict {
        family,
        about,
        kind,
        start_at: of[0].start_at,
        sites: of.iter().map(|one| one.job_site).collect(),
        assignments: of.iter().map(|one| one.id).collect(),
        expires_at,
    }
}

fn overlap(a: &LiveAssignment, b: &LiveAssignment) -> Option<Timestamp> {
    let start = a.shown.start_at.max(b.shown.start_at);
    let end = a.shown.end_at.min(b.shown.end_at);
    (start < end).then_some(end)
}

/// Returns the conflicts of a subject at an instant, sorted.
pub(crate) fn conflicts(facts: &SubjectFacts, now: Timestamp) -> Vec<NaiveConflict> {
    let live: Vec<&LiveAssignment> = facts.assignments.iter().filter(|one| one.shown.end_at > now).collect();
    let mut found = groups(&live);
    for window in &facts.windows {
        let mut met = Vec::new();
        let mut until = None;
        for one in &live {
            let (start, end) = (
                one.shown.start_at.max(window.start_at),
                one.shown.end_at.min(window.end_at),
            );
            if start < end {
                met.push(*one);
                until = until.max(Some(end));
            }
        }
        if let Some(until) = until {
            found.push(conflict(
                "subject_unavailable",
                "subject_unavailable",
                Some(window.id),
                &met,
                until,
            ));
        }
    }
    let latest = |of: &[&LiveAssignment]| of.iter().map(|one| one.shown.end_at).max();
    if let (true, Some(until)) = (facts.is_inactive, latest(&live)) {
        found.push(conflict("subject_inactive", "subject_inactive", None, &live, until));
    }
    for (id, site) in &facts.sites {
        let concerned: Vec<&LiveAssignment> = live
            .iter()
            .filter(|one| one.shown.job_site == *id)
            .filter(|one| {
                site.is_closed
                    || days(one).iter().any(|day| {
                        site.start.is_some_and(|start| *day < start)
                            || site.end_exclusive.is_some_and(|end| *day >= end)
                    })
            })
            .copied()
            .collect();
        if let Some(until) = latest(&concerned) {
            found.push(conflict(
                "job_site_closed",
                "job_site_closed",
                Some(*id),
                &concerned,
                until,
            ));
        }
    }
    for one in &live {
        let is_off =
            |day: &Date| facts.off_days.weekdays.contains(&day.weekday()) || facts.off_days.holidays.contains(day);
        if days(one).iter().all(is_off) {
            found.push(conflict(
                "non_working_day",
                "non_working_day",
                Some(one.shown.id),
                &[one],
                one.shown.end_at,
            ));
        }
    }
    found.retain(|one| one.expires_at > now);
    found.sort();
    found
}

fn days(one: &LiveAssignment) -> Vec<Date> {
    let mut day = one.first_day;
    let mut days = vec![day];
    while day < one.last_day {
        day = day.next_day().expect("a day");
        days.push(day);
    }
    days
}

/// Joins assignments that overlap until nothing changes.
fn groups(live: &[&LiveAssignment]) -> Vec<NaiveConflict> {
    let mut label: Vec<usize> = (0..live.len()).collect();
    for _ in 0..live.len() {
        for a in 0..live.len() {
            for b in 0..live.len() {
                if overlap(live[a], live[b]).is_some() {
                    let smallest = label[a].min(label[b]);
                    (label[a], label[b]) = (smallest, smallest);
                }
            }
        }
    }
    let mut members: BTreeMap<usize, Vec<&LiveAssignment>> = BTreeMap::new();
    for (index, label) in label.iter().enumerate() {
        members.entry(*label).or_default().push(live[index]);
    }
    let mut found = Vec::new();
    for group in members.values().filter(|group| group.len() >= 2) {
        let sites: BTreeSet<Uuid> = group.iter().map(|one| one.shown.job_site).collect();
        let kind = match sites.len() {
            1 => "subject_overlap_same_site",
            _ => "subject_overlap_different_sites",
        };
        let pairs = group.iter().flat_map(|a| group.iter().map(move |b| (a, b)));
        let ends = pairs
            .filter(|(a, b)| a.shown.id != b.shown.id)
            .filter_map(|(a, b)| overlap(a, b));
        found.push(conflict("overlap", kind, None, group, ends.max().expect("an overlap")));
    }
    found
}

/// An open alert of the model, with the instant since which its marks count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NaiveAlert {
    pub(crate) id: Uuid,
    pub(crate) occurred_at: Timestamp,
    pub(crate) conflict: NaiveConflict,
}

/// Returns the alerts that are open after the facts have changed to these. `new_id` names a new alert after its conflict.
pub(crate) fn next(
    open: &[NaiveAlert],
    conflicts: &[NaiveConflict],
    live: &BTreeSet<Uuid>,
    now: Timestamp,
    new_id: impl Fn(&NaiveConflict) -> Uuid,
) -> Vec<NaiveAlert> {
    // An alert that has ended by itself does not come back.
    let open: Vec<&NaiveAlert> = open.iter().filter(|alert| alert.conflict.expires_at > now).collect();
    let seen = |alert: &NaiveAlert| -> BTreeSet<Uuid> {
        alert
            .conflict
            .assignments
            .iter()
            .filter(|id| live.contains(id))
            .copied()
            .collect()
    };
    let mut pairs: Vec<(&NaiveAlert, &NaiveConflict)> = Vec::new();
    loop {
        let is_used = |alert: &NaiveAlert, conflict: &NaiveConflict| {
            pairs.iter().any(|(a, c)| a.id == alert.id || *c == conflict)
        };
        let shared = |alert: &NaiveAlert, conflict: &NaiveConflict| {
            let seen = seen(alert);
            conflict.assignments.iter().filter(|id| seen.contains(id)).count()
        };
        let mut best: Option<(&NaiveAlert, &NaiveConflict)> = None;
        for alert in open.iter().copied().filter(|alert| alert.conflict.family == "overlap") {
            for conflict in conflicts.iter().filter(|conflict| conflict.family == "overlap") {
                if shared(alert, conflict) == 0 || is_used(alert, conflict) {
                    continue;
                }
                let is_better = best.is_none_or(|(a, c)| {
                    let (mine, other) = (shared(alert, conflict), shared(a, c));
                    mine > other
                        || (mine == other
                            && (alert.occurred_at, alert.id, conflict.start_at) < (a.occurred_at, a.id, c.start_at))
                });
                if is_better {
                    best = Some((alert, conflict));
                }
            }
        }
        match best {
            Some(pair) => pairs.push(pair),
            None => break,
        }
    }
    for conflict in conflicts.iter().filter(|conflict| conflict.family != "overlap") {
        let same =
            |alert: &&&NaiveAlert| alert.conflict.family == conflict.family && alert.conflict.about == conflict.about;
        if let Some(alert) = open.iter().find(same) {
            pairs.push((*alert, conflict));
        }
    }
    let continued = |conflict: &NaiveConflict| match pairs.iter().find(|(_, c)| *c == conflict) {
        None => NaiveAlert {
            id: new_id(conflict),
            occurred_at: now,
            conflict: conflict.clone(),
        },
        Some((alert, _)) => {
            let seen = seen(alert);
            let has_grown = conflict.assignments.iter().any(|id| !seen.contains(id));
            NaiveAlert {
                id: alert.id,
                occurred_at: if has_grown { now } else { alert.occurred_at },
                conflict: conflict.clone(),
            }
        }
    };
    conflicts.iter().map(continued).collect()
}
