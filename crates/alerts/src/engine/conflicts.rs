//! The conflicts of a subject.

use std::collections::BTreeMap;

use backoffice_core::Timestamp;
use time::{Date, Duration};
use uuid::Uuid;

use super::overlaps::overlaps;
use super::{Conflict, Identity, LiveAssignment, OffDays, ShownAssignment, SiteDays, SubjectFacts};
use crate::kinds::Kind;

/// Returns the conflicts of a subject that have not ended, in a fixed order; of incomplete facts, those of their part.
#[must_use]
pub fn conflicts(facts: &SubjectFacts, now: Timestamp) -> Vec<Conflict> {
    let mut live: Vec<&LiveAssignment> = facts.assignments.iter().filter(|one| one.shown.end_at > now).collect();
    live.sort_unstable_by_key(|one| one.shown);
    let shown: Vec<ShownAssignment> = live.iter().map(|one| one.shown).collect();
    let mut found = overlaps(&shown);
    found.extend(unavailable(facts, &shown));
    if facts.is_inactive && !shown.is_empty() {
        found.extend(until_latest_end(Kind::SubjectInactive, Identity::Subject, shown));
    }
    found.extend(closed_sites(facts, &live));
    found.extend(non_working_days(&facts.off_days, &live));
    found
        .retain(|conflict| conflict.expires_at > now && facts.part.as_ref().is_none_or(|part| part.contains(conflict)));
    found
}

/// A conflict that ends with the last of its assignments; `None` without an assignment.
fn until_latest_end(kind: Kind, identity: Identity, assignments: Vec<ShownAssignment>) -> Option<Conflict> {
    let expires_at = assignments.iter().map(|one| one.end_at).max()?;
    Some(Conflict {
        kind,
        identity,
        assignments,
        expires_at,
    })
}

/// More than an assignment may take: 366 days, of which one may have an hour more.
const LONGEST_ASSIGNMENT: Duration = Duration::days(367);

/// One conflict for each window that assignments meet.
fn unavailable(facts: &SubjectFacts, sorted: &[ShownAssignment]) -> Vec<Conflict> {
    let mut windows: Vec<_> = facts.windows.iter().collect();
    windows.sort_unstable_by_key(|window| (window.start_at, window.id));
    let conflict = |window: &&super::UnavailableInterval| {
        // Earlier assignments end before the window, later ones start after it.
        let earliest = window.start_at.before(LONGEST_ASSIGNMENT);
        let from = sorted.partition_point(|one| one.start_at < earliest);
        let until = sorted.partition_point(|one| one.start_at < window.end_at);
        let met: Vec<ShownAssignment> = sorted[from..until.max(from)]
            .iter()
            .filter(|one| one.meets(window.start_at, window.end_at))
            .copied()
            .collect();
        let expires_at = met.iter().map(|one| one.end_at.min(window.end_at)).max()?;
        Some(Conflict {
            kind: Kind::SubjectUnavailable,
            identity: Identity::Window(window.id),
            assignments: met,
            expires_at,
        })
    };
    windows.iter().filter_map(conflict).collect()
}

/// One conflict for each job site with assignments while it is closed, or on days outside of its dates.
fn closed_sites(facts: &SubjectFacts, sorted: &[&LiveAssignment]) -> Vec<Conflict> {
    let mut by_site: BTreeMap<Uuid, Vec<ShownAssignment>> = BTreeMap::new();
    for one in sorted {
        let site = facts.sites.get(&one.shown.job_site).copied().unwrap_or_default();
        if site.excludes(one.first_day, one.last_day) {
            by_site.entry(one.shown.job_site).or_default().push(one.shown);
        }
    }
    by_site
        .into_iter()
        .filter_map(|(site, concerned)| until_latest_end(Kind::JobSiteClosed, Identity::JobSite(site), concerned))
        .collect()
}

impl SiteDays {
    /// Whether work is impossible on any of these days.
    pub(crate) fn excludes(&self, first: Date, last: Date) -> bool {
        self.is_closed
            || self.start.is_some_and(|start| first < start)
            || self.end_exclusive.is_some_and(|end| last >= end)
    }
}

/// One conflict for each assignment that touches off days only.
fn non_working_days(off_days: &OffDays, sorted: &[&LiveAssignment]) -> Vec<Conflict> {
    sorted
        .iter()
        .filter(|one| off_days.contain_all(one.first_day, one.last_day))
        .filter_map(|one| until_latest_end(Kind::NonWorkingDay, Identity::Assignment(one.shown.id), vec![one.shown]))
        .collect()
}

impl OffDays {
    fn contain_all(&self, first: Date, last: Date) -> bool {
        let mut day = first;
        loop {
            if !self.contains(day) {
                return false;
            }
            if day >= last {
                return true;
            }
            match day.next_day() {
                Some(next) => day = next,
                None => return true,
            }
        }
    }
}
