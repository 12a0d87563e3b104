//! `rejectConflicts`: assignments that may not be in a critical conflict when their transaction ends.

use std::collections::BTreeSet;

use backoffice_core::command::Tx;
use backoffice_core::{Rejection, Result};
use futures_util::future::BoxFuture;
use serde_json::json;
use uuid::Uuid;

use crate::conflicts::{self, TakenTime};
use crate::model::Assignment;

/// Deferred work: rejects the command if one of these assignments is in conflict. It runs behind the locks on the changed subjects, so of two
/// transactions that would be in conflict with each other, the later one sees the other.
#[derive(Debug)]
pub(crate) struct RejectConflicts(Vec<Uuid>);

impl RejectConflicts {
    pub(crate) const fn of(assignments: Vec<Uuid>) -> Self {
        Self(assignments)
    }
}

/// The handler of the deferred items.
pub(crate) fn run<'a>(tx: &'a mut Tx<'_>, items: Vec<RejectConflicts>) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        let ids: Vec<Uuid> = items.into_iter().flat_map(|item| item.0).collect();
        let now = tx.context().now();
        let rows = Assignment::read(tx, &ids).await?;
        let taken: Vec<TakenTime> = rows.iter().filter_map(|row| TakenTime::of(row, now)).collect();
        let found = conflicts::find(tx.shared(), tx.tenant(), now, &taken).await?;
        if found.is_empty() {
            return Ok(());
        }
        let mut seen = BTreeSet::new();
        let mut named = |is_window: bool| -> Vec<Uuid> {
            // Assignments of the request itself are not named: new ones do not exist after the rejection.
            let others = found
                .iter()
                .filter(|one| one.job_site_id.is_none() == is_window && !ids.contains(&one.id));
            others.map(|one| one.id).filter(|id| seen.insert(*id)).collect()
        };
        let rejection = Rejection::conflict("The assignment is in conflict with others")
            .code("assignment_conflict")
            .with("conflictingAssignmentIds", json!(named(false)))
            .with("unavailabilityWindowIds", json!(named(true)));
        Err(rejection.into())
    })
}
