//! `rejectConflicts`: assignments that may not be in a critical conflict.

use std::collections::BTreeSet;

use backoffice_calendar::{ResourceType, Subject, lock_subjects};
use backoffice_core::command::Tx;
use backoffice_core::{Rejection, Result};
use serde_json::json;
use uuid::Uuid;

use crate::conflicts::{self, TakenTime};
use crate::model::{Assignment, StatedAssignment};

/// Rejects the command if one of the assignments that it has written is in conflict. The subjects are locked before others are read, so of two
/// transactions that would be in conflict with each other, the later one sees the other. A command that moves assignments names their former
/// subjects too: the end of its transaction locks all of them, and one order of locks prevents deadlocks.
pub(crate) async fn check(tx: &mut Tx<'_>, rows: &[Assignment], before: Option<&StatedAssignment>) -> Result<()> {
    let subject = |organization, resource_type: &str, id| {
        let resource_type = ResourceType::parse(resource_type)?;
        Some(Subject {
            organization,
            resource_type,
            id,
        })
    };
    let after = rows
        .iter()
        .filter_map(|row| subject(row.organization_id, &row.subject_type, row.subject_id));
    let before = before.and_then(|row| subject(row.organization_id, &row.subject_type, row.subject_id));
    lock_subjects(tx, &after.chain(before).collect::<Vec<_>>()).await?;
    let now = tx.context().now();
    let taken: Vec<TakenTime> = rows.iter().filter_map(|row| TakenTime::of(row, now)).collect();
    let found = conflicts::find(tx.shared(), tx.tenant(), now, &taken).await?;
    if found.is_empty() {
        return Ok(());
    }
    let written: BTreeSet<Uuid> = rows.iter().map(|row| row.id).collect();
    let mut seen = BTreeSet::new();
    let mut named = |is_window: bool| -> Vec<Uuid> {
        // Assignments of the request itself are not named: new ones do not exist after the rejection.
        let others = found
            .iter()
            .filter(|one| one.job_site_id.is_none() == is_window && !written.contains(&one.id));
        others.map(|one| one.id).filter(|id| seen.insert(*id)).collect()
    };
    let rejection = Rejection::conflict("The assignment is in conflict with others")
        .code("assignment_conflict")
        .with("conflictingAssignmentIds", json!(named(false)))
        .with("unavailabilityWindowIds", json!(named(true)));
    Err(rejection.into())
}
