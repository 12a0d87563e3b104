//! Rows of this module and of others that a recomputation reads.

use backoffice_calendar::Day;
use backoffice_core::Timestamp;
use diesel::QueryableByName;
use diesel::sql_types::{Array, BigInt, Bool, Date, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use uuid::Uuid;

use crate::engine::OpenAlert;

/// An alert that is not resolved, with what does not follow from its conflict.
#[derive(Debug, Clone)]
pub(crate) struct StoredAlert {
    pub(crate) organization: Uuid,
    pub(crate) subject_type: String,
    pub(crate) subject_id: Uuid,
    pub(crate) subject_name: String,
    pub(crate) open: OpenAlert,
}

/// A row of `dispatch_resources`; `number` is the position of the subject, from 1.
#[derive(Debug, QueryableByName)]
pub(super) struct ResourceRow {
    #[diesel(sql_type = BigInt)]
    pub(super) number: i64,
    #[diesel(sql_type = Text)]
    pub(super) name: String,
    #[diesel(sql_type = Bool)]
    pub(super) is_inactive: bool,
}

/// A live row of `dispatch_assignments`.
#[derive(Debug, QueryableByName)]
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

/// A row of `calendar_windows` that a live assignment meets.
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
    #[diesel(sql_type = Bool)]
    pub(super) is_closed: bool,
    #[diesel(sql_type = Nullable<Date>)]
    pub(super) start_date: Option<Day>,
    #[diesel(sql_type = Nullable<Date>)]
    pub(super) end_date_exclusive: Option<Day>,
}

/// A row of `calendar_working_calendars` with its holidays.
#[derive(Debug, QueryableByName)]
pub(super) struct CalendarRow {
    #[diesel(sql_type = SqlUuid)]
    pub(super) id: Uuid,
    #[diesel(sql_type = Text)]
    pub(super) time_zone: String,
    #[diesel(sql_type = Array<Text>)]
    pub(super) off_weekdays: Vec<String>,
    #[diesel(sql_type = Array<Date>)]
    pub(super) holidays: Vec<Day>,
}

/// A row of `alerts_alerts` that is not resolved.
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
}

/// A row of `alerts_assignments`.
#[derive(Debug, QueryableByName)]
pub(super) struct AlertAssignmentRow {
    #[diesel(sql_type = SqlUuid)]
    pub(super) alert_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(super) assignment_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(super) job_site_id: Uuid,
    #[diesel(sql_type = Timestamptz)]
    pub(super) start_at: Timestamp,
    #[diesel(sql_type = Timestamptz)]
    pub(super) end_at: Timestamp,
}
