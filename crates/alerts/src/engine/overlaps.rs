//! Groups of overlapping assignments.

use backoffice_core::Timestamp;

use super::{Conflict, Identity, ShownAssignment};
use crate::kinds::Kind;

/// Returns a conflict for each connected component of two or more overlapping assignments. `sorted` has the assignments by start and id.
pub(super) fn overlaps(sorted: &[ShownAssignment]) -> Vec<Conflict> {
    let mut found = Vec::new();
    let mut first = 0;
    while first < sorted.len() {
        let (next, expires_at) = component(sorted, first);
        if let Some(expires_at) = expires_at {
            let group = &sorted[first..next];
            let site = group[0].job_site;
            let is_one_site = group.iter().all(|one| one.job_site == site);
            found.push(Conflict {
                kind: overlap_kind(is_one_site),
                identity: Identity::Group,
                assignments: group.to_vec(),
                expires_at,
            });
        }
        first = next;
    }
    found
}

pub(super) const fn overlap_kind(is_one_site: bool) -> Kind {
    if is_one_site {
        Kind::SubjectOverlapSameSite
    } else {
        Kind::SubjectOverlapDifferentSites
    }
}

/// Sweeps over the component that begins at `first`. Returns the index after it, and the end of the last overlap of any two of its assignments; `None`
/// for a single assignment.
///
/// The next assignment belongs to the component exactly if it starts before the latest end so far. Of its overlaps with earlier assignments, the one with
/// the assignment that has this latest end is the last to end.
fn component(sorted: &[ShownAssignment], first: usize) -> (usize, Option<Timestamp>) {
    let mut latest_end = sorted[first].end_at;
    let mut expires_at = None;
    let mut next = first + 1;
    while let Some(one) = sorted.get(next).filter(|one| one.start_at < latest_end) {
        expires_at = expires_at.max(Some(latest_end.min(one.end_at)));
        latest_end = latest_end.max(one.end_at);
        next += 1;
    }
    (next, expires_at)
}
