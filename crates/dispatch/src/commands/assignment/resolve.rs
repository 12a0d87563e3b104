//! Checks the references of assignments and derives instants from their dates.

use backoffice_core::command::Tx;
use backoffice_core::{Detail, Result};

use crate::intervals;
use crate::model::Assignment;
use crate::references::{ChangedAssignment, Referenced};

/// Returns the rows of these changes, or the violated rules of each. The number of statements does not depend on the number of changes.
pub(super) async fn resolve(
    tx: &mut Tx<'_>,
    changes: &[ChangedAssignment<'_>],
) -> Result<Vec<Result<Assignment, Vec<Detail>>>> {
    let stated: Vec<_> = changes.iter().map(|(_, after)| *after).collect();
    let intervals = intervals::derive(tx, &stated).await?;
    let referenced = Referenced::lock(tx, changes, &intervals).await?;
    let resolved = changes.iter().zip(intervals).map(|(change, interval)| {
        let mut details = referenced.violations(*change);
        if interval.is_none() {
            let message = "must be later: these days do not exist in the organization's time zone";
            details.push(Detail::new("endDateExclusive", message, "invalid_interval"));
        }
        match interval {
            Some(interval) if details.is_empty() => Ok(change.1.clone().at(interval)),
            _ => Err(details),
        }
    });
    Ok(resolved.collect())
}
