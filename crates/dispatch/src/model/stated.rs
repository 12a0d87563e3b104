//! Assignments as they were stated: what requests contain, and what snapshots keep.

use backoffice_core::{Placement, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Assignment;
use backoffice_calendar::Day;

/// An assignment without what is derived from it. One that was given by dates has no instants: these are derived in the organization's time
/// zone whenever it is stored, so that they are never compared, and a new time zone moves them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatedAssignment {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// The job site.
    pub job_site_id: Uuid,
    /// Type of the subject: `worker`, `equipment` or `vehicle`.
    pub subject_type: String,
    /// The resource that is assigned.
    pub subject_id: Uuid,
    /// The start; `None` if it follows from the dates.
    pub start_at: Option<Timestamp>,
    /// The end; `None` if it follows from the dates.
    pub end_at: Option<Timestamp>,
    /// The first day.
    pub start_date: Option<Day>,
    /// The day after the last one.
    pub end_date_exclusive: Option<Day>,
    /// `planned`, `confirmed`, `cancelled` or `completed`.
    pub status: String,
    /// At most 1000 characters.
    pub note: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl StatedAssignment {
    /// Creates a planned assignment without content.
    pub(crate) fn blank(placement: Placement, id: Uuid, now: Timestamp) -> Self {
        Self {
            tenant_id: placement.tenant,
            id,
            organization_id: placement.organization,
            job_site_id: Uuid::nil(),
            subject_type: String::new(),
            subject_id: Uuid::nil(),
            start_at: None,
            end_at: None,
            start_date: None,
            end_date_exclusive: None,
            status: "planned".to_owned(),
            note: None,
            created_at: now,
            updated_at: now,
        }
    }

    /// Returns the dates, if it was given by dates.
    pub(crate) fn dates(&self) -> Option<(Day, Day)> {
        self.start_date.zip(self.end_date_exclusive)
    }

    /// Returns the row with this interval.
    pub(crate) fn at(self, (start_at, end_at): (Timestamp, Timestamp)) -> Assignment {
        Assignment {
            tenant_id: self.tenant_id,
            id: self.id,
            organization_id: self.organization_id,
            job_site_id: self.job_site_id,
            subject_type: self.subject_type,
            subject_id: self.subject_id,
            start_at,
            end_at,
            start_date: self.start_date,
            end_date_exclusive: self.end_date_exclusive,
            status: self.status,
            note: self.note,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

impl From<Assignment> for StatedAssignment {
    fn from(row: Assignment) -> Self {
        let by_dates = row.start_date.is_some();
        Self {
            tenant_id: row.tenant_id,
            id: row.id,
            organization_id: row.organization_id,
            job_site_id: row.job_site_id,
            subject_type: row.subject_type,
            subject_id: row.subject_id,
            start_at: (!by_dates).then_some(row.start_at),
            end_at: (!by_dates).then_some(row.end_at),
            start_date: row.start_date,
            end_date_exclusive: row.end_date_exclusive,
            status: row.status,
            note: row.note,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}
