//! What follows from changed records: other modules recompute, and workers are notified.

use backoffice_calendar::{Changed, ResourceType, Subject};
use backoffice_core::command::Tx;
use uuid::Uuid;

use crate::events;
use crate::model::{JobSite, Resource, StatedAssignment};

fn subject(organization: Uuid, type_: &str, id: Uuid) -> Option<Subject> {
    let resource_type = ResourceType::parse(type_)?;
    Some(Subject {
        organization,
        resource_type,
        id,
    })
}

fn changed(row: &StatedAssignment, is_new: bool) -> Option<Changed> {
    let subject = subject(row.organization_id, &row.subject_type, row.subject_id)?;
    let id = row.id;
    Some(Changed::Assignment { subject, id, is_new })
}

/// Whether two states of an assignment differ in anything but its note.
fn has_moved(from: &StatedAssignment, to: &StatedAssignment) -> bool {
    let compared = |row: &StatedAssignment| StatedAssignment {
        note: None,
        updated_at: to.updated_at,
        ..row.clone()
    };
    compared(from) != compared(to)
}

/// Reports a changed assignment of its subjects before and after the change; `restoring` if undo or redo has brought it back.
pub(crate) fn assignment(
    tx: &mut Tx<'_>,
    from: Option<&StatedAssignment>,
    to: Option<&StatedAssignment>,
    restoring: bool,
) {
    if let (Some(from), Some(to)) = (from, to)
        && !has_moved(from, to)
    {
        return;
    }
    let is_new = from.is_none() && !restoring;
    for row in [from, to].into_iter().flatten() {
        let Some(changed) = changed(row, is_new) else { continue };
        tx.defer(changed);
    }
    events::emit(tx, from, to);
}

/// Reports a job site whose state or dates have changed, or that was deleted or restored.
pub(crate) fn job_site(tx: &mut Tx<'_>, from: Option<&JobSite>, to: Option<&JobSite>) {
    let facts = |row: &JobSite| (row.status.clone(), row.start_date, row.end_date_exclusive);
    if from.is_some() && from.map(facts) == to.map(facts) {
        return;
    }
    if let Some(row) = from.or(to) {
        tx.defer(Changed::JobSite {
            organization: row.organization_id,
            id: row.id,
        });
    }
}

/// Reports a resource that has another name, was activated or deactivated, or was deleted or restored.
pub(crate) fn resource(tx: &mut Tx<'_>, from: Option<&Resource>, to: Option<&Resource>) {
    let facts = |row: &Resource| (row.name.clone(), row.is_active);
    if from.is_some() && from.map(facts) == to.map(facts) {
        return;
    }
    let row = from.or(to);
    if let Some(subject) = row.and_then(|row| subject(row.organization_id, &row.type_, row.id)) {
        tx.defer(Changed::Subject(subject));
    }
}
