//! Rows of this module and of others that a recomputation reads.

use backoffice_calendar::{Day, Subject, Zone};
use backoffice_core::{Error, Result, Timestamp};
use diesel::QueryableByName;
use diesel::sql_types::{Array, BigInt, Bool, Date, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use uuid::Uuid;

use crate::engine::{LiveAssignment, OpenAlert, ShownAssignment, SiteDays, UnavailableInterval};
use crate::kinds::Kind;

/// An alert that is not resolved, with what does not follow from its conflict.
#[derive(Debug, Clone)]
pub(crate) struct StoredAlert {
    pub(crate) organization: Uuid,
    pub(crate) subject_type: String,
    pub(crate) subject_id: Uuid,
    pub(crate) subject_name: String,
    pub(crate) open: OpenAlert,
}

/// A subject with its row of `dispatch_resources`, if it has one; `number` is the position of the subject, from 1.
#[derive(Debug, QueryableByName)]
pub(super) struct SubjectRow {
    #[diesel(sql_type = BigInt)]
    pub(super) number: i64,
    #[diesel(sql_type = Text)]
    pub(super) name: String,
    #[diesel(sql_type = Bool)]
    pub(super) is_inactive: bool,
    /// The zone of the working calendar of the organization, if it has one and this is its first subject.
    #[diesel(sql_type = Nullable<Text>)]
    pub(super) time_zone: Option<String>,
    #[diesel(sql_type = Nullable<Array<Text>>)]
    pub(super) off_weekdays: Option<Vec<String>>,
    #[diesel(sql_type = Array<Date>)]
    pub(super) holidays: Vec<Day>,
}

/// A live row of `dispatch_assignments`.
#[derive(Debug, Clone, Copy, QueryableByName)]
pub(super) struct AssignmentRow {
    #[diesel(sql_type = BigInt)]
    pub(super) number: i64,
    #[diesel(sql_type = SqlUuid)]
    pub(super) id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(super) job_site_id: Uuid,
    #[diesel(sql_type = Timestamptz)]
    pub(super) start_at: Timestamp,
    #[diesel(sql_type = Timestamptz)]
    pub(super) end_at: Timestamp,
}

impl AssignmentRow {
    pub(super) fn live_in(self, zone: &Zone) -> LiveAssignment {
        let (first_day, last_day) = zone.local_dates(self.start_at, self.end_at);
        LiveAssignment {
            shown: ShownAssignment {
                start_at: self.start_at,
                id: self.id,
                end_at: self.end_at,
                job_site: self.job_site_id,
            },
            first_day,
            last_day,
        }
    }
}

/// A row of `calendar_windows` that a live assignment may meet.
#[derive(Debug, QueryableByName)]
pub(super) struct WindowRow {
    #[diesel(sql_type = BigInt)]
    pub(super) number: i64,
    #[diesel(sql_type = SqlUuid)]
    pub(super) id: Uuid,
    #[diesel(sql_type = Timestamptz)]
    pub(super) start_at: Timestamp,
    #[diesel(sql_type = Timestamptz)]
    pub(super) end_at: Timestamp,
}

/// A row of `dispatch_job_sites`.
#[derive(Debug, QueryableByName)]
pub(super) struct SiteRow {
    #[diesel(sql_type = SqlUuid)]
    pub(super) id: Uuid,
    #[diesel(embed)]
    pub(super) days: SiteDaysRow,
}

/// When work is possible on a job site.
#[derive(Debug, QueryableByName)]
pub(super) struct SiteDaysRow {
    #[diesel(sql_type = Bool)]
    is_closed: bool,
    #[diesel(sql_type = Nullable<Date>)]
    start_date: Option<Day>,
    #[diesel(sql_type = Nullable<Date>)]
    end_date_exclusive: Option<Day>,
}

impl SiteDaysRow {
    pub(super) fn days(&self) -> SiteDays {
        SiteDays {
            is_closed: self.is_closed,
            start: self.start_date.map(Day::get),
            end_exclusive: self.end_date_exclusive.map(Day::get),
        }
    }
}

/// A row of `alerts_alerts` that is not resolved, with its assignments as columns.
#[derive(Debug, QueryableByName)]
pub(super) struct AlertRow {
    #[diesel(sql_type = BigInt)]
    pub(super) number: i64,
    #[diesel(sql_type = SqlUuid)]
    pub(super) id: Uuid,
    #[diesel(sql_type = Text)]
    pub(super) kind: String,
    #[diesel(sql_type = Text)]
    pub(super) identity_key: String,
    #[diesel(sql_type = Text)]
    pub(super) subject_name: String,
    #[diesel(sql_type = Timestamptz)]
    pub(super) occurred_at: Timestamp,
    #[diesel(sql_type = Timestamptz)]
    pub(super) expires_at: Timestamp,
    #[diesel(sql_type = Array<SqlUuid>)]
    pub(super) assignments: Vec<Uuid>,
    #[diesel(sql_type = Array<SqlUuid>)]
    pub(super) job_sites: Vec<Uuid>,
    #[diesel(sql_type = Array<Timestamptz>)]
    pub(super) starts: Vec<Timestamp>,
    #[diesel(sql_type = Array<Timestamptz>)]
    pub(super) ends: Vec<Timestamp>,
}

/// A changed assignment that is live.
#[derive(Debug, QueryableByName)]
pub(super) struct ChangedRow {
    #[diesel(embed)]
    pub(super) assignment: AssignmentRow,
    #[diesel(embed)]
    pub(super) site: SiteDaysRow,
    /// Whether it meets another live assignment.
    #[diesel(sql_type = Bool)]
    pub(super) has_neighbours: bool,
    /// The windows that it meets.
    #[diesel(sql_type = Array<SqlUuid>)]
    pub(super) windows: Vec<Uuid>,
}

/// An assignment of a complete group.
#[derive(Debug, QueryableByName)]
pub(super) struct GroupRow {
    #[diesel(embed)]
    pub(super) assignment: AssignmentRow,
    /// Whether the group is complete.
    #[diesel(sql_type = Bool)]
    pub(super) is_complete: bool,
}

/// A window and an assignment that meets it.
#[derive(Debug, QueryableByName)]
pub(super) struct MetWindowRow {
    #[diesel(embed)]
    pub(super) assignment: AssignmentRow,
    #[diesel(sql_type = SqlUuid)]
    pub(super) window_id: Uuid,
    #[diesel(sql_type = Timestamptz)]
    pub(super) window_start_at: Timestamp,
    #[diesel(sql_type = Timestamptz)]
    pub(super) window_end_at: Timestamp,
}

/// A job site and an assignment that may be outside of its dates.
#[derive(Debug, QueryableByName)]
pub(super) struct ClosedSiteRow {
    #[diesel(embed)]
    pub(super) assignment: AssignmentRow,
    #[diesel(sql_type = SqlUuid)]
    pub(super) site_id: Uuid,
    #[diesel(embed)]
    pub(super) site: SiteDaysRow,
}

impl WindowRow {
    pub(super) fn interval(&self) -> UnavailableInterval {
        UnavailableInterval {
            id: self.id,
            start_at: self.start_at,
            end_at: self.end_at,
        }
    }
}

impl MetWindowRow {
    pub(super) fn interval(&self) -> UnavailableInterval {
        UnavailableInterval {
            id: self.window_id,
            start_at: self.window_start_at,
            end_at: self.window_end_at,
        }
    }
}

impl AlertRow {
    pub(super) fn stored(self, subject: &Subject) -> Result<StoredAlert> {
        let kind = Kind::parse(&self.kind).ok_or_else(|| Error::internal("an alert is of an unknown kind"))?;
        let intervals = self.starts.into_iter().zip(self.ends);
        let shown = self.assignments.into_iter().zip(self.job_sites).zip(intervals);
        let assignments = shown.map(|((id, job_site), (start_at, end_at))| ShownAssignment {
            start_at,
            id,
            end_at,
            job_site,
        });
        Ok(StoredAlert {
            organization: subject.organization,
            subject_type: subject.resource_type.as_str().to_owned(),
            subject_id: subject.id,
            subject_name: self.subject_name,
            open: OpenAlert {
                id: self.id,
                kind,
                identity_key: self.identity_key,
                occurred_at: self.occurred_at,
                expires_at: self.expires_at,
                assignments: assignments.collect(),
            },
        })
    }
}
