//! The rules of alerts, without a database: which conflicts the facts about a subject have, and how the open alerts change to show them.
//!
//! [`conflicts`] sweeps over the assignments of one subject; [`changes`] compares the conflicts with the open alerts.

mod changes;
mod conflicts;
mod overlaps;

use std::collections::{BTreeMap, BTreeSet};

use backoffice_core::Timestamp;
use time::{Date, Weekday};
use uuid::Uuid;

use crate::kinds::Kind;

pub use changes::{Change, OpenAlert, Outcome, changes};
pub use conflicts::conflicts;

/// A live assignment: planned or confirmed, with an end in the future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveAssignment {
    /// The assignment with its job site and its interval.
    pub shown: ShownAssignment,
    /// The first local day that it touches.
    pub first_day: Date,
    /// The last local day that it touches.
    pub last_day: Date,
}

/// An assignment as an alert shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShownAssignment {
    /// The start, which belongs to the assignment.
    pub start_at: Timestamp,
    /// The id.
    pub id: Uuid,
    /// The end, which does not belong to the assignment.
    pub end_at: Timestamp,
    /// The job site.
    pub job_site: Uuid,
}

impl ShownAssignment {
    /// Whether both have an instant in common.
    pub(crate) fn meets(&self, start_at: Timestamp, end_at: Timestamp) -> bool {
        self.start_at < end_at && start_at < self.end_at
    }
}

/// An interval in which the subject is unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnavailableInterval {
    /// Id of the window.
    pub id: Uuid,
    /// The start, which belongs to the window.
    pub start_at: Timestamp,
    /// The end, which does not belong to the window.
    pub end_at: Timestamp,
}

/// When work is possible on a job site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SiteDays {
    /// Whether the site is closed or deleted.
    pub is_closed: bool,
    /// The first day; `None` = no limit.
    pub start: Option<Date>,
    /// The day after the last one; `None` = no limit.
    pub end_exclusive: Option<Date>,
}

/// The days on which an organization does not work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OffDays {
    /// Days of every week.
    pub weekdays: Vec<Weekday>,
    /// Single days.
    pub holidays: BTreeSet<Date>,
}

impl OffDays {
    fn contains(&self, day: Date) -> bool {
        self.weekdays.contains(&day.weekday()) || self.holidays.contains(&day)
    }
}

/// The facts about one subject on which its alerts depend.
#[derive(Debug, Clone, Default)]
pub struct SubjectFacts {
    /// Whether the resource is inactive or deleted.
    pub is_inactive: bool,
    /// Its live assignments, in any order.
    pub assignments: Vec<LiveAssignment>,
    /// The windows that its assignments may meet, in any order.
    pub windows: Vec<UnavailableInterval>,
    /// The job sites of its assignments. A job site that is not listed has no limits.
    pub sites: BTreeMap<Uuid, SiteDays>,
    /// The off days of its organization.
    pub off_days: OffDays,
    /// The conflicts that these facts are complete for; `None` = all.
    pub part: Option<Part>,
}

/// The conflicts of a subject that a change of some assignments and windows concerns. Those of windows are not listed: the facts contain exactly these windows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// The changed assignments.
    pub assignments: BTreeSet<Uuid>,
    /// The assignments of complete groups.
    pub groups: BTreeSet<Uuid>,
    /// Job sites with all assignments on days on which work is impossible there.
    pub sites: BTreeSet<Uuid>,
}

impl Part {
    fn contains(&self, conflict: &Conflict) -> bool {
        match conflict.identity {
            Identity::Group => conflict.assignments.iter().any(|one| self.groups.contains(&one.id)),
            Identity::Subject => false,
            Identity::Window(_) => true,
            Identity::JobSite(id) => self.sites.contains(&id),
            Identity::Assignment(id) => self.assignments.contains(&id),
        }
    }
}

/// What makes a conflict the same one as an open alert of its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Identity {
    /// The assignments that both have in common.
    Group,
    /// The subject.
    Subject,
    /// The window.
    Window(Uuid),
    /// The job site.
    JobSite(Uuid),
    /// The assignment.
    Assignment(Uuid),
}

impl Identity {
    /// Returns the stored key; the key of a group is the id of its alert.
    #[must_use]
    pub fn key(self, alert: Uuid) -> String {
        match self {
            Self::Group => alert.to_string(),
            Self::Subject => "subject".to_owned(),
            Self::Window(id) | Self::JobSite(id) | Self::Assignment(id) => id.to_string(),
        }
    }
}

/// A conflict: what an alert reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The kind.
    pub kind: Kind,
    /// The identity.
    pub identity: Identity,
    /// The concerned assignments by start and id, at least one.
    pub assignments: Vec<ShownAssignment>,
    /// The instant at which it ends by itself.
    pub expires_at: Timestamp,
}

impl Conflict {
    /// Returns the instant from which the assignments of an overlap that go on are all on one job site; `None` if they are from the beginning, or
    /// not before it ends.
    #[must_use]
    pub fn single_site_at(&self) -> Option<Timestamp> {
        if self.kind != Kind::SubjectOverlapDifferentSites {
            return None;
        }
        let mut last_ends: BTreeMap<Uuid, Timestamp> = BTreeMap::new();
        for one in &self.assignments {
            let last = last_ends.entry(one.job_site).or_insert(one.end_at);
            *last = one.end_at.max(*last);
        }
        // The last site but one ends then.
        let mut last_ends: Vec<Timestamp> = last_ends.into_values().collect();
        last_ends.sort_unstable();
        let at = last_ends
            .len()
            .checked_sub(2)
            .and_then(|index| last_ends.get(index).copied());
        at.filter(|at| *at < self.expires_at)
    }
}
