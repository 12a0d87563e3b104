//! Restores the snapshot of an entry.

use super::entry::Claimed;
use super::{conflict, violated};
use crate::command::entity::Transition;
use crate::command::snapshot::Snapshot;
use crate::command::tx::entered_organization;
use crate::command::{Tx, changes};
use crate::error::Result;

/// Check 11: restores the snapshot; the entity's guard and the constraints validate it. The organization of the record must be live, which no
/// constraint checks, because a deleted organization remains as a row.
pub(super) async fn restore(
    tx: &mut Tx<'_>,
    claimed: &Claimed<'_>,
    present: Option<&Snapshot>,
) -> Result<(Option<Snapshot>, Vec<String>)> {
    let (entity, id) = (claimed.entity, claimed.resource);
    tx.keep_entered_organizations(entered_organization(entity, present, claimed.requested.as_ref()))
        .await?;
    let written = match &claimed.requested {
        Some(requested) => entity.store(tx, std::slice::from_ref(requested)).await,
        None => entity.remove(tx, &[id]).await.map(|()| Vec::new()),
    };
    let dropped = written.map_err(|error| violated(tx, error, claimed))?;
    let restored = entity.snapshots(tx, &[id], claimed.info.depth()).await?.remove(&id);
    let fields: Vec<String> = changes::differing(entity.tracking(), claimed.requested.as_ref(), restored.as_ref())
        .into_iter()
        .filter(|_| dropped.is_empty())
        .collect();
    if !fields.is_empty() || claimed.requested.is_some() != restored.is_some() {
        return Err(conflict(fields));
    }
    let step = Transition {
        id,
        from: present,
        to: restored.as_ref(),
        restoring: true,
    };
    entity.guard(tx, &step).await?;
    entity.after_transition(tx, &step).await?;
    Ok((restored, dropped))
}
