//! Owners that undo and redo restore. Deleted and inactive users are left out; users without access to the organization are a conflict.
//! The caller need not see the user, because undo and redo return to a state that the record had.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_auth::find_tenant_users;
use backoffice_core::command::{Snapshot, Tx};
use backoffice_core::{Error, Rejection, Result};
use uuid::Uuid;

use crate::owners;

/// A row with an owner.
pub(super) trait HasOwner {
    /// Returns the id of the row, and its owner.
    fn owner(&self) -> (Uuid, Option<Uuid>);
    /// Removes the owner.
    fn clear_owner(&mut self);
}

/// Removes restored owners who are deleted or not active from the rows, and returns their references. An owner that the row has in `stored`, the rows
/// that exist, is not restored and stays. The number of statements does not depend on the number of rows.
pub(super) async fn leave_out<R: HasOwner>(tx: &mut Tx<'_>, rows: &mut [R], stored: &[R]) -> Result<BTreeSet<String>> {
    let stored: BTreeMap<Uuid, Option<Uuid>> = stored.iter().map(HasOwner::owner).collect();
    let returning = |row: &R| {
        let (id, owner) = row.owner();
        owner.filter(|owner| stored.get(&id).copied().flatten() != Some(*owner))
    };
    let users: BTreeSet<Uuid> = rows.iter().filter_map(returning).collect();
    let active = active(tx, &users.into_iter().collect::<Vec<_>>()).await?;
    let mut dropped = BTreeSet::new();
    for row in rows {
        if let Some(user) = returning(row).filter(|user| !active.contains(user)) {
            dropped.insert(format!("auth.user:{user}"));
            row.clear_owner();
        }
    }
    Ok(dropped)
}

async fn active(tx: &mut Tx<'_>, users: &[Uuid]) -> Result<BTreeSet<Uuid>> {
    if users.is_empty() {
        return Ok(BTreeSet::new());
    }
    let users = find_tenant_users(tx, users).await?.into_iter();
    Ok(users.filter(|one| one.is_active).map(|one| one.id).collect())
}

/// Rejects a restored owner who may not own records of the organization: `undo_conflict`. The owner that the record has already is accepted.
pub(super) async fn validate(tx: &mut Tx<'_>, from: Option<&Snapshot>, to: &Snapshot) -> Result<()> {
    let id = |snapshot: &Snapshot, field: &str| -> Option<Uuid> { snapshot.get(field)?.as_str()?.parse().ok() };
    let before = from.and_then(|from| id(from, "ownerUserId"));
    let Some(owner) = id(to, "ownerUserId").filter(|owner| before != Some(*owner)) else {
        return Ok(());
    };
    let organization = id(to, "organizationId").ok_or_else(|| Error::internal("a snapshot has no organization"))?;
    let verdict = owners::check_restored(tx, owner, organization).await;
    verdict.map_err(|error| while_restoring(error, "ownerUserId"))
}

/// Replaces a rejection by `undo_conflict` for this field.
pub(super) fn while_restoring(error: Error, field: &str) -> Error {
    match error {
        Error::Rejected(_) => Rejection::undo_conflict(&[field]).into(),
        other => other,
    }
}
