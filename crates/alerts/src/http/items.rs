//! Alerts in responses.

use backoffice_calendar::{Zone, default_zone};
use backoffice_core::{Platform, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::documented::{AlertKind, AlertSubjectType, AlertUrgency};
use crate::kinds::Urgency;
use crate::link::link_href;
use crate::query::Item;

/// An id with a name.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = AlertNamed)]
pub(super) struct NamedId {
    /// The id.
    id: Uuid,
    /// The present name.
    name: String,
}

/// The resource whose assignments are in conflict.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = AlertSubject)]
struct SubjectItem {
    /// `worker`, `equipment` or `vehicle`.
    #[schema(value_type = AlertSubjectType)]
    r#type: String,
    /// The id.
    id: Uuid,
    /// The name.
    name: String,
}

/// The acknowledgement of an alert.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = AlertAcknowledged)]
pub(super) struct AcknowledgedItem {
    /// Time of the acknowledgement.
    pub(super) at: Timestamp,
    /// The user; null for an API key or a deleted user.
    #[schema(required = true)]
    pub(super) by: Option<NamedId>,
    /// The note.
    #[schema(required = true)]
    pub(super) note: Option<String>,
}

impl NamedId {
    pub(super) fn from_columns(id: Option<Uuid>, name: Option<String>) -> Option<Self> {
        let (id, name) = id.zip(name)?;
        Some(Self { id, name })
    }
}

/// An alert.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AlertItem {
    /// The id.
    alert_id: Uuid,
    /// The caller's notification about it, unless they have none or have dismissed it.
    #[schema(required = true)]
    notification_id: Option<Uuid>,
    /// `subject_overlap_same_site`, `subject_overlap_different_sites`, `subject_unavailable`, `subject_inactive`, `job_site_closed` or `non_working_day`.
    #[schema(value_type = AlertKind)]
    kind: String,
    /// `critical`, `warning` or `info`.
    #[schema(value_type = AlertUrgency)]
    urgency: &'static str,
    /// Whether the caller has read it.
    read: bool,
    /// The job sites of the assignments, by name.
    job_sites: Vec<NamedId>,
    /// The assignments by start, then id; a list shows the first 500.
    conflicting_assignment_ids: Vec<Uuid>,
    /// Whether a list has left out assignments.
    truncated: bool,
    /// Time at which it was opened, or at which the last assignment joined.
    occurred_at: Timestamp,
    /// Path of the board with the subject.
    link_href: String,
    /// The subject.
    subject: SubjectItem,
    /// The unavailability window that the assignments meet.
    #[schema(required = true)]
    window_id: Option<Uuid>,
    /// Time at which it ends by itself.
    expires_at: Timestamp,
    /// Time at which it ended.
    #[schema(required = true)]
    resolved_at: Option<Timestamp>,
    /// Time at which it was escalated.
    #[schema(required = true)]
    escalated_at: Option<Timestamp>,
    /// The acknowledgement.
    #[schema(required = true)]
    acknowledged: Option<AcknowledgedItem>,
}

impl AlertItem {
    pub(super) fn from_row(platform: &Platform, row: Item) -> Self {
        let zone = row.time_zone.as_deref().and_then(Zone::parse);
        let zone = zone.unwrap_or_else(|| default_zone(platform));
        let subject = (row.subject_type.as_str(), row.subject_id);
        let shown = i64::try_from(row.assignments.len()).unwrap_or(i64::MAX);
        let by = NamedId::from_columns(row.acknowledged_by, row.acknowledged_by_name.clone());
        let acknowledged = row.acknowledged_at.map(|at| AcknowledgedItem {
            at,
            by,
            note: row.acknowledgement.clone(),
        });
        let named = |(id, name): (Uuid, String)| NamedId { id, name };
        Self {
            link_href: link_href(platform, &zone, subject, row.first_start),
            job_sites: row.sites().into_iter().map(named).collect(),
            truncated: shown < row.assignment_count,
            alert_id: row.id,
            notification_id: row.notification_id,
            kind: row.kind,
            urgency: Urgency::from_rank(row.urgency_rank).as_str(),
            read: row.is_read,
            conflicting_assignment_ids: row.assignments,
            occurred_at: row.occurred_at,
            subject: SubjectItem {
                r#type: row.subject_type,
                id: row.subject_id,
                name: row.subject_name,
            },
            window_id: row.window_id,
            expires_at: row.expires_at,
            resolved_at: row.resolved_at,
            escalated_at: row.escalated_at,
            acknowledged,
        }
    }
}
