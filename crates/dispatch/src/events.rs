//! Events about the work of workers, for notifications.

use backoffice_core::Timestamp;
use backoffice_core::command::Tx;
use backoffice_core::events::Event;
use serde_json::json;

use crate::model::StatedAssignment;
use crate::values::LIVE_STATUSES;

/// A worker was given an assignment.
pub(crate) const ASSIGNED: &str = "dispatch.assignment.assigned";
/// An assignment of a worker has another time or job site.
pub(crate) const CHANGED: &str = "dispatch.assignment.changed";
/// A worker no longer has an assignment: it was cancelled or deleted, or belongs to another resource.
pub(crate) const CANCELLED: &str = "dispatch.assignment.cancelled";

fn is_live(row: &StatedAssignment) -> bool {
    LIVE_STATUSES.contains(&row.status.as_str())
}

/// Whether the assignment takes time now or later. One that was given by dates may have ended up to two days ago.
fn is_ahead(row: &StatedAssignment, now: Timestamp) -> bool {
    let behind = row.end_date_exclusive.map(backoffice_calendar::Day::get);
    let ends_later = match (row.end_at, behind) {
        (Some(end), _) => end > now,
        (None, Some(behind)) => behind + time::Duration::DAY >= now.get().date(),
        (None, None) => false,
    };
    row.subject_type == "worker" && is_live(row) && ends_later
}

/// Emits the events of a change for the workers before and after it. An event has the name of what the worker must know.
pub(crate) fn emit(tx: &mut Tx<'_>, from: Option<&StatedAssignment>, to: Option<&StatedAssignment>) {
    let now = tx.context().now();
    match (from.filter(|row| is_ahead(row, now)), to) {
        (Some(from), Some(to)) if from.subject_id == to.subject_id => {
            let facts = |row: &StatedAssignment| (row.job_site_id, row.start_at, row.end_at, row.dates());
            match to.status.as_str() {
                "cancelled" => emit_one(tx, CANCELLED, from),
                _ if is_live(to) && facts(from) != facts(to) => emit_one(tx, CHANGED, to),
                _ => {}
            }
        }
        (from, to) => {
            if let Some(from) = from {
                emit_one(tx, CANCELLED, from);
            }
            if let Some(to) = to.filter(|row| is_ahead(row, now)) {
                emit_one(tx, ASSIGNED, to);
            }
        }
    }
}

fn emit_one(tx: &mut Tx<'_>, name: &str, row: &StatedAssignment) {
    let actor = tx.context().user_id().ok();
    let event = Event::new(name, row.id)
        .with("subjectId", json!(row.subject_id))
        .with("jobSiteId", json!(row.job_site_id))
        .with("startAt", json!(row.start_at))
        .with("startDate", json!(row.start_date))
        .with("actorId", json!(actor));
    tx.emit(event.in_organization(Some(row.organization_id)));
}
